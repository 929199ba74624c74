"""What the steps of a durable run promise, on SQLite and on Postgres alike."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import dbos._dbos
import psycopg
import psycopg.errors
import pytest

from cellwright.errors import Defect, KernelLost, UserError
from cellwright.journal.database import JournalLocation
from cellwright.journal.dbos_settings import sqlite_engine
from cellwright.journal.effects import AGAIN, HAPPENED, IN_DOUBT, Effect, EffectFound
from cellwright.journal.events import Fact, RunEnded, StepFinished
from cellwright.journal.flow import Flow
from cellwright.journal.names import stream_of
from cellwright.journal.questions import Question
from cellwright.journal.values import StepFailed
from tests.journal.durable import asked, giving, working


@dataclass(frozen=True)
class Point:
    x: int
    y: tuple[int, ...]


@pytest.mark.slow
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


@pytest.mark.slow
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


async def test_a_parallel_section_finishes_every_branch_and_raises_the_first_error(where: str) -> None:
    done: list[Any] = []

    async def refuse() -> None:
        raise UserError("first")

    async def top(flow: Flow, _: Any) -> None:
        await flow.parallel(flow.step("no", refuse), flow.step("yes", giving("yes", done)))

    async with working(where, top) as journal:
        with pytest.raises(UserError, match="first"):
            await journal.result(await journal.run("top"))
    assert done == ["yes"]


async def test_a_free_place_of_a_parallel_section_is_filled_at_once_and_a_replay_has_the_same(where: str) -> None:
    begun = list[int]()
    third = anyio.Event()

    async def leaf(flow: Flow, number: int) -> int:
        async def work() -> int:
            begun.append(number)
            if number == 3:
                third.set()
            if number == 1:
                # Two at once: in pairs the third would begin after the first.
                await third.wait()
            return number * 10

        return await flow.step("leaf", work)

    async def top(flow: Flow, _: Any) -> Any:
        found = await flow.parallel(*(flow.child("leaf", number) for number in range(1, 5)), at_once=2)
        return [found, await flow.ask(Question(text="Go on?", choices=("yes", "no")))]

    with anyio.fail_after(60):
        async with working(where, top, leaf) as journal:
            run = await journal.run("top", run="mine")
            question = await asked(journal, run)
        async with working(where, top, leaf) as journal:
            await journal.answer(question.id, "yes", by="me")
            assert await journal.result(run) == [[10, 20, 30, 40], "yes"]
    assert sorted(begun) == [1, 2, 3, 4]


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

    async def find() -> EffectFound:
        return EffectFound(result="found")

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


@pytest.mark.slow
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


@pytest.mark.slow
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


async def test_a_run_started_inside_a_step_is_nobodys_child(where: str) -> None:
    async def other(flow: Flow, _: Any) -> str:
        return await flow.step("other", giving("other"))

    async def top(flow: Flow, _: Any) -> str:
        return await flow.step("start", lambda: journal.run("other", run="the-other"))

    async with working(where, top, other) as journal:
        assert await journal.result(await journal.run("top")) == "the-other"
        assert await journal.result("the-other") == "other"
        assert (await journal.status("the-other")).children == ()


@pytest.mark.slow
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


@pytest.mark.slow
async def test_nobody_looks_for_notifications_that_nobody_sends(where: str) -> None:
    # Whoever looks does so all day, and closing the journal waits until they have looked once more.
    async def top(flow: Flow, _: Any) -> None:
        await flow.step("one", giving(1))

    async with working(where, top) as journal:
        await journal.result(await journal.run("top"))
        engine = dbos._dbos._get_dbos_instance()
        listener, notifier, *_ = engine._background_threads
        listener.join(60)
        notifier.join(60)
        assert not engine._sys_db._listener_running
        assert not listener.is_alive()
        assert not notifier.is_alive()


@pytest.mark.slow
def test_the_engines_threads_stand_in_line_before_they_reach_sqlite(tmp_path: Path) -> None:
    # SQLite lets whoever asks at the right moment write first: of sixteen connections one waited for half a minute.
    engine = sqlite_engine(JournalLocation.of(tmp_path / "journal.db"), "normal")
    came = threading.Event()

    def come() -> None:
        with engine.connect():
            came.set()

    with engine.connect() as first, engine.connect():
        third = threading.Thread(target=come)
        third.start()
        assert not came.wait(0.2)
        first.close()
        assert came.wait(20)
        third.join()
    engine.dispose()
