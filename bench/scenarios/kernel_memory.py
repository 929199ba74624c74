"""What one more kernel costs in memory, pandas loaded."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from bench.failure import BenchFailed
from bench.interleave import interleave
from bench.memory import family, proportional_mb
from bench.rows import Finding, compare, no_more_than, slope
from bench.scenarios.fresh_kernel import CODE
from bench.stage import Stage, expect_well

_KERNELS = 8


async def measure(stage: Stage) -> list[Finding]:
    """The slope of summed PSS over eight kernels; ours counts every process of each cage, its init included."""
    notebooks = [stage.project(f"memory-{number}", CODE) for number in range(_KERNELS)]

    async def theirs() -> float:
        async with stage.peer("stock_marimo") as marimo:
            pids: list[int] = []
            totals: list[float] = []
            for notebook in notebooks:
                pids.append(int((await marimo.ask("one_more", notebook=str(notebook)))["pid"]))
                totals.append(_total(pids))
            return slope(totals)

    own, stock = await interleave(
        [lambda: _ours(stage, notebooks), theirs], rounds=stage.rounds(3, quick=1), warm_ups=0
    )
    return [
        compare(
            "memory of one more kernel, pandas loaded",
            ours=own,
            peer=stock,
            peer_name="stock marimo kernel",
            unit="MB",
            bar=no_more_than(0.35),
        )
    ]


async def _ours(stage: Stage, notebooks: list[Path]) -> float:
    async with AsyncExitStack() as stack:
        cages: list[int] = []
        totals: list[float] = []
        for path in notebooks:
            notebook = await stack.enter_async_context(stage.open(path))
            expect_well(await notebook.run())
            assert notebook.live.kernel is not None
            cages.append(notebook.live.kernel.pid)
            totals.append(_total(cages))
        return slope(totals)


def _total(roots: list[int]) -> float:
    try:
        return proportional_mb([pid for root in roots for pid in family(root)])
    except PermissionError as error:
        raise BenchFailed(f"this user may not read a kernel's memory figures: {error}") from error
