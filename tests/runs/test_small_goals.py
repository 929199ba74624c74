"""One agent for a small goal: it acts at once, computes its answer and is done; or hands in a plan for a larger one."""

import json
from pathlib import Path

import pytest

from cellwright.notebook.files import read
from cellwright.runs.goal.goal import Goal, goal_json, parse_goal
from cellwright.testing import CallTool, Fault
from tests.conftest import notebook_source
from tests.models.testbed import ModelTestbed
from tests.runs.factory import Kernels, apply, at_once, create, finish, open_factory, plan, task

PENGUINS = Path(__file__).parents[2] / "examples" / "data" / "penguins.csv"
CELLS = (
    create("numbers = [1, 2, 3]\ntotal = sum(numbers)\ntotal", "total"),
    create("def test_total():\n    assert total == 6", "check_total"),
)


@pytest.fixture
def sums(project: Path) -> Path:
    (project / "sums.py").write_text(notebook_source("import marimo as mo"))
    return project


async def test_a_plain_question_takes_one_request_and_its_answer_is_computed(
    testbed: ModelTestbed, sums: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, sums, kernels) as factory:
        factory.script(at_once(apply(*CELLS), finish("@total[{total:.2f}] of {numbers[0]} … {numbers[2]}")))
        delivery = await factory.deliver()
        assert (delivery.why, delivery.status) == ("", "done")
        assert delivery.answer == "@total[6.00] of 1 … 3"
        assert [(check.name, check.has_passed) for check in delivery.checks] == [("test_total", True)]
        assert len(factory.prompts()) == 1


@pytest.mark.slow
async def test_a_question_about_one_file_takes_one_request_of_14_000_characters_at_most(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    """With the name of a cell that is taken: that costs no request."""
    cells = (
        create("import pandas as pd", "imports"),
        create("mean = pd.read_csv(penguins_csv)['body_mass_g'].mean()\nmean", "mean of mass"),
        create("def test_mean():\n    assert 3_000 < mean < 6_000", "check_mean"),
    )
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(at_once(apply(*cells), finish("@mean[{mean:.2f}]")))
        asked = "What is the mean body mass in grams? Answer as @mean[x] with two decimals."
        goal = factory.goal(asked, notebook="mass.py", data=(str(PENGUINS),), approve="never")
        delivery = await factory.deliver(goal)
        assert (delivery.why, delivery.status, delivery.answer) == ("", "done", "@mean[4206.65]")
        assert {"imports_2", "mean_of_mass"} <= {cell.name for cell in read(project / "mass.py").document.cells}
        [request] = testbed.provider.requests
        assert len(json.dumps(request.body, separators=(",", ":"), ensure_ascii=False)) <= 14_000


@pytest.mark.slow
async def test_a_plan_that_is_handed_in_instead_is_agreed_to_and_built(
    testbed: ModelTestbed, sums: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, sums, kernels) as factory:
        factory.script(
            plan(task("load"), task("sum", after=["load"]), hosts=["example.org"]),
            at_once(apply(create("numbers = [1, 2, 3]", "numbers")), finish("3 numbers")),
            at_once(apply(create("total = sum(numbers)\ntotal", "total")), finish("They sum to 6.")),
        )
        await factory.start()
        assert "example.org" in await factory.say_yes()
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status, delivery.answer) == ("", "done", "They sum to 6.")
        # Two tasks pay no writer.
        assert [each.id for each in delivery.tasks] == ["load", "sum"]
        assert len(factory.prompts()) == 3


@pytest.mark.slow
async def test_a_report_that_was_asked_for_is_written_by_a_writer_who_knows_the_answers(
    testbed: ModelTestbed, sums: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, sums, kernels) as factory:
        factory.script(at_once(apply(*CELLS), finish("They sum to {total}.")), finish("The report says 6."))
        delivery = await factory.deliver(factory.goal("Sum the numbers and write a report."))
        assert (delivery.status, delivery.answer) == ("done", "The report says 6.")
        told = factory.prompts()[1]
        assert "They sum to 6." in told
        # Neither the sandbox nor what is installed is any of the writer's business.
        assert "runs in a sandbox" in factory.prompts()[0]
        assert "runs in a sandbox" not in told
        assert "Installed: " in factory.prompts()[0]
        assert "Installed: " not in told


@pytest.mark.slow
async def test_after_a_repair_the_answer_is_computed_anew_and_the_repairs_words_are_not_the_answer(
    testbed: ModelTestbed, sums: Path, kernels: Kernels
) -> None:
    chance = create("import random\ntotal = 6\nnoise = random.random()\nnoise", "total")
    mended = {"op": "edit", "cell": "total", "base_version": 1, "code": "total = 7\ntotal"}
    test = create("def test_total():\n    assert total > 5", "check_total")
    async with open_factory(testbed, sums, kernels) as factory:
        factory.script(
            at_once(apply(chance, test), finish("It is {total}.", summary="Added them.")),
            at_once(apply(mended), finish("", summary="The noise is gone now.")),
        )
        delivery = await factory.deliver()
        assert (delivery.why, delivery.status) == ("", "done")
        assert (delivery.answer, delivery.summary) == ("It is 7.", "Added them.")


@pytest.mark.slow
async def test_a_run_of_the_version_before_is_planned_first_and_told_by_a_writer(
    testbed: ModelTestbed, sums: Path, kernels: Kernels
) -> None:
    older = {
        key: value
        for key, value in goal_json(
            Goal(words="Sum", notebook=str(sums / "sums.py"), project=str(sums), person="ada")
        ).items()
        if key != "begins"
    }
    assert parse_goal(older).begins == "planner"
    async with open_factory(testbed, sums, kernels) as factory:
        planned = CallTool("finish", {"title": "The sum", "tasks": [task("sum")]})
        factory.script(planned, finish("6"), finish("They sum to 6."))
        delivery = await factory.deliver(factory.goal(begins="planner"))
        assert (delivery.why, delivery.status, delivery.answer) == ("", "done", "They sum to 6.")
        assert [each.id for each in delivery.tasks] == ["sum", "tell-the-story"]


@pytest.mark.slow
async def test_a_run_whose_only_task_fails_has_failed_and_leaves_no_notebook(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(*[Fault("bad-request")] * 2)
        delivery = await factory.deliver(factory.goal(notebook="new.py", approve="never"))
        assert (delivery.status, delivery.answer, delivery.notebook) == ("failed", "", "")
        assert [each.status for each in delivery.tasks] == ["failed"]
        assert not (project / "new.py").exists()
