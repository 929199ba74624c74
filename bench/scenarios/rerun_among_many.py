"""One trivial cell again, in a notebook where a thousand others have run."""

from __future__ import annotations

import time

from bench.interleave import interleave
from bench.rows import Finding, compare, faster
from bench.stage import Stage, expect_well

_CELLS = 1_000


async def measure(stage: Stage) -> list[Finding]:
    """Both run the whole notebook first, then one cell in its middle, through their own session without HTTP."""
    cells = [f"x{number} = {number}" for number in range(_CELLS)]
    path, stock_path = stage.project("many", *cells), stage.project("many-stock", *cells)
    async with stage.open(path) as notebook, stage.peer("stock_marimo") as marimo:
        expect_well(await notebook.run())
        await marimo.ask("open", notebook=str(stock_path))
        cell = notebook.document.cells[_CELLS // 2].id

        async def ours() -> float:
            began = time.perf_counter()
            observation = await notebook.run([cell])
            ms = (time.perf_counter() - began) * 1e3
            expect_well(observation)
            return ms

        own, stock = await interleave(
            [ours, lambda: marimo.ms("rerun", cell=_CELLS // 2)],
            rounds=stage.rounds(10, quick=5),
            burst=3,
            warm_ups=3,
        )
    return [
        compare(
            "rerun of one cell among 1,000",
            ours=own,
            peer=stock,
            peer_name="stock marimo kernel",
            unit="ms",
            bar=faster(10),
        )
    ]
