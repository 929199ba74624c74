"""How long lost work lies still: a worker is killed with -9 in the middle of a step, and another goes on.

No peer does this in one file, so the peer is the time we allow ourselves.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import anyio
import psycopg
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream
from psycopg import sql

from bench.chain_worker import HELD_STEP
from bench.failure import BenchFailed
from bench.postgres_server import postgres_server
from bench.rows import Finding, Samples, compare, no_more_than
from bench.stage import Stage

_AT_MOST_SECONDS = 60
_HELD = f"step {HELD_STEP}"


async def recovery(stage: Stage) -> list[Finding]:
    """SQLite: from a new process being up to its first new work. Postgres: from the kill to the first at another."""
    alone = [await _alone(stage.folder / f"recovery-{uuid4().hex}.db") for _ in range(stage.rounds(10))]
    with postgres_server() as address:
        together = [await _together(_new_database(address)) for _ in range(stage.rounds(10))]
    name = "killed worker → its run goes on"
    return [
        compare(
            f"{name}, SQLite, once up", ours=Samples(tuple(alone)), peer=Samples((2.0,)),
            peer_name="2 s", unit="s", bar=no_more_than(1),
        ),
        compare(
            f"{name} at another, Postgres", ours=Samples(tuple(together)), peer=Samples((5.0,)),
            peer_name="5 s", unit="s", bar=no_more_than(1),
        ),
    ]  # fmt: skip


async def _alone(path: Path) -> float:
    async with _worker(str(path), "begin") as first:
        await first.until(_HELD)
        first.process.send_signal(signal.SIGKILL)
        await first.process.wait()
    async with _worker(str(path), "recover") as second:
        up = await second.until("up")
        return await second.until(_HELD) - up


async def _together(address: str) -> float:
    async with _worker(address, "recover") as other:
        await other.until("up")
        async with _worker(address, "begin") as first:
            await first.until(_HELD)
            killed = time.monotonic()
            first.process.send_signal(signal.SIGKILL)
            return await other.until(_HELD) - killed


class _Worker:
    """A running worker, and what it has said."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._heard = ""
        assert process.stdout is not None
        self._out = TextReceiveStream(process.stdout)

    async def until(self, wanted: str) -> float:
        """The time at which it said this."""
        with anyio.fail_after(_AT_MOST_SECONDS):
            while True:
                *lines, self._heard = self._heard.split("\n")
                for number, line in enumerate(lines):
                    what, _, at = line.rpartition(" ")
                    if what == wanted:
                        self._heard = "\n".join([*lines[number + 1 :], self._heard])
                        return float(at)
                try:
                    self._heard += await self._out.receive()
                except anyio.EndOfStream:
                    raise BenchFailed(f"the worker ended before it said {wanted!r}") from None


@asynccontextmanager
async def _worker(where: str, does: str) -> AsyncGenerator[_Worker]:
    command = [sys.executable, "-m", "bench.chain_worker", where, does]
    async with await anyio.open_process(command, stderr=subprocess.DEVNULL) as process:
        try:
            yield _Worker(process)
        finally:
            if process.returncode is None:
                process.kill()


def _new_database(address: str) -> str:
    name = f"bench_{uuid4().hex}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return address.replace("/postgres?", f"/{name}?")
