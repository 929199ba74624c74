"""A Postgres server with a million orders, a connection to it, and what everything of ours behind it takes."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

import anyio.to_thread
import psycopg

from bench.failure import BenchFailed
from bench.memory import family
from bench.postgres_server import postgres_server
from bench.stage import Stage
from cellwright.app import open_notebook
from cellwright.background import running_pid
from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import broker_at
from cellwright.data.connections import DataConnection, QueryLimits, store_connection
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.settings import Settings

ROWS: Final = 1_000_000
CONNECT: Final = 'import cellwright\n\nshop = cellwright.connection("shop")'
_ORDERS: Final = """
    create table orders as select
        i::bigint as id, (i::bigint * 7919 % 100000)::int as customer, (i % 17)::int as quantity,
        (i % 1000) * 1.37::float8 as weight, sin(i)::float8 as score,
        (array['Germany', 'France', 'Italy', 'Spain', 'Netherlands'])[i % 5 + 1] as country,
        'item ' || lpad((i % 50000)::text, 12, '0') as item,
        (array['new', 'paid', 'sent', 'returned'])[i % 4 + 1] || ', day ' || (i % 365) as state,
        '2024-01-01'::timestamptz + i * interval '31 seconds' as placed_at,
        ((i % 100003) * 0.07)::numeric(12, 2) as amount
    from generate_series(1, {rows}) i
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuUse:
    """CPU milliseconds by who used them; the server's own are in none."""

    kernel: float
    host: float
    broker: float
    worker: float

    @property
    def whole(self) -> float:
        """Everything of ours."""
        return self.kernel + self.host + self.broker + self.worker


@dataclass(frozen=True, slots=True, kw_only=True)
class DataTestbed:
    """The server, and a state directory of its own in which it is called `shop`."""

    address: str
    """The server's, for a peer."""
    settings: Settings
    stage: Stage

    @property
    def client(self) -> BrokerClient:
        """The way to the broker, which the first query starts."""
        return BrokerClient(launch=self.settings.broker_launch())

    @property
    def broker(self) -> list[int]:
        """The broker and its workers, those that run."""
        pid = running_pid(broker_at(self.settings.home))
        return [] if pid is None else family(pid)

    @asynccontextmanager
    async def notebook(self, name: str, *cells: str) -> AsyncGenerator[OpenNotebook]:
        """A notebook that can ask `shop`, in a cage as ever."""
        path = self.stage.project(name, *cells)
        async with open_notebook(path, pool=self.stage.pool, settings=self.settings) as notebook:
            yield notebook

    async def used(self, notebook: OpenNotebook, work: Callable[[], Awaitable[object]]) -> CpuUse:
        """What some work takes, all threads, all of it running before and after."""
        kernel, (broker, *workers) = kernel_processes(notebook), self.broker
        others = [kernel, [broker], workers]
        # Looking at others takes time of our own: the host's is read last before, and first after.
        before, host = [cpu_ms(pids) for pids in others], time.process_time()
        await work()
        host = (time.process_time() - host) * 1e3
        if self.broker != [broker, *workers] or kernel_processes(notebook) != kernel:
            raise BenchFailed("a worker or kernel began or ended while it was measured")
        kernel_ms, broker_ms, worker_ms = (cpu_ms(pids) - ms for pids, ms in zip(others, before, strict=True))
        return CpuUse(kernel=kernel_ms, host=host, broker=broker_ms, worker=worker_ms)


def kernel_processes(notebook: OpenNotebook) -> list[int]:
    """Every process of its cage."""
    if notebook.live.kernel is None:
        raise BenchFailed("the notebook has no kernel")
    return family(notebook.live.kernel.pid)


def resident_mb(pids: Sequence[int]) -> float:
    """The resident memory of the largest of these, pages it shares with others included."""
    page = os.sysconf("SC_PAGE_SIZE")
    return max(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page for pid in pids) / (1 << 20)


def peak_mb(pid: int) -> float:
    """The most that a process ever had resident."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


@asynccontextmanager
async def data_testbed(
    stage: Stage, name: str, *, limits: QueryLimits | None = None, rows: int = ROWS
) -> AsyncGenerator[DataTestbed]:
    """For this block only; a broker that was started ends with it."""
    with postgres_server(_in_memory()) as address:
        await anyio.to_thread.run_sync(_fill, address, rows)
        settings = replace(stage.settings, home=stage.folder / f"{name}-home")
        testbed = DataTestbed(address=address, settings=settings, stage=stage)
        server = urlsplit(address)
        options = {"host": parse_qs(server.query)["host"][0], "database": server.path.strip("/")}
        options |= {"user": server.username or "postgres", "tls": "off"}
        connection = DataConnection(name="shop", kind="postgres", options=options, limits=limits or QueryLimits())
        store_connection(settings.ready_home(), connection)
        try:
            yield testbed
        finally:
            with anyio.CancelScope(shield=True):
                await testbed.client.stop()


def _fill(address: str, rows: int) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(_ORDERS.format(rows=rows).encode())
        connection.execute("vacuum analyze orders")


def _in_memory() -> Path | None:
    """Where a disk is in nobody's figure, if there is such a place."""
    place = Path("/dev/shm")
    return place if place.is_dir() else None


def cpu_ms(pids: Sequence[int]) -> float:
    """What these have used since they began, those that still run."""
    used = 0.0
    for pid in pids:
        with suppress(OSError):
            used += time.clock_gettime(_cpu_clock(pid)) * 1e3
    return used


def _cpu_clock(pid: int) -> int:
    """The clock that shows another process's CPU time, as clock_getcpuclockid(3) makes it."""
    return (~pid << 3) | 2
