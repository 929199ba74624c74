"""A person takes a task of a plan, does it, and hands it back; meanwhile agents do the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from cellwright.agents import steering
from cellwright.errors import UserError
from cellwright.journal.events import encode
from cellwright.journal.records import Records
from cellwright.models.client.gateway_client import Models
from cellwright.policy.approvals import Person
from cellwright.policy.masking.masker import Masker
from cellwright.runs.events import EVENT_TYPES, PlanChanged
from cellwright.runs.execute import steering_commands
from cellwright.runs.plan.plan import HandBackTask, Plan, RetryTask, TakeTask, Task, edited, edited_late, parse_edit
from cellwright.runs.plan.taken_tasks import AGENT, DONE, TAKEN, answered_edit, taken_question
from cellwright.runs.views.questions import run_inbox
from cellwright.testing import Fault
from tests.agents.forked import Forker
from tests.conftest import notebook_source
from tests.models.testbed import ModelTestbed
from tests.runs.factory import ADA, Factory, Kernels, finish, of, open_factory, plan, task

ONE, TWO = Task(id="one", title="One"), Task(id="two", title="Two", after=("one",), todo="Add it.")
PLAN = Plan(title="Both", tasks=(ONE, TWO))
BOB = Person(name="bob", door="cli")


# ── the plan ──


def test_a_taken_task_is_given_to_nobody_and_waited_for() -> None:
    taken = edited(PLAN, TakeTask(task="one"), "ada")
    assert taken.next_task() is None
    assert taken.next_taken() == replace(ONE, taken_by="ada")
    assert edited(taken, TakeTask(task="one"), "ada") == taken


def test_it_is_handed_back_as_done_in_the_persons_words_or_for_an_agent_that_reads_them() -> None:
    taken = edited(edited(PLAN, TakeTask(task="one"), "ada"), TakeTask(task="two"), "ada")
    done = edited(taken, HandBackTask(task="one", is_done=True, words="Counted by hand: 12."), "ada")
    assert done.find("one") == replace(ONE, taken_by="ada", status="done", note="Counted by hand: 12.")
    assert done.next_task() is None
    back = edited(done, HandBackTask(task="two", is_done=False, words="No time."), "ada")
    assert back.next_task() == replace(TWO, todo="Add it.\nada, who had taken it, says: No time.")
    assert edited(done, RetryTask(task="one")).find("one") == ONE


@pytest.mark.parametrize(
    ("status", "taken_by", "edit", "says"),
    [
        ("done", "", TakeTask(task="one"), "is done already"),
        ("planned", "bob", TakeTask(task="one"), "bob does the task 'one' already"),
        ("planned", "", HandBackTask(task="one", is_done=True), "Nobody has taken the task 'one'"),
        ("done", "ada", HandBackTask(task="one", is_done=True), "Nobody has taken the task 'one'"),
    ],
)
def test_what_cannot_be_taken_or_handed_back_is_said_and_too_late_it_changes_nothing(
    status: Any, taken_by: str, edit: TakeTask | HandBackTask, says: str
) -> None:
    plan_ = PLAN.with_task(replace(ONE, status=status, taken_by=taken_by))
    with pytest.raises(UserError, match=says):
        edited(plan_, edit, "ada")
    assert edited_late(plan_, edit, "ada") == plan_


def test_the_answer_to_the_question_means_what_it_offers() -> None:
    assert answered_edit(ONE, DONE) == HandBackTask(task="one", is_done=True)
    assert answered_edit(ONE, AGENT) == HandBackTask(task="one", is_done=False)
    assert [answered_edit(ONE, each) for each in ("look again", None)] == [None, None]
    assert {DONE, AGENT} < {*taken_question(ONE).choices}


def test_taking_and_handing_back_are_kept_and_read_again() -> None:
    for edit in (TakeTask(task="one"), HandBackTask(task="one", is_done=False, words="w")):
        told = PlanChanged(edit=edit, by="ada")
        assert EVENT_TYPES.decode("plan-changed", encode(told).decode()) == told
    assert parse_edit({"op": "take", "task": "one"}) == TakeTask(task="one")


# ── runs ──


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "sums.py").write_text(notebook_source("import marimo as mo"))
    return folder


async def change(factory: Factory, edit: TakeTask | HandBackTask) -> None:
    await steering_commands.change_plan(factory.runs.records, "r", edit, ADA)


async def taken_at_work(factory: Factory) -> None:
    """The second task is taken while an agent is at the first, so that it is the only one left."""
    factory.testbed.provider.when(of("Your task: Do one"), Fault("slow-first-byte", answer=finish("first")))
    factory.testbed.provider.when(of("Your task: Do two"), finish("second"))
    factory.testbed.provider.when(of("Your task: Do three"), finish("third"))
    factory.script(plan(task("one"), task("two", after=["one"]), task("three", after=["two"])))
    await factory.start()
    await factory.testbed.provider.until(lambda server: server.silent == 1, timeout_seconds=60)
    await change(factory, TakeTask(task="two"))
    factory.testbed.provider.release()


@pytest.mark.slow
async def test_a_run_does_the_others_waits_for_the_person_and_goes_on_with_their_words(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        await taken_at_work(factory)
        question = await factory.asked(TAKEN)
        assert question.question.text.startswith("ada does this: 'Do two'.")
        seen = await factory.view()
        assert seen.plan is not None
        assert [(each.status, each.taken_by) for each in seen.plan.tasks[:3]] == [
            ("done", ""),
            ("planned", "ada"),
            ("planned", ""),
        ]
        await change(factory, HandBackTask(task="two", is_done=True, words="I asked the shop: 12."))
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status) == ("", "done")
        assert [(each.id, each.note) for each in delivery.tasks[1:2]] == [("two", "I asked the shop: 12.")]
        prompts = factory.prompts()
        assert not any("Your task: Do two" in each for each in prompts)
        third = next(each for each in prompts if "Your task: Do three" in each)
        assert "I asked the shop: 12." in third
        assert await factory.runs.records.questions.pending() == []


@pytest.mark.slow
async def test_the_answer_in_the_inbox_gives_it_to_an_agent(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        await taken_at_work(factory)
        question = await factory.asked(TAKEN)
        inbox = run_inbox(factory.runs.records, Masker.of(salt=b"s" * 16))
        assert (await inbox.show(question.id)).offers == (DONE, AGENT)
        await inbox.answer(question.id, AGENT, ADA, "")
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status) == ("", "done")
        assert any("Your task: Do two" in each for each in factory.prompts())


@pytest.mark.slow
async def test_taking_the_task_an_agent_is_at_stops_the_agent(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(plan(task("one"), task("two")), Fault("slow-first-byte", answer=finish("x")), finish("second"))
        await factory.start()
        await testbed.provider.until(lambda server: server.silent == 1, timeout_seconds=60)
        await change(factory, TakeTask(task="one"))
        with pytest.raises(UserError, match="ada does the task"):
            await factory.until(lambda seen: seen.plan is not None and bool(seen.plan.tasks[0].taken_by))
            await steering_commands.change_plan(factory.runs.records, "r", TakeTask(task="one"), BOB)
        testbed.provider.release()
        await factory.asked(TAKEN)
        await change(factory, HandBackTask(task="one", is_done=True))
        delivery = await factory.delivery()
        assert [(each.status, each.note) for each in delivery.tasks] == [("done", "Done by ada."), ("done", "second")]


@pytest.mark.slow
async def test_a_run_that_waits_for_a_person_can_be_stopped(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        await taken_at_work(factory)
        await factory.asked(TAKEN)
        await steering.stop(factory.runs.records.log, "r", ADA)
        await steering_commands.wake(factory.runs.records, "r", ADA)
        assert (await factory.delivery()).status == "stopped"


@pytest.mark.slow
async def test_a_task_that_is_taken_stays_so_when_everything_is_killed(
    testbed: ModelTestbed, project: Path, kernels: Kernels, cache: Path, forker: Forker, gateway: Models
) -> None:
    killed = forker.of("tests.runs.killed_run")
    testbed.provider.when(of("Your task: Do one"), Fault("slow-first-byte", answer=finish("first")))
    testbed.provider.script(plan(task("one"), task("two", after=["one"])))
    arguments = (str(testbed.home), str(cache), str(project), "-", "1")
    pid = await anyio.to_thread.run_sync(killed.start, *arguments)
    await testbed.provider.until(lambda server: server.silent == 1, timeout_seconds=120)
    async with Records.open(testbed.home / "journal.db", types=EVENT_TYPES) as records:
        await steering_commands.change_plan(records, "r", TakeTask(task="two"), ADA)
        testbed.provider.release()
        with anyio.fail_after(120):
            while not await records.questions.pending("r"):
                await anyio.lowlevel.checkpoint()
    await anyio.to_thread.run_sync(killed.kill, pid)
    async with open_factory(testbed, project, kernels) as factory:
        assert (await factory.asked(TAKEN)).question.body == {"task": "two"}
        await change(factory, HandBackTask(task="two", is_done=True, words="By hand."))
        delivery = await factory.delivery()
    assert (delivery.why, delivery.status) == ("", "done")
    assert [(each.id, each.note) for each in delivery.tasks] == [("one", "first"), ("two", "By hand.")]
    assert len(testbed.provider.charged) == 2
