"""The journal against what it is made of, a bare INSERT and a bare DBOS step; against LangGraph; and a megabyte.

Bare means: the same database file settings (WAL, synchronous=NORMAL), the same bytes, and nothing of ours around it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import psutil

from bench.failure import BenchFailed
from bench.interleave import interleave
from bench.rows import Finding, Samples, compare, no_more_than, told
from bench.stage import Stage
from cellwright.journal.database import Database, open_sqlite
from cellwright.journal.events import Fact, StepFinished
from cellwright.journal.flow import Flow, Workflow
from cellwright.journal.journal import Journal
from cellwright.journal.log import append_events
from cellwright.journal.questions import Question
from cellwright.journal.records import Records

_BATCH = 100
_STEPS = 20
_WARM_UPS = 3
_WAITING = 1_000
_ASK_SECONDS = 120


async def append(stage: Stage) -> list[Finding]:
    """One event of a batch of a hundred: numbered, chained, encoded and committed; a bare INSERT of the same bytes."""
    events = [
        StepFinished(workflow="run/child:1", step=number, name="measure the columns", milliseconds=12)
        for number in range(_BATCH)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.db"
        async with Records.open(path) as records:
            log, database = records.log, records.database

            async def ours() -> float:
                return _microseconds(
                    lambda: database.write_now(lambda cursor: append_events(cursor, log.chain, "s", events))
                )

            await ours()
            bare = _Bare(database)
            own, batch, single = await interleave(
                [ours, bare.batch, bare.single], rounds=stage.rounds(40, quick=10), warm_ups=3
            )
            bare.close()
    own, batch = own.scaled(1 / _BATCH), batch.scaled(1 / _BATCH)
    single = single.scaled(1 / _BATCH)
    name = "journal append, per event in batches of 100"
    return [
        compare(
            name, ours=own, peer=single, peer_name="bare WAL INSERT, each committed", unit="µs", bar=no_more_than(2)
        ),
        compare(name, ours=own, peer=batch, peer_name="bare WAL INSERTs, 100 a commit", unit="µs", bar=no_more_than(2)),
    ]


class _Bare:
    """The rows the journal wrote, inserted into a table with the same key and nothing else."""

    def __init__(self, database: Database) -> None:
        assert database.place.path is not None
        self._connection = raw = open_sqlite(database.place.path, "normal")
        columns = "stream TEXT, sequence BIGINT, at_ms BIGINT, kind TEXT, key TEXT, body TEXT, link BLOB"
        raw.execute(f"CREATE TABLE bare ({columns}, PRIMARY KEY (stream, sequence)) WITHOUT ROWID")
        self._rows = raw.execute("SELECT * FROM cellwright_event LIMIT ?", (_BATCH,)).fetchall()
        self._next = 0

    async def batch(self) -> float:
        """All in one transaction."""
        rows, raw = self._numbered(), self._connection

        def work() -> None:
            raw.execute("BEGIN IMMEDIATE")
            raw.executemany("INSERT INTO bare VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            raw.execute("COMMIT")

        return _microseconds(work)

    async def single(self) -> float:
        """Each in its own."""
        rows, raw = self._numbered(), self._connection

        def work() -> None:
            for row in rows:
                raw.execute("INSERT INTO bare VALUES (?, ?, ?, ?, ?, ?, ?)", row)

        return _microseconds(work)

    def close(self) -> None:
        self._connection.close()

    def _numbered(self) -> list[tuple[Any, ...]]:
        self._next += _BATCH
        return [(row[0], self._next + number, *row[2:]) for number, row in enumerate(self._rows)]


async def step(stage: Stage) -> list[Finding]:
    """A durable step that does nothing, one of twenty in a run, beginning and end told in the log.

    DBOS: its own, untold, as it comes. LangGraph: a graph node and its checkpoint (see the peers).
    """
    took: dict[str, list[float]] = {"ours": [], "dbos": [], "langgraph": []}

    async def body(flow: Flow, _: Any) -> None:
        await _time_steps(took["ours"], lambda: flow.step("nothing", _nothing))

    async with (
        _journal(Workflow(name="ours", body=body)) as journal,
        stage.peer("langgraph_steps") as graph,
        stage.peer("dbos_steps") as dbos,
    ):

        async def ours() -> float:
            await journal.result(await journal.run("ours"))
            return 0.0

        async def bare() -> float:
            took["dbos"] += (await dbos.ask("run", steps=_STEPS))["steps_ms"]
            return 0.0

        async def langgraph() -> float:
            took["langgraph"] += (await graph.ask("run", steps=_STEPS))["steps_ms"]
            return 0.0

        await interleave([ours, bare, langgraph], rounds=stage.rounds(25, quick=5), warm_ups=_WARM_UPS)
    own, bare_ms, langgraph_ms = (Samples(tuple(steps[_WARM_UPS * _STEPS :])) for steps in took.values())
    name = "durable step"
    return [
        compare(name, ours=own, peer=bare_ms, peer_name="bare DBOS step", unit="ms", bar=no_more_than(1.2)),
        compare(name, ours=own, peer=langgraph_ms, peer_name="LangGraph SqliteSaver", unit="ms", bar=told("at most")),
    ]


async def _time_steps(took: list[float], step_once: Callable[[], Awaitable[object]]) -> None:
    for _ in range(_STEPS):
        began = time.perf_counter()
        await step_once()
        took.append((time.perf_counter() - began) * 1e3)


async def follow(stage: Stage) -> list[Finding]:
    """From before an append to the follower's hands, in one process and from another connection to the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.db"
        async with Records.open(path) as near, Records.open(path) as far:
            own = await _follow_latency(near, near, stage.rounds(60, quick=20))
            other = await _follow_latency(near, far, stage.rounds(60, quick=20))
    poll = Samples((20.0,))
    near_name, far_name = "follow, in the process that appends", "follow, from another connection"
    return [
        compare(near_name, ours=own, peer=poll, peer_name="a poll of 20 ms", unit="ms", bar=no_more_than(1)),
        compare(far_name, ours=other, peer=poll, peer_name="a poll of 20 ms", unit="ms", bar=no_more_than(2)),
    ]


async def _follow_latency(writer: Records, reader: Records, count: int) -> Samples:
    """The follower waits already; the pauses are of different length, so that no poll is always just due."""
    stream = f"latency {id(reader)}"
    taken: list[float] = []

    async def receive() -> None:
        async for kept in reader.log.follow(stream):
            assert isinstance(kept.event, Fact)
            taken.append((time.perf_counter() - kept.event.numbers["began"]) * 1e3)
            if len(taken) == count:
                return

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(receive)
        for number in range(count):
            await anyio.sleep(0.03 + number % 7 * 0.003)
            await writer.log.append(stream, Fact(topic="t", subject="s", numbers={"began": time.perf_counter()}))
    return Samples(tuple(taken))


async def waiting(stage: Stage) -> list[Finding]:
    """A thousand runs that wait for a person: what each adds to the process."""

    async def ask(flow: Flow, _: Any) -> Any:
        return await flow.ask(Question(text="May I?", choices=("yes", "no")))

    count = _WAITING if stage.rounds(2, quick=1) == 2 else _WAITING // 5
    async with _journal(Workflow(name="ask", body=ask)) as journal:
        for _ in range(20):
            await journal.run("ask")
        before = psutil.Process().memory_info().rss
        for _ in range(count):
            await journal.run("ask")
        await _until_asked(journal, count + 20)
        each = (psutil.Process().memory_info().rss - before) / count / 1e6
    return [
        compare(
            f"a run that waits for approval, of {count:,}",
            ours=Samples((each,)),
            peer=Samples((1.0,)),
            peer_name="1 MB",
            unit="MB",
            bar=no_more_than(1),
        )
    ]


async def _until_asked(journal: Journal, count: int) -> None:
    asked = 0
    with anyio.move_on_after(_ASK_SECONDS):
        while asked < count:
            news = journal.log.growth.next()
            asked = len(await journal.records.questions.pending())
            if asked < count:
                await news.wait()
    if asked < count:
        raise BenchFailed(f"only {asked} of {count} runs asked within {_ASK_SECONDS} s")


@asynccontextmanager
async def _journal(*workflows: Workflow) -> AsyncGenerator[Journal]:
    with tempfile.TemporaryDirectory() as folder:
        async with Journal.open(Path(folder) / "journal.db", version="bench", workflows=workflows) as journal:
            yield journal


async def _nothing() -> int:
    return 7


def _microseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e6
