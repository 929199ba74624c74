"""What durable runs promise, on SQLite and on Postgres alike."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import psycopg
import psycopg.errors
import pytest

from cellwright.errors import Defect, KernelLost, UserError
from cellwright.journal import (
    AGAIN,
    HAPPENED,
    IN_DOUBT,
    Effect,
    Fact,
    Flow,
    Found,
    Journal,
    OpenQuestion,
    Question,
    Rate,
    RunEnded,
    StepFailed,
    StepFinished,
    Workflow,
    stream_of,
)

KEY = b"k" * 32


@asynccontextmanager
async def working(where: str, *bodies: Any, version: str = "1", **options: Any) -> AsyncGenerator[Journal]:
    workflows = [Workflow(name=body.__name__, body=body) for body in bodies]
    with anyio.fail_after(60):
        async with Journal.open(where, version=version, workflows=workflows, chain_key=KEY, **options) as journal:
            yield journal


async def asked(journal: Journal, run: str) -> OpenQuestion:
    """The question a run waits for."""
    with anyio.fail_after(20):
        while not (pending := await journal.records.questions.pending(run)):
            await journal.log.growth.next().wait()
    return pending[0]


async def standing(journal: Journal, run: str, wanted: str) -> None:
    """Wait until a run stands like this."""
    with anyio.fail_after(20):
        while (await journal.status(run)).standing != wanted:
            with anyio.move_on_after(0.05):
                await journal.log.growth.next().wait()


def giving(value: Any, done: list[Any] | None = None) -> Callable[[], Awaitable[Any]]:
    async def work() -> Any:
        if done is not None:
            done.append(value)
        return value

    return work


@dataclass(frozen=True)
class Point:
    x: int
    y: tuple[int, ...]


async def test_a_reopened_journal_goes_on_where_the_run_was(where: str) -> None:
    done: list[Any] = []

    async def leaf(flow: Flow, argument: int) -> int:
        return sum([await flow.step("leaf", giving(number, done)) for number in range(argument)])

    async def top(flow: Flow, _: Any) -> Any:
        before = await flow.parallel(
            flow.child("leaf", 2), flow.step("side", giving("side", done)), flow.child("leaf", 3)
        )
        point = await flow.step("typed", giving(Point(1, (2, 3)), done), returns=Point)
        large = await flow.step("large", giving("x" * 100_000, done))
        answer = await flow.ask(Question(text="Go on?", choices=("yes", "no")))
        after = await flow.step("after", giving("after", done))
        return [before, point.y[1], len(large), answer, after]

    async with working(where, top, leaf) as journal:
        run = await journal.run("top", run="mine")
        question = await asked(journal, run)
        assert (await journal.status(run)).standing == "waiting"
    first_time = list(done)
    async with working(where, top, leaf) as journal:
        with pytest.raises(UserError, match="no answer"):
            await journal.answer(question.id, "maybe", by="me")
        await journal.answer(question.id, "yes", by="me")
        assert await journal.result(run) == [[1, "side", 3], 3, 100_000, "yes", "after"]
        with pytest.raises(UserError, match="answered already"):
            await journal.answer(question.id, "no", by="me")
        assert await journal.run("top", run="mine") == run
    assert done == [*first_time, "after"]


async def test_an_error_is_the_same_live_and_on_replay(where: str) -> None:
    class TwoArguments(Exception):
        def __init__(self, one: str, two: str) -> None:
            super().__init__(f"{one} {two}")

    async def raising(error: Exception) -> None:
        raise error

    async def top(flow: Flow, _: Any) -> list[Any]:
        seen: list[Any] = []
        for error in (TwoArguments("a", "b"), KernelLost("The kernel is gone.", hint="Replay."), Defect("Ours.")):
            try:
                await flow.step("raise", lambda error=error: raising(error))
            except StepFailed as failed:
                seen.append([failed.error_type, failed.message, "TwoArguments" in failed.traceback_text])
            except KernelLost as lost:
                seen.append([type(lost).__name__, lost.message, lost.hint])
            except Defect as defect:
                seen.append([type(defect).__name__, defect.message, len(defect.report_id)])
        await flow.ask(Question(text="And again?"))
        return seen

    async def failing(flow: Flow, _: Any) -> None:
        await flow.child("inner")

    async def inner(flow: Flow, _: Any) -> None:
        raise UserError("No such data.", hint="Add some.")

    async with working(where, top, failing, inner) as journal:
        run = await journal.run("top")
        await asked(journal, run)
        failed = await journal.run("failing")
        with pytest.raises(UserError, match="No such data") as caught:
            await journal.result(failed)
        assert caught.value.hint == "Add some."
        ends = [
            told.event async for told in journal.log.read_all(stream_of(failed)) if isinstance(told.event, RunEnded)
        ]
        assert [(end.workflow, end.outcome) for end in ends] == [(f"{failed}/inner:1", "failed"), (failed, "failed")]
    async with working(where, top, failing, inner) as journal:
        await journal.answer((await asked(journal, run)).id, "again", by="me")
        assert await journal.result(run) == [
            ["TwoArguments", "a b", True],
            ["KernelLost", "The kernel is gone.", "Replay."],
            ["Defect", "Ours.", 8],
        ]


async def test_what_json_cannot_hold_is_refused_before_anything_is_kept(where: str) -> None:
    async def top(flow: Flow, _: Any) -> str:
        try:
            await flow.step("lambda", giving(lambda: 1))
        except Defect as defect:
            return defect.hint
        return "kept"

    async with working(where, top) as journal:
        assert "returns=" in await journal.result(await journal.run("top"))


async def test_two_verbs_at_once_outside_a_parallel_section_are_refused(where: str) -> None:
    async def two_steps(flow: Flow) -> None:
        await flow.step("one", giving(1))
        await flow.step("two", giving(2))

    async def grouped(flow: Flow, _: Any) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(two_steps, flow)
            tasks.start_soon(two_steps, flow)

    async def long_lane(flow: Flow, _: Any) -> None:
        await flow.parallel(two_steps(flow), flow.step("other", giving(3)))

    async with working(where, grouped, long_lane) as journal:
        for name in ("grouped", "long_lane"):
            with pytest.raises((Defect, StepFailed)):
                await journal.result(await journal.run(name))


async def test_a_parallel_section_finishes_every_lane_and_raises_the_first_error(where: str) -> None:
    done: list[Any] = []

    async def refuse() -> None:
        raise UserError("first")

    async def top(flow: Flow, _: Any) -> None:
        await flow.parallel(flow.step("no", refuse), flow.step("yes", giving("yes", done)))

    async with working(where, top) as journal:
        with pytest.raises(UserError, match="first"):
            await journal.result(await journal.run("top"))
    assert done == ["yes"]


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
        with anyio.fail_after(20):
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


async def test_an_effect_with_a_known_key_is_not_done_again_by_another_run(where: str) -> None:
    done: list[Any] = []

    async def top(flow: Flow, argument: str) -> Any:
        return await flow.step("pay", giving({"paid": argument}, done), effect=Effect(key="invoice-7"))

    async with working(where, top) as journal:
        assert await journal.result(await journal.run("top", "first")) == {"paid": "first"}
        assert await journal.result(await journal.run("top", "second")) == {"paid": "first"}
    assert done == [{"paid": "first"}]


async def test_an_effect_that_may_have_happened_is_looked_for_and_then_asks(where: str) -> None:
    happened: list[str] = []
    reached = anyio.Event()
    is_cut_off = True

    def paying(name: str) -> Callable[[], Awaitable[str]]:
        async def work() -> str:
            happened.append(name)
            if is_cut_off:
                reached.set()
                await anyio.sleep_forever()
            return name

        return work

    async def find() -> Found:
        return Found(result="found")

    async def top(flow: Flow, argument: str) -> Any:
        effect = Effect(key=f"key {argument}", describe="The payment", find=find if argument == "findable" else None)
        return await flow.step("pay", paying(argument), effect=effect)

    runs: dict[str, str] = {}
    async with working(where, top) as journal:
        for name in ("findable", "yes", "no"):
            reached = anyio.Event()
            runs[name] = await journal.run("top", name)
            await reached.wait()
    is_cut_off = False
    async with working(where, top) as journal:
        assert await journal.result(runs["findable"]) == "found"
        yes = await asked(journal, runs["yes"])
        assert (yes.question.topic, yes.question.choices) == (IN_DOUBT, (HAPPENED, AGAIN))
        await journal.answer(yes.id, {"choice": HAPPENED, "result": "told"}, by="me")
        await journal.answer((await asked(journal, runs["no"])).id, AGAIN, by="me")
        assert await journal.result(runs["yes"]) == "told"
        assert await journal.result(runs["no"]) == "no"
    assert happened == ["findable", "yes", "no", "no"]


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
            while not any("stuck" in str(told.event) for told in await journal.log.read(stream_of(run))):
                await journal.log.growth.next().wait()
    is_well = True
    async with working(where, top, most_recoveries=2) as journal:
        assert (await journal.status(run)).standing == "dead"
        with pytest.raises(UserError, match="dead"):
            await journal.result(run)
        await journal.resume(run, by="me")
        assert await journal.result(run) == "well"


async def test_a_step_is_told_exactly_when_it_is_recorded(where: str) -> None:
    async def top(flow: Flow, _: Any) -> None:
        for number in range(5):
            await flow.step("count", giving(number))

    async with working(where, top) as journal:
        run = await journal.run("top")
        await journal.result(run)
        told = [told.event async for told in journal.log.read_all(stream_of(run))]
        steps = {step.number for step in (await journal.status(run)).steps if step.name == "count"}
        assert {event.step for event in told if isinstance(event, StepFinished)} == steps


async def test_what_a_workflow_tells_stands_once_in_its_runs_stream_and_can_be_read_inside_a_step(where: str) -> None:
    def did(what: str) -> Fact:
        return Fact(topic="did", subject=what)

    async def inner(flow: Flow, _: Any) -> None:
        await flow.tell(did("inner"))

    async def top(flow: Flow, _: Any) -> list[str]:
        async def look_back() -> list[str]:
            return [told.event.subject async for told in flow.read(stream_of(flow.id)) if isinstance(told.event, Fact)]

        await flow.tell(did("one"), did("two"))
        await flow.tell()
        await flow.child("inner")
        seen = await flow.step("look back", look_back)
        await flow.ask(Question(text="Go on?"))
        await flow.parallel(flow.tell(did("left")), flow.tell(did("right")))
        return seen

    async with working(where, top, inner) as journal:
        run = await journal.run("top")
        await asked(journal, run)
    async with working(where, top, inner) as journal:
        await journal.answer((await asked(journal, run)).id, "yes", by="me")
        assert await journal.result(run) == ["one", "two", "inner"]
        told = [told.event async for told in journal.log.read_all(stream_of(run))]
    facts = [event.subject for event in told if isinstance(event, Fact)]
    assert facts[:3] == ["one", "two", "inner"]
    assert sorted(facts[3:]) == ["left", "right"]
    assert [event.name for event in told if isinstance(event, StepFinished)] == ["look back", "ask question"]


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


async def test_a_step_is_recorded_after_a_lost_connection_or_a_deadlock(
    fresh_postgres: str,
) -> None:
    done: list[Any] = []
    troubles = iter([cut_connections, deadlock])

    def mask(text: str) -> str:
        # The last thing before an event is written, inside the engine's transaction.
        if text == "troubled" and (trouble := next(troubles, None)) is not None:
            trouble(fresh_postgres)
        return text

    async def top(flow: Flow, _: Any) -> None:
        await flow.step("work", giving("work", done))
        await flow.tell(Fact(topic="one", subject="troubled"))
        await flow.tell(Fact(topic="two", subject="troubled"))

    async with working(fresh_postgres, top, mask=mask) as journal:
        run = await journal.run("top")
        await journal.result(run)
        told = [told.event async for told in journal.log.read_all(stream_of(run))]
    assert next(troubles, None) is None
    assert [event.topic for event in told if isinstance(event, Fact)] == ["one", "two"]
    assert done == ["work"]


def cut_connections(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'idle in transaction'"
        )


def deadlock(_: str) -> None:
    raise psycopg.errors.DeadlockDetected("deadlock detected")


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


async def test_a_run_started_inside_a_step_is_nobodys_child(where: str) -> None:
    async def other(flow: Flow, _: Any) -> str:
        return await flow.step("other", giving("other"))

    async def top(flow: Flow, _: Any) -> str:
        return await flow.step("start", lambda: journal.run("other", run="the-other"))

    async with working(where, top, other) as journal:
        assert await journal.result(await journal.run("top")) == "the-other"
        assert await journal.result("the-other") == "other"
        assert (await journal.status("the-other")).children == ()


async def test_a_kept_value_that_was_altered_is_refused(where: str) -> None:
    async def top(flow: Flow, _: Any) -> None:
        await flow.step("large", giving("x" * 100_000))
        await flow.ask(Question(text="Well?"))

    async with working(where, top) as journal:
        run = await journal.run("top")
        await asked(journal, run)
    async with working(where, top, version="meanwhile") as journal:
        forge = "UPDATE cellwright_blob SET body = ?"
        await journal.records.database.write(lambda cursor: cursor.execute(forge, (b'{"value":"forged"}',)) and None)
    async with working(where, top) as journal:
        with pytest.raises(Defect, match="altered"):
            await journal.result(run)
