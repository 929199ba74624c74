"""A root that a thousand cells depend on: what each of them costs when the root runs again."""

from __future__ import annotations

import time

from bench.failure import BenchFailed
from bench.interleave import interleave
from bench.rows import Finding, compare, faster
from bench.stage import Stage, expect_well

_DEPENDENTS = 1_000


async def measure(stage: Stage) -> list[Finding]:
    """Both rerun the root through their own session, without HTTP, until everything below it has its result."""
    cells = ["root = 1", *(f"y{number} = root + {number}" for number in range(_DEPENDENTS))]
    path, stock_path = stage.project("fan-out", *cells), stage.project("fan-out-stock", *cells)
    async with stage.open(path) as notebook, stage.peer("stock_marimo") as marimo:
        expect_well(await notebook.run())
        await marimo.ask("open", notebook=str(stock_path))
        root = notebook.document.cells[0].id

        async def ours() -> float:
            began = time.perf_counter()
            observation = await notebook.run([root])
            ms = (time.perf_counter() - began) * 1e3
            if len(expect_well(observation).cells) != len(cells):
                raise BenchFailed(f"only {len(observation.cells)} of {len(cells)} cells ran")
            return ms

        own, stock = await interleave([ours, lambda: marimo.ms("rerun", cell=0)], rounds=stage.rounds(10))
    return [
        compare(
            "fan-out to 1,000, per cell",
            ours=own.scaled(1 / len(cells)),
            peer=stock.scaled(1 / len(cells)),
            peer_name="stock marimo kernel",
            unit="ms",
            bar=faster(3),
        )
    ]
