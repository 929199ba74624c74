"""What whoever steers durable runs may rely on: cancelling, resuming, forking, versions, queues, one worker a file."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest

from cellwright.errors import UserError
from cellwright.journal.database import Database, JournalLocation
from cellwright.journal.events import RunEnded
from cellwright.journal.flow import Flow, Rate
from cellwright.journal.names import stream_of
from cellwright.journal.questions import Question
from tests.journal.durable import asked, giving, standing, working


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[psycopg.Connection[Any]]:
    """Every connection to Postgres that is opened from here on, by whomever."""
    connections: list[psycopg.Connection[Any]] = []
    connect = psycopg.connect

    def noted(*arguments: Any, **options: Any) -> psycopg.Connection[Any]:
        connections.append(connect(*arguments, **options))
        return connections[-1]

    monkeypatch.setattr(psycopg, "connect", noted)
    return connections


async def test_a_cancelled_run_stops_at_once_and_can_be_resumed(where: str) -> None:
    done: list[Any] = []
    is_patient = False
    reached = anyio.Event()

    async def slow() -> str:
        reached.set()
        if not is_patient:
            await anyio.sleep_forever()
        return "slow"

    async def inner(flow: Flow, _: Any) -> str:
        await flow.step("quick", giving("quick", done))
        return await flow.step("slow", slow)

    async def top(flow: Flow, _: Any) -> str:
        return await flow.child("inner")

    async with working(where, top, inner) as journal:
        run = await journal.run("top")
        with anyio.fail_after(120):
            await reached.wait()
        await journal.cancel(run)
        with pytest.raises(UserError, match="cancelled"):
            await journal.result(run)
        is_patient = True
        await journal.resume(run, by="me")
        assert await journal.result(run) == "slow"
    assert done == ["quick"]


async def test_a_question_of_a_cancelled_run_is_withdrawn_and_asked_again_when_it_goes_on(where: str) -> None:
    async def top(flow: Flow, _: Any) -> Any:
        return await flow.ask(Question(text="Well?"))

    async with working(where, top) as journal:
        run = await journal.run("top")
        question = await asked(journal, run)
        await journal.cancel(run)
        assert await journal.records.questions.pending(run) == []
        with pytest.raises(UserError, match="withdrawn"):
            await journal.answer(question.id, "late", by="me")
        await journal.resume(run)
        await journal.answer((await asked(journal, run)).id, "well", by="me")
        assert await journal.result(run) == "well"


@pytest.mark.slow
async def test_code_of_another_version_leaves_a_run_alone_until_it_is_forked_forward(where: str) -> None:
    done: list[Any] = []

    async def inner(flow: Flow, _: Any) -> str:
        await flow.step("inner", giving("inner", done))
        return await flow.ask(Question(text="Inside?"))

    async def old(flow: Flow, _: Any) -> list[Any]:
        first = await flow.step("first", giving("first", done))
        return [first, await flow.child("inner")]

    async def new(flow: Flow, _: Any) -> list[Any]:
        return [*await old(flow, _), await flow.step("added", giving("added", done))]

    old.__name__ = new.__name__ = "top"
    async with working(where, old, inner, version="1") as journal:
        run = await journal.run("top")
        await asked(journal, run)
    async with working(where, new, inner, version="2") as journal:
        assert [status.run for status in await journal.stranded()] == [run]
        with pytest.raises(UserError, match="version"):
            await journal.resume(run)
        forked = await journal.fork(run)
        question = await asked(journal, forked)
        await journal.answer(question.id, "answered", by="me")
        assert await journal.result(forked) == ["first", "answered", "added"]
        assert (await journal.status(run)).standing == "cancelled"
    assert done == ["first", "inner", "added"]


@pytest.mark.slow
async def test_code_that_does_not_fit_the_recorded_steps_says_so(where: str) -> None:
    async def before(flow: Flow, _: Any) -> None:
        await flow.step("one", giving(1))
        await flow.ask(Question(text="Well?"))

    async def after(flow: Flow, _: Any) -> None:
        await flow.step("other", giving(1))

    before.__name__ = after.__name__ = "top"
    async with working(where, before) as journal:
        run = await journal.run("top")
        await asked(journal, run)
    async with working(where, after) as journal:
        with pytest.raises(UserError, match="does not fit its recorded steps"):
            await journal.result(run)
        told = [told.event async for told in journal.log.read_all(stream_of(run))]
        assert [(end.outcome, "recorded" in end.error) for end in told if isinstance(end, RunEnded)] == [
            ("failed", True)
        ]
        assert await journal.result(await journal.fork(run, from_step=2)) is None


async def test_a_fork_of_a_finished_run_does_only_the_later_steps(where: str) -> None:
    done: list[Any] = []

    async def top(flow: Flow, _: Any) -> list[Any]:
        return [await flow.step(f"step-{number}", giving(number, done)) for number in range(4)]

    async with working(where, top) as journal:
        run = await journal.run("top")
        assert await journal.result(run) == [0, 1, 2, 3]
        third = next(step.number for step in (await journal.status(run)).steps if step.name == "step-2")
        assert await journal.result(await journal.fork(run, from_step=third)) == [0, 1, 2, 3]
    assert done == [0, 1, 2, 3, 2, 3]


@pytest.mark.slow
async def test_a_queue_keeps_its_limits_and_its_priorities(where: str) -> None:
    order: list[str] = []
    at_once = [0, 0]

    async def job(flow: Flow, argument: str) -> None:
        async def work() -> None:
            order.append(argument)
            at_once[0] += 1
            at_once[1] = max(at_once)
            await anyio.sleep(0.02)
            at_once[0] -= 1

        await flow.step("job", work)

    async with working(where, job) as journal:
        await journal.queue("jobs", concurrency=1, rate=Rate(limit=0, seconds=60))
        jobs = [("later", 9), ("sooner", 1), ("middle", 5)]
        runs = [await journal.run("job", name, queue="jobs", priority=priority) for name, priority in jobs]
        assert {(await journal.status(run)).standing for run in runs} == {"queued"}
        await journal.queue("jobs", concurrency=1)
        for run in runs:
            await journal.result(run)
    assert order == ["sooner", "middle", "later"]
    assert at_once == [0, 1]


@pytest.mark.slow
async def test_a_run_that_gets_nowhere_is_given_up_seen_and_resumed_by_a_person(where: str) -> None:
    is_well = False

    async def stuck() -> str:
        if not is_well:
            await anyio.sleep_forever()
        return "well"

    async def top(flow: Flow, _: Any) -> str:
        await flow.step("first", giving(1))
        return await flow.step("stuck", stuck)

    run = ""
    for _ in range(3):
        async with working(where, top, most_recoveries=2) as journal:
            run = await journal.run("top", run="sick")
            await standing(journal, run, "running")
            news = journal.log.growth.next()
            while not any("stuck" in str(told.event) for told in await journal.log.read(stream_of(run))):
                await news.wait()
                news = journal.log.growth.next()
    is_well = True
    async with working(where, top, most_recoveries=2) as journal:
        assert (await journal.status(run)).standing == "dead"
        with pytest.raises(UserError, match="dead"):
            await journal.result(run)
        await journal.resume(run, by="me")
        assert await journal.result(run) == "well"


@pytest.mark.slow
async def test_a_journal_that_closes_leaves_no_connection_even_of_work_that_was_just_recorded(
    fresh_postgres: str, opened: list[psycopg.Connection[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread whose task was stopped still holds its connection for a while after others see what it wrote."""
    commit = psycopg.Connection.commit

    def slow_commit(connection: psycopg.Connection[Any]) -> None:
        commit(connection)
        if threading.current_thread().name.startswith("dbos-executor"):
            time.sleep(0.5)

    monkeypatch.setattr(psycopg.Connection, "commit", slow_commit)

    async def top(flow: Flow, _: Any) -> None:
        for number in range(100):
            await flow.step(f"step-{number}", giving(number))

    async with working(fresh_postgres, top) as journal:
        run = await journal.run("top")
        await standing(journal, run, "running")
        news = journal.log.growth.next()
        while not any("step-0" in str(told.event) for told in await journal.log.read(stream_of(run))):
            await news.wait()
            news = journal.log.growth.next()
    assert opened
    assert [connection for connection in opened if not connection.closed] == []


def test_a_thread_that_comes_after_the_closing_leaves_no_connection(
    fresh_postgres: str, opened: list[psycopg.Connection[Any]]
) -> None:
    database = Database(JournalLocation.of(fresh_postgres))
    database.close()
    assert database.read_now(lambda cursor: cursor.execute("SELECT 1").one()) == (1,)
    assert [connection.closed for connection in opened] == [True]


@pytest.mark.slow
async def test_jobs_of_a_queue_start_no_faster_than_its_rate(where: str) -> None:
    seconds, limit = 0.3, 2

    async def job(flow: Flow, _: Any) -> None:
        await flow.step("job", giving(1))

    async with working(where, job) as journal:
        await journal.queue("jobs", rate=Rate(limit=limit, seconds=seconds))
        for run in [await journal.run("job", queue="jobs") for _ in range(5)]:
            await journal.result(run)
        table = "workflow_status" if journal.records.database.dialect == "sqlite" else "dbos.workflow_status"
        select = f"SELECT started_at_epoch_ms FROM {table} ORDER BY 1"
        starts = [row[0] for row in await journal.records.database.read(lambda cursor: cursor.execute(select).all())]
    assert len(starts) == 5
    assert all(later - earlier >= seconds * 1000 for earlier, later in zip(starts, starts[limit:], strict=False))


async def test_only_one_process_runs_the_workflows_of_a_file(fresh_sqlite: str) -> None:
    async def top(flow: Flow, _: Any) -> None: ...

    async with working(fresh_sqlite, top):
        with pytest.raises(UserError, match="Another process"):
            async with working(fresh_sqlite, top):
                pass


async def test_a_second_journal_in_one_process_is_refused_and_leaves_the_first_alone(
    fresh_sqlite: str, tmp_path: Path
) -> None:
    async def top(flow: Flow, _: Any) -> int:
        return await flow.step("one", giving(1))

    async with working(fresh_sqlite, top) as journal:
        with pytest.raises(UserError, match="already"):
            async with working(str(tmp_path / "second.db"), top):
                pass
        assert await journal.result(await journal.run("top")) == 1
