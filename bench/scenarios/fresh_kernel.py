"""From nothing but a warm zygote to the result of a cell that imports numpy and pandas."""

from __future__ import annotations

import time

from bench.interleave import interleave
from bench.rows import Finding, compare, faster
from bench.stage import Stage, expect_well
from cellwright.notebook.edits import CreateCell

CODE = "import numpy, pandas; x = 1"


async def measure(stage: Stage) -> list[Finding]:
    """Ours: open the notebook, create the cell, have its observation. Stock marimo: start, run, completed."""
    empty = stage.project("fresh")
    written = stage.project("fresh-stock", CODE)

    async def ours() -> float:
        began = time.perf_counter()
        async with stage.open(empty) as notebook:
            observation = await notebook.apply([CreateCell(code=CODE)])
            ms = (time.perf_counter() - began) * 1e3
        expect_well(observation)
        return ms

    async with stage.peer("stock_marimo") as marimo, stage.peer("ipython_kernel") as ipython:
        own, stock, jupyter = await interleave(
            [
                ours,
                lambda: marimo.ms("fresh", notebook=str(written)),
                lambda: ipython.ms("fresh", code=CODE),
            ],
            rounds=stage.rounds(12),
            warm_ups=2,
        )
    name = "fresh kernel → numpy, pandas result"
    return [
        compare(name, ours=own, peer=stock, peer_name="stock marimo kernel", unit="ms", bar=faster(30)),
        compare(name, ours=own, peer=jupyter, peer_name="ipykernel", unit="ms", bar=faster(15)),
    ]
