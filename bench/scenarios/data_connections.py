"""Rows of a real Postgres in a notebook's kernel, against plain processes that fetch them with psycopg and pandas.

What counts is CPU: of the kernel, the host, the broker and its worker together, and of the kernel alone. The server's
own is on neither side, nor is what importing takes.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path
from typing import Final

import adbc_driver_postgresql.dbapi
import anyio.to_thread

from bench.data_testbed import (
    CONNECT,
    ROWS,
    CpuUse,
    DataTestbed,
    cpu_ms,
    data_testbed,
    kernel_processes,
    peak_mb,
    resident_mb,
)
from bench.failure import BenchFailed
from bench.peer import start_peer
from bench.rows import Bar, Finding, Samples, compare, faster, no_more_than, told
from bench.stage import Stage, expect_well
from cellwright.data.connections import QueryLimits
from cellwright.data.messages import QueryResult, RunQuery
from cellwright.ids import CellId
from cellwright.kernel.session.open_notebook import OpenNotebook

_ALL: Final = "select * from public.orders"
_TEN_TIMES: Final = "select o.* from public.orders o cross join generate_series(1, 10)"
_FEW: Final = f"{_ALL} where id <= 100"
_BURST: Final = 20
_CELLS: Final = (
    CONNECT,
    f'table = shop.sql("{_ALL}", fresh=True)\nassert table.num_rows == {ROWS}',
    f'frame = shop.sql("{_ALL}", fresh=True).to_pandas()\nassert len(frame) == {ROWS}',
    f'import polars\n\nlazy = polars.from_arrow(shop.sql("{_ALL}", fresh=True))\nassert len(lazy) == {ROWS}',
    f'again = shop.sql("{_ALL}")\nassert again.num_rows == {ROWS}',
    f'few = shop.sql("{_FEW}", fresh=True)',
)
_KERNEL_MB: Final = 300.0


async def query(stage: Stage) -> list[Finding]:
    """A million rows of ten columns to a frame: Arrow as it comes, pandas, polars; and the same cell once more."""
    async with data_testbed(stage, "query") as testbed, testbed.notebook("query", *_CELLS) as notebook:
        expect_well(await notebook.run())
        table, pandas, polars, again, few = [cell.id for cell in notebook.document.cells[1:]]
        ours = {cell: list[CpuUse]() for cell in (table, pandas, polars, again)}
        theirs: dict[str, list[float]] = {"psycopg_rows": [], "read_sql": []}
        for _ in range(stage.rounds(3, quick=2)):
            # A worker ends when nobody has needed it for a minute, and peers take longer than that.
            await _rerun(notebook, few)
            for cell, taken in ours.items():
                taken.append(await testbed.used(notebook, lambda cell=cell: _rerun(notebook, cell)))
            for way, spent in theirs.items():
                spent.append(await _peer(testbed, way))
    psycopg, alchemy = Samples(tuple(theirs["psycopg_rows"])), Samples(tuple(theirs["read_sql"]))
    findings = [
        _row(frame, part, ours[cell], peer, peer_name, bar)
        for peer, peer_name in ((psycopg, "psycopg + pandas"), (alchemy, "pandas.read_sql + SQLAlchemy"))
        for cell, frame, part, bar in (
            (table, "Arrow", "all", faster(2.5)),
            (table, "Arrow", "the kernel", faster(50)),
            (pandas, "pandas", "all", faster(2.5)),
        )
    ]
    others = ((pandas, "pandas", "the kernel"), (polars, "polars", "all"), (polars, "polars", "the kernel"),
              (again, "Arrow, asked before", "all"), (again, "Arrow, asked before", "the kernel"))  # fmt: skip
    return findings + [
        _row(frame, part, ours[cell], psycopg, "psycopg + pandas", told("at least")) for cell, frame, part in others
    ]


def _row(frame: str, part: str, taken: list[CpuUse], peer: Samples, peer_name: str, bar: Bar) -> Finding:
    own = Samples(tuple(use.whole if part == "all" else use.kernel for use in taken))
    name = f"{ROWS:,} rows × 10 to {frame}, CPU of {part}"
    return compare(name, ours=own, peer=peer, peer_name=peer_name, unit="ms", bar=bar)


async def large(stage: Stage) -> list[Finding]:
    """Ten million rows: what they add to the kernel before it uses them, to broker and host; nothing is held twice."""
    limits = QueryLimits(rows=20_000_000, megabytes=4096)
    ours: dict[str, list[float]] = {"kernel": [], "broker": [], "host": [], "worker": []}
    theirs: list[float] = []
    async with data_testbed(stage, "large", limits=limits) as testbed:
        for number in range(stage.rounds(2, quick=1)):
            code = f'table = shop.sql("{_TEN_TIMES}", fresh=True)\nassert table.num_rows == {10 * ROWS}'
            async with testbed.notebook(
                f"large-{number}", CONNECT, f'shop.sql("{_FEW}", fresh=True)', code
            ) as notebook:
                first, few, whole = [cell.id for cell in notebook.document.cells]
                expect_well(await notebook.run([first, few]))
                before = _memory(testbed, notebook)
                expect_well(await notebook.run([whole]))
                after = _memory(testbed, notebook)
            ours["kernel"].append(after["kernel"])
            for who in ("broker", "host", "worker"):
                ours[who].append(after[who] - before[who])
            theirs.append(await _peer(testbed, "psycopg_rows", "mb"))
    kernel, peer = Samples(tuple(ours["kernel"])), Samples(tuple(theirs))
    kept, peer_name = Samples((_KERNEL_MB,)), f"psycopg + pandas with {ROWS:,} rows, peak"
    name = f"{10 * ROWS:,} rows in a kernel, resident before use"
    findings = [compare(name, ours=kernel, peer=kept, peer_name="300 MB, ours to keep", unit="MB", bar=no_more_than(1))]
    for who, what in (("broker", "the broker"), ("host", "the host"), ("worker", "the worker, peak")):
        own = Samples(tuple(ours[who]))
        name = f"what they add to {what}"
        findings.append(compare(name, ours=own, peer=peer, peer_name=peer_name, unit="MB", bar=told("at most")))
    return findings


async def first(stage: Stage) -> list[Finding]:
    """What the first query waits for, with nothing running, and what a small one costs when all is there."""
    cold_ms, cold_cpu, warm, bare = list[float](), list[float](), list[CpuUse](), list[float]()
    async with data_testbed(stage, "first") as testbed:
        for _ in range(stage.rounds(5, quick=2)):
            await testbed.client.stop()
            ms, cpu = await _cold(testbed)
            cold_ms.append(ms)
            cold_cpu.append(cpu)
        code = f'for _ in range({_BURST}):\n    assert shop.sql("{_FEW}", fresh=True).num_rows == 100'
        async with testbed.notebook("first", CONNECT, code) as notebook:
            expect_well(await notebook.run())
            cell = notebook.document.cells[1].id
            for _ in range(stage.rounds(10)):
                warm.append(await testbed.used(notebook, lambda: _rerun(notebook, cell)))
                bare.append(await anyio.to_thread.run_sync(_bare_cpu_ms, testbed.address))
    each = 1 / _BURST
    peer, peer_name = Samples(tuple(bare)).scaled(each), "bare ADBC, kept connection"
    second = Samples((1000.0,))
    return [
        compare("first query, no broker: until its rows are there", ours=Samples(tuple(cold_ms)), peer=second,
                peer_name="1 s", unit="ms", bar=told("at most")),
        compare("first query, no broker: CPU", ours=Samples(tuple(cold_cpu)), peer=second, peer_name="1 s", unit="ms",
                bar=told("at most")),
        *(
            compare(f"one more query of 100 rows, CPU of {who}", ours=Samples(values).scaled(each), peer=peer,
                    peer_name=peer_name, unit="ms", bar=told("at most"))
            for who, values in (
                ("all", tuple(use.whole for use in warm)),
                ("the kernel", tuple(use.kernel for use in warm)),
                ("the host", tuple(use.host for use in warm)),
                ("the broker", tuple(use.broker for use in warm)),
                ("the worker", tuple(use.worker for use in warm)),
            )
        ),
    ]  # fmt: skip


async def _rerun(notebook: OpenNotebook, cell: CellId) -> None:
    expect_well(await notebook.run([cell]))


async def _peer(testbed: DataTestbed, way: str, figure: str = "cpu_ms") -> float:
    """In a process of its own for each: what one leaves in memory is not the next one's."""
    # With our own Python: psycopg, SQLAlchemy and pandas are there, in the versions that we use ourselves.
    async with start_peer(Path(sys.executable), "postgres_frames", testbed.stage.folder) as peer:
        answer = await peer.ask(way, address=testbed.address, statement=_ALL)
    if (answer["rows"], answer["columns"]) != (ROWS, 10):
        raise BenchFailed(f"the peer's own frame is not whole: {answer}")
    return float(answer[figure])


async def _cold(testbed: DataTestbed) -> tuple[float, float]:
    """Milliseconds until the rows of the first query are there, and all CPU that this took."""
    before, began = _own_cpu_ms(), time.perf_counter()
    found = await testbed.client.query(RunQuery(connection="shop", statement=_FEW))
    ms = (time.perf_counter() - began) * 1e3
    if not isinstance(found, QueryResult) or found.rows != 100:
        raise BenchFailed(f"our own query failed: {found}")
    os.close(found.descriptor)
    return ms, _own_cpu_ms() - before + cpu_ms(testbed.broker)


def _own_cpu_ms() -> float:
    """Of this process and of what it started and saw ending: a broker begins as its child."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (time.process_time() + children.ru_utime + children.ru_stime) * 1e3


def _bare_cpu_ms(address: str) -> float:
    with adbc_driver_postgresql.dbapi.connect(address) as connection:
        began = time.thread_time()
        for _ in range(_BURST):
            with connection.cursor() as cursor:
                cursor.execute(_FEW)
                if cursor.fetch_arrow_table().num_rows != 100:
                    raise BenchFailed("a bare query failed")
        return (time.thread_time() - began) * 1e3


def _memory(testbed: DataTestbed, notebook: OpenNotebook) -> dict[str, float]:
    broker, *workers = testbed.broker
    return {
        "kernel": resident_mb(kernel_processes(notebook)),
        "broker": resident_mb([broker]),
        "worker": max(map(peak_mb, workers)),
        "host": resident_mb([os.getpid()]),
    }
