"""People in the middle of a run: questions, leave, budgets, pauses, another plan, another goal, two runs at once."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import anyio
import pytest

from cellwright.agents.steering import stop
from cellwright.errors import UserError
from cellwright.policy.masking.masker import Masker
from cellwright.runs.execute import steering_commands
from cellwright.runs.plan.plan import AddTask, DropTask, RetryTask, Task
from cellwright.testing import CallTool, Fault
from cellwright.tools.approval.budget_questions import Raise
from cellwright.tools.approval.inbox import Inbox
from tests.conftest import notebook_source
from tests.models.testbed import ModelTestbed
from tests.runs.factory import ADA, Kernels, apply, at_once, create, finish, of, open_factory, plan, task
from tests.runs.histories import changes_in


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "sums.py").write_text(notebook_source("import marimo as mo"))
    return folder


@pytest.mark.slow
async def test_a_question_waits_for_the_person_and_their_answer_goes_on(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(
            CallTool("ask_person", {"question": "Net or gross?", "options": ["net", "gross"]}),
            finish("Net it is."),
        )
        await factory.start()
        question = await factory.asked("agent-question")
        assert question.question.text == "Net or gross?"
        await factory.runs.records.questions.answer(question.id, "net", by="ada")
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status) == ("", "done")
        assert "The person answered: net" in factory.prompts()[1]


@pytest.mark.slow
async def test_a_plan_that_reaches_out_is_agreed_to_once_as_a_whole(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(plan(task(), hosts=["data.example.org"], packages=["no-such-table"]), finish("1"))
        await factory.start()
        shown = await factory.say_yes()
        assert "data.example.org" in shown
        assert "no-such-table" in shown
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status) == ("", "done")
        assert await factory.runs.records.questions.pending() == []


@pytest.mark.slow
async def test_a_no_to_the_plan_ends_the_run_and_leaves_no_notebook(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(plan(task(), hosts=["data.example.org"]))
        await factory.start(factory.goal(notebook="new.py"))
        await factory.say_no("Not from there.")
        delivery = await factory.delivery()
        assert delivery.status == "refused"
        assert "Not from there." in delivery.why
        assert delivery.notebook == ""
        assert [path.name async for path in anyio.Path(project).iterdir()] == ["sums.py"]


@pytest.mark.slow
async def test_with_approve_never_a_plan_is_built_without_what_would_be_asked_and_the_agent_is_told(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        asks = {"hosts": ["data.example.org"], "packages": ["pandas", "no-such-table"]}
        factory.script(plan(task(), **asks), finish("Done without."))
        delivery = await factory.deliver(factory.goal(approve="never"))
        assert (delivery.why, delivery.status, delivery.answer) == ("", "done", "Done without.")
        told = factory.prompts()[1]
        assert "Connect to data.example.org port 443: nobody may be asked in this run." in told
        assert "no-such-table: nobody may be asked in this run." in told
        # What is there already needs nobody's leave.
        assert "pandas: nobody" not in told
        assert any("data.example.org" in each for each in delivery.caveats)


@pytest.mark.slow
async def test_with_approve_never_what_could_only_be_refused_is_not_offered(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    (testbed.home / "rules.toml").write_text('[[rule]]\naction = "run-shell"\nthen = "allow"\ncommands = ["ls **"]\n')
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(CallTool("ask_person", {"question": "Net or gross?"}), finish("Net."))
        delivery = await factory.deliver(factory.goal(approve="never"))
        assert (delivery.why, delivery.status) == ("", "done")
        offered = str(testbed.provider.requests[0].body)
        refused = ("ask_person", "read_web_page", "install_package", "write_file", "git_commit")
        assert [name for name in refused if name in offered] == []
        # A rule allows some of its calls.
        assert "- shell(command): " in offered
        assert "Nobody can be asked: take the plainest reading" in offered
        told = factory.prompts()[1]
        assert "There is no tool 'ask_person'" in told
        assert "run_program" not in told


@pytest.mark.slow
async def test_with_approve_envelope_only_the_plan_is_asked_about(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(
            plan(task(), hosts=["data.example.org"]),
            CallTool("read_web_page", {"url": "https://example.org/"}),
            finish("Net."),
        )
        await factory.start(factory.goal(approve="envelope"))
        await factory.say_yes()
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status) == ("", "done")
        assert "Nobody is asked in this run" in factory.prompts()[2]


@pytest.mark.slow
async def test_a_reached_budget_pauses_the_run_until_it_is_raised_and_is_raised_for_all_of_it(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(finish("They sum to 45."))
        await factory.start(factory.goal(budget_usd=Decimal("0.000001")))
        question = await factory.asked("budget")
        desk = Inbox(factory.runs.records, masker=Masker.of(salt=b"s" * 16))
        shown = (await desk.show(question.id)).question
        await desk.answer(question.id, Raise(more=Decimal(1)), ADA, shown.fingerprint)
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status) == ("", "done")
        assert delivery.microdollars > 0


async def test_private_runs_refuse_a_model_that_is_not_on_this_machine(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        delivery = await factory.deliver(factory.goal(is_private=True))
        assert delivery.status == "failed"
        assert "near:one" in delivery.why
        assert testbed.provider.requests == ()


@pytest.mark.slow
async def test_a_paused_run_waits_before_its_next_step_and_goes_on(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(
            plan(task("one"), task("two")), Fault("slow-first-byte", answer=finish("45")), finish("They sum to 45.")
        )
        await factory.start()
        await testbed.provider.until(lambda server: server.silent == 1, timeout_seconds=60)
        await steering_commands.pause(factory.runs.records, "r", ADA)
        testbed.provider.release()
        question = await factory.asked("paused")
        assert question.question.text == "Paused by ada."
        asked = len(testbed.provider.requests)
        assert await steering_commands.resume(factory.runs.records, "r", ADA)
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status) == ("", "done")
        assert (asked, len(testbed.provider.requests)) == (2, 3)


@pytest.mark.slow
async def test_a_task_added_in_the_middle_is_done_and_a_dropped_one_is_not(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(
            plan(task("one"), task("two", after=["one"])),
            Fault("slow-first-byte", answer=finish("first")),
            finish("third"),
        )
        await factory.start()
        await testbed.provider.until(lambda server: server.silent == 1, timeout_seconds=60)
        records = factory.runs.records
        await steering_commands.change_plan(records, "r", DropTask(task="two"), ADA)
        await steering_commands.change_plan(records, "r", AddTask(task=Task(id="three", title="A third thing")), ADA)
        with pytest.raises(UserError, match="No task 'four'"):
            await steering_commands.change_plan(records, "r", RetryTask(task="four"), ADA)
        testbed.provider.release()
        delivery = await factory.delivery()
        assert {each.id: each.status for each in delivery.tasks} == {
            "one": "done",
            "two": "dropped",
            "three": "done",
        }
        assert any("A third thing" in prompt for prompt in factory.prompts())


@pytest.mark.slow
async def test_dropping_the_task_at_work_stops_whoever_does_it(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(
            plan(task("one"), task("two")),
            Fault("slow-first-byte", answer=CallTool("look", {"what": "summary"})),
            finish("second"),
        )
        await factory.start()
        await testbed.provider.until(lambda server: server.silent == 1, timeout_seconds=60)
        await steering_commands.change_plan(factory.runs.records, "r", DropTask(task="one"), ADA)
        testbed.provider.release()
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status) == ("", "done")
        assert [each.status for each in delivery.tasks] == ["dropped", "done"]


@pytest.mark.slow
async def test_another_goal_in_the_middle_is_planned_for_and_what_was_done_stays(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(
            plan(task("one"), task("two")),
            at_once(apply(create("first = 1\nfirst", "first")), finish("1")),
            Fault("slow-first-byte", answer=CallTool("look", {"what": "summary"})),
            plan(task("instead"), title="Something else"),
            finish("It is 2."),
        )
        await factory.start()
        await testbed.provider.until(lambda server: server.silent == 1, timeout_seconds=60)
        await steering_commands.change_goal(factory.runs.records, "r", "Multiply them instead.", ADA)
        testbed.provider.release()
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status) == ("", "done")
        assert (delivery.goal, delivery.title) == ("Multiply them instead.", "Something else")
        assert [each.id for each in delivery.tasks] == ["instead"]
        assert "first = 1" in factory.notebook()
        again = next(prompt for prompt in factory.prompts() if "Multiply them instead." in prompt)
        assert "done so far" in again
        assert "Do one: done" in again


@pytest.mark.slow
async def test_two_runs_on_two_notebooks_go_on_side_by_side(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    (project / "other.py").write_text(notebook_source("import marimo as mo"))
    async with open_factory(testbed, project, kernels) as factory:
        for words, answer in (("Count the apples.", "3"), ("Weigh the pears.", "4 kg")):
            testbed.provider.when(
                of(words),
                Fault("slow-first-byte", answer=finish(f"It is {answer}.")),
            )
        await factory.start(factory.goal("Count the apples."), run="apples")
        await factory.start(factory.goal("Weigh the pears.", notebook="other.py"), run="pears")
        await testbed.provider.until(lambda server: server.silent == 2, timeout_seconds=60)
        testbed.provider.release()
        assert (await factory.delivery("apples")).answer == "It is 3."
        assert (await factory.delivery("pears")).answer == "It is 4 kg."


@pytest.mark.slow
async def test_a_second_run_on_a_notebook_waits_and_says_for_which(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        testbed.provider.when(of("Count the apples."), Fault("slow-first-byte", answer=finish("3 apples.")))
        testbed.provider.when(of("Weigh the pears."), finish("4 kg."))
        await factory.start(factory.goal("Count the apples."), run="apples")
        await testbed.provider.until(lambda server: server.silent == 1, timeout_seconds=60)
        await factory.start(factory.goal("Weigh the pears."), run="pears")
        view = await factory.until(lambda seen: bool(seen.waits), "pears")
        assert "The run apples works on this notebook" in view.waits
        testbed.provider.release()
        assert (await factory.delivery("apples")).answer == "3 apples."
        assert (await factory.delivery("pears")).answer == "4 kg."


@pytest.mark.slow
async def test_a_stopped_run_hands_over_what_it_has(testbed: ModelTestbed, project: Path, kernels: Kernels) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(
            apply(create("first = 1\nfirst", "first")),
            Fault("slow-first-byte", answer=CallTool("look", {"what": "summary"})),
        )
        await factory.start()
        await testbed.provider.until(lambda server: server.silent == 1, timeout_seconds=60)
        await stop(factory.runs.records.log, "r", ADA, "Enough.")
        # The model is silent for good: nobody waits for it.
        delivery = await factory.delivery()
        testbed.provider.release()
        assert (delivery.status, delivery.why) == ("stopped", "ada stopped it: Enough.")
        assert "first = 1" in factory.notebook()


@pytest.mark.slow
async def test_stopping_a_run_stops_its_cells(testbed: ModelTestbed, project: Path, kernels: Kernels) -> None:
    endless = "import time\nwhile True:\n    time.sleep(0.01)"
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(apply(create("first = 1\nfirst", "first")), apply(create(endless, "endless")))
        await factory.start()
        live = factory.runs.notebooks
        with anyio.fail_after(120):
            # It works by itself in this process.
            while "r" not in live or len(live["r"].document.cells) < 3:
                await anyio.sleep(0.01)
                live = factory.runs.notebooks
        await stop(factory.runs.records.log, "r", ADA, "Enough.")
        delivery = await factory.delivery()
        assert (delivery.status, delivery.why) == ("stopped", "ada stopped it: Enough.")
        assert "first = 1" in factory.notebook()


@pytest.mark.slow
async def test_a_run_that_was_to_stop_was_cancelled_and_is_resumed_goes_on(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(Fault("slow-first-byte", answer=finish("45")), finish("45."))
        await factory.start()
        await testbed.provider.until(lambda server: server.silent == 1, timeout_seconds=60)
        await factory.runs.cancel("r")
        await stop(factory.runs.records.log, "r", ADA, "Enough.")
        await factory.runs.resume("r", person="ada")
        testbed.provider.release()
        assert (await factory.delivery()).status == "done"


@pytest.mark.slow
async def test_a_cancelled_run_can_be_resumed(testbed: ModelTestbed, project: Path, kernels: Kernels) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(Fault("slow-first-byte", answer=finish("45")), finish("45."))
        await factory.start()
        await testbed.provider.until(lambda server: server.silent == 1, timeout_seconds=60)
        await factory.runs.cancel("r")
        assert (await factory.runs.records.status("r")).standing == "cancelled"
        with pytest.raises(UserError, match="cancelled already"):
            await steering_commands.pause(factory.runs.records, "r", ADA)
        testbed.provider.release()
        await factory.runs.resume("r", person="ada")
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status) == ("", "done")


@pytest.mark.slow
async def test_a_failed_task_of_an_ended_run_is_retried_in_a_run_that_goes_on_from_there(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(plan(task("one"), task("two", after=["one"])), *[Fault("bad-request")] * 2)
        delivery = await factory.deliver()
        assert delivery.status == "failed"
        assert [each.status for each in delivery.tasks] == ["failed", "planned"]
        testbed.provider.forget()
        factory.script(finish("1"), finish("2"))
        again = await factory.runs.retry("r", "one", person="ada")
        assert again != "r"
        second = await factory.delivery(again)
        assert (second.why, second.status) == ("", "done")
        assert [each.status for each in second.tasks] == ["done", "done"]


@pytest.mark.slow
async def test_a_forked_run_goes_on_from_the_old_ones_steps_and_does_nothing_twice(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(
            plan(task()),
            apply(create("first = 1\nfirst", "first")),
            Fault("slow-first-byte", answer=finish("1")),
        )
        await factory.start()
        await testbed.provider.until(lambda server: server.silent == 1, timeout_seconds=60)
        forked = await factory.runs.fork("r")
        testbed.provider.release()
        delivery = await factory.delivery(forked)
        assert (delivery.why, delivery.status) == ("", "done")
        assert factory.notebook().count("first = 1") == 1
        assert (await factory.runs.records.status("r")).standing == "cancelled"
        memory = testbed.home / "runs" / forked / "desk.json"
        assert [turn.key for turn in changes_in(memory)] == [f"{forked}/agent:2/s1c1"]
