"""A trivial cell in a kernel that is already there: request to result."""

from __future__ import annotations

import time

from bench.interleave import interleave
from bench.rows import Finding, compare, faster
from bench.stage import Stage, expect_well

_CODE = "x = 1"


async def measure(stage: Stage) -> list[Finding]:
    """Ours: rerun of the cell, with its observation. marimo: its HTTP execute. ipykernel: reply and idle."""
    path = stage.project("round-trip", _CODE)
    served = stage.project("round-trip-served", _CODE)
    async with (
        stage.open(path) as notebook,
        stage.peer("marimo_http") as marimo,
        stage.peer("ipython_kernel") as ipython,
    ):
        cell = notebook.document.cells[0].id
        expect_well(await notebook.run())
        await marimo.ask("open", notebook=str(served))
        await ipython.ask("open")

        async def ours() -> float:
            began = time.perf_counter()
            observation = await notebook.run([cell])
            ms = (time.perf_counter() - began) * 1e3
            expect_well(observation)
            return ms

        own, http, jupyter = await interleave(
            [ours, lambda: marimo.ms("run", code=_CODE), lambda: ipython.ms("run", code=_CODE)],
            rounds=stage.rounds(20, quick=5),
            burst=5,
            warm_ups=20,
        )
    name = "x = 1, request → result"
    return [
        compare(name, ours=own, peer=http, peer_name="marimo HTTP execute", unit="ms", bar=faster(25)),
        compare(name, ours=own, peer=jupyter, peer_name="ipykernel", unit="ms", bar=faster(2)),
    ]
