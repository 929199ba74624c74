"""A branch of a live notebook: how soon it is ready, against having the same state again in any other way."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.failure import BenchFailed
from bench.interleave import interleave
from bench.memory import family, proportional_mb
from bench.rows import Finding, Samples, compare, faster, no_more_than, slope
from bench.scenarios.fresh_kernel import CODE
from bench.stage import Stage, expect_well
from cellwright.app import open_notebook
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell
from cellwright.sandbox.spec import Limits

_GB = 1 << 30
_SIZES = {"100 MB": 100 << 20, "1 GB": _GB, "4 GB": 4 * _GB}
_ROWS_PER_GB = _GB // 32
_LIMITS = Limits(memory_mb=10_000, disk_mb=4_096)
_BRANCHES = 8

_IMPORTS = "import numpy as np\nimport pandas as pd"
_READ = "raw = pd.read_parquet('orders.parquet')"
_PREPARE = """
orders = raw[raw.amount > 1].reset_index(drop=True)
orders["share"] = orders.amount / orders.amount.sum()
per_customer = orders.groupby("customer").amount.agg(["sum", "mean", "count"])
""".strip()
_HYPOTHESES = (
    "found = float(orders.loc[orders.day > 300, 'amount'].mean())",
    "found = float(per_customer.loc[per_customer['count'] > 100, 'mean'].std())",
    "found = float(np.corrcoef(orders.amount[:1_000_000], orders.share[:1_000_000])[0, 1])",
)


async def ready(stage: Stage) -> list[Finding]:
    """A branch of 100 MB, 1 GB and 4 GB of arrays until a cell can run in it, against the same by pickle."""
    findings: list[Finding] = []
    file = str(stage.folder / "namespace.pickle")
    for name, size in _SIZES.items():
        code = f"import numpy as np\nlive = np.arange({size // 8}, dtype='int64')"
        notebook_path = stage.project(f"live-{size >> 20}", *code.splitlines())
        async with _opened(stage, notebook_path) as notebook, stage.peer("pickled_namespace") as pickled:
            expect_well(await notebook.run())
            await pickled.ask("run", code=code, folder=str(notebook_path.parent))
            own, theirs = await interleave(
                [lambda: _ready_ms(notebook), lambda: pickled.ms("twice", file=file)],
                rounds=stage.rounds(10 if size < _GB else 5, quick=2),
            )
        # Bare arrays are what pickle is best at: it copies them as they are.
        bar = faster(5 if size < _GB else 20)
        findings.append(
            compare(f"branch of {name}, ready", ours=own, peer=theirs, peer_name="full pickle", unit="ms", bar=bar)
        )
    return findings


async def reruns(stage: Stage) -> list[Finding]:
    """A notebook that reads and prepares 1 GB of Parquet: a branch, three ideas at once, undo; against running it."""
    path = stage.project("parquet", _IMPORTS, _READ, _PREPARE)
    await anyio.to_thread.run_sync(_write_orders, path.parent / "orders.parquet")
    file = str(stage.folder / "prepared.pickle")
    rounds = stage.rounds(3, quick=1)
    async with _opened(stage, path) as notebook, stage.peer("pickled_namespace") as pickled:
        expect_well(await notebook.run())
        await pickled.ask("run", code="\n".join((_IMPORTS, _READ, _PREPARE)), folder=str(path.parent))
        own, again, by_pickle = await interleave(
            [lambda: _ready_ms(notebook), lambda: _rerun_ms(stage, path), lambda: pickled.ms("twice", file=file)],
            # Right after a run its libraries' threads are still busy, and are waited for: one of several.
            rounds=stage.rounds(7, quick=1),
            warm_ups=0,
        )
        three, three_again = await interleave(
            [lambda: _three_ms(notebook), lambda: _three_reruns_ms(stage, path)], rounds=rounds, warm_ups=0
        )
        undo, restart = await interleave(
            [lambda: _undo_ms(notebook), lambda: _restart_ms(notebook)], rounds=rounds, warm_ups=0
        )
    rerun = "rerun, 1 GB of Parquet"
    return [
        _faster("branch of a prepared 1 GB, ready", own, again, rerun, 50),
        _faster("branch of a prepared 1 GB, ready", own, by_pickle, "full pickle", 50),
        _faster("three hypotheses on it", three, three_again, f"three times: {rerun}", 5),
        _faster("undo of one turn on it", undo, restart, "restart and rerun", 50),
    ]


async def idle_memory(stage: Stage) -> list[Finding]:
    """The slope of summed PSS over eight idle branches, pandas loaded, against eight kernels."""
    paths = [stage.project(f"idle-{number}", CODE) for number in range(_BRANCHES)]

    async def branches() -> float:
        async with stage.open(paths[0]) as notebook, AsyncExitStack() as stack:
            expect_well(await notebook.run())
            totals: list[float] = []
            for _ in range(_BRANCHES):
                await stack.enter_async_context(_forked(notebook))
                totals.append(_total([notebook]))
            return slope(totals)

    async def kernels() -> float:
        async with AsyncExitStack() as stack:
            notebooks: list[OpenNotebook] = []
            totals: list[float] = []
            for path in paths:
                notebooks.append(await stack.enter_async_context(stage.open(path)))
                expect_well(await notebooks[-1].run())
                totals.append(_total(notebooks))
            return slope(totals)

    own, more = await interleave([branches, kernels], rounds=stage.rounds(3, quick=1), warm_ups=0)
    name = "memory of an idle branch, pandas loaded"
    return [compare(name, ours=own, peer=more, peer_name="one more kernel", unit="MB", bar=no_more_than(0.5))]


# ── one measurement each ──


@asynccontextmanager
async def _opened(stage: Stage, path: Path) -> AsyncGenerator[OpenNotebook]:
    async with open_notebook(path, pool=stage.pool, limits=_LIMITS) as notebook:
        yield notebook


@asynccontextmanager
async def _forked(notebook: OpenNotebook) -> AsyncGenerator[OpenNotebook]:
    async with notebook.branch() as branch:
        if branch.method.kind != "fork":
            raise BenchFailed(f"no fork: {branch.method.reasons}")
        assert isinstance(branch.notebook, OpenNotebook)
        yield branch.notebook


async def _ready_ms(notebook: OpenNotebook) -> float:
    began = time.perf_counter()
    async with _forked(notebook):
        return (time.perf_counter() - began) * 1e3


async def _rerun_ms(stage: Stage, path: Path, *more: str) -> float:
    began = time.perf_counter()
    async with _opened(stage, path) as notebook:
        expect_well(await notebook.run())
        for code in more:
            expect_well(await notebook.apply([CreateCell(code=code)]))
        return (time.perf_counter() - began) * 1e3


async def _three_ms(notebook: OpenNotebook) -> float:
    async def one(code: str) -> None:
        async with notebook.branch() as branch:
            expect_well(await branch.apply([CreateCell(code=code)]))

    began = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for code in _HYPOTHESES:
            tasks.start_soon(one, code)
    return (time.perf_counter() - began) * 1e3


async def _three_reruns_ms(stage: Stage, path: Path) -> float:
    """One after the other: at once they would not fit into most machines' memory."""
    return sum([await _rerun_ms(stage, path, code) for code in _HYPOTHESES])


async def _undo_ms(notebook: OpenNotebook) -> float:
    await notebook.checkpoints.take("turn")
    expect_well(await notebook.apply([CreateCell(code="orders['amount'] = 0")]))
    began = time.perf_counter()
    if await notebook.checkpoints.undo() is None:
        raise BenchFailed("there was no checkpoint to go back to")
    ms = (time.perf_counter() - began) * 1e3
    name = f"total_{len(notebook.document.cells)}"
    [orders] = expect_well(await notebook.apply([CreateCell(code=f"{name} = float(orders.amount.sum())")])).cells
    if orders.variables[0].text in {"0", "0.0"}:
        raise BenchFailed("the undo undid nothing")
    return ms


async def _restart_ms(notebook: OpenNotebook) -> float:
    cells = [cell.id for cell in notebook.document.cells[:3]]
    began = time.perf_counter()
    await notebook.restart()
    expect_well(await notebook.run(cells))
    return (time.perf_counter() - began) * 1e3


def _write_orders(path: Path) -> None:
    """Four columns of eight bytes, uncompressed."""
    draw = np.random.default_rng(8)
    schema = pa.schema({"order": pa.int64(), "customer": pa.int64(), "day": pa.int64(), "amount": pa.float64()})
    parts, rows = 8, _ROWS_PER_GB // 8
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for part in range(parts):
            columns = {
                "order": np.arange(part * rows, (part + 1) * rows),
                "customer": draw.integers(0, 200_000, rows),
                "day": draw.integers(0, 365, rows),
                "amount": draw.gamma(2.0, 50.0, rows),
            }
            writer.write_table(pa.table(columns, schema=schema))


def _faster(name: str, ours: Samples, peer: Samples, peer_name: str, factor: float) -> Finding:
    return compare(name, ours=ours, peer=peer, peer_name=peer_name, unit="ms", bar=faster(factor))


def _total(notebooks: list[OpenNotebook]) -> float:
    roots = [notebook.live.kernel.pid for notebook in notebooks if notebook.live.kernel is not None]
    return proportional_mb([pid for root in roots for pid in family(root)])
