"""Who does what: roles of tasks, hand-offs that are computed, owners of variables, and skills where they fit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cellwright.agents.built_in_skills import built_in_skills, skills_for
from cellwright.agents.role import built_in_roles
from cellwright.ids import CellId
from cellwright.journal.events import CostRecorded, Recorded
from cellwright.notebook.document import Cell, Document
from cellwright.notebook.prompt_summary import estimate_tokens
from cellwright.policy.masking.masker import Masker
from cellwright.runs.events import HandedOff, PlanAdopted, task_event
from cellwright.runs.execute.ownership import cell_owners
from cellwright.runs.plan.brief import plan_tool, task_roles, with_story
from cellwright.runs.plan.handoff_notes import HANDOFF_TOKENS, givers, handed_notes, handoff_text, receivers
from cellwright.runs.plan.handoffs import HandedTest, HandedVariable, HandOff
from cellwright.runs.plan.plan import Plan, Task
from cellwright.runs.views.progress import run_json
from cellwright.runs.views.run_view import RunView, update_view
from cellwright.runs.views.team import TaskWork, team_of
from cellwright.tools.history.timeline import Revision
from cellwright.tools.notebook.cell_changes import CellDiff
from cellwright.tools.tool import ToolError
from tests.conftest import notebook_source
from tests.models.testbed import ModelTestbed
from tests.runs.factory import Kernels, apply, at_once, create, finish, of, open_factory, plan, task

LOAD = Task(id="load", title="Load the orders")
SUM = Task(id="sum", title="Sum them", after=("load",))
PLOT = Task(id="plot", title="Plot them", after=("sum",))
NEEDS = Plan(title="Orders", tasks=(LOAD, SUM, PLOT))
LIST = Plan(title="Orders", tasks=tuple(replace(each, after=()) for each in NEEDS.tasks))
HANDED = HandOff(
    task="load",
    title="Load the orders",
    by="r/agent:2",
    variables=(
        HandedVariable(name="orders", type="pandas.DataFrame", size="120 rows × 3 columns", digest="ab" * 8),
        HandedVariable(name="total", type="float", size="45.5"),
    ),
    tests=(HandedTest(name="test_rows", verdict="passed"),),
    readings=("the year is the calendar year",),
)


# ── roles ──


def test_a_task_may_have_a_builders_role_or_one_of_the_project_and_no_other() -> None:
    own = replace(built_in_roles()["coder"], name="chemist", description="Knows spectra. " * 30)
    known = task_roles(built_in_roles() | {"chemist": own})
    assert [*known] == ["coder", "investigator", "writer", "chemist"]
    assert estimate_tokens(known["chemist"]) <= 20


async def test_a_plan_with_a_role_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    made = plan_tool()
    asked = made.parse({"title": "t", "tasks": [{"id": "a", "title": "A", "role": "statistician"}]})
    assert not isinstance(asked, ToolError)
    refused = await made.run(asked, None)  # pyrefly: ignore[bad-argument-type]  # it is not looked at
    assert isinstance(refused, ToolError)
    assert refused.message == "The task 'a' has the role 'statistician', which there is not."
    assert refused.hint == "Roles: coder, investigator, writer."


def test_roles_cost_the_plan_tool_few_tokens() -> None:
    role = plan_tool().parameters["$defs"]["_Task"]["properties"]["role"]
    assert role["enum"] == ["coder", "investigator", "writer"]
    assert estimate_tokens(json.dumps(role)) <= 70


# ── who gets what ──


def test_what_a_task_made_goes_to_those_that_name_it_and_in_a_mere_list_to_all_after_it() -> None:
    assert receivers(NEEDS, "load") == ("sum",)
    assert receivers(LIST, "load") == ("sum", "plot")
    assert receivers(NEEDS, "plot") == ()
    assert givers(with_story(NEEDS), with_story(NEEDS).tasks[-1]) == ("load", "sum", "plot")
    mend = Task(id="mend-1-1", title="Repair", role="fixer")
    assert givers(LIST.with_task(mend), mend) == ()


def test_nothing_is_handed_to_a_task_that_is_over() -> None:
    assert receivers(NEEDS.with_task(replace(SUM, status="dropped")), "load") == ()


def test_a_handoff_names_variables_tests_and_readings_and_nothing_an_agent_said() -> None:
    assert handoff_text(HANDED) == (
        "load: Load the orders\n"
        "- orders: pandas.DataFrame, 120 rows × 3 columns #abababab\n"
        "- total: float, 45.5\n"
        "tests: test_rows passed\n"
        "read as: the year is the calendar year"
    )


def test_a_handoff_of_hundreds_of_variables_stays_small_and_says_how_many_are_left_out() -> None:
    many = tuple(HandedVariable(name=f"variable_{number}", type="pandas.DataFrame") for number in range(300))
    large = replace(HANDED, variables=many, title="t" * 5_000, words="w" * 5_000)
    text = handoff_text(large)
    assert estimate_tokens(text) <= HANDOFF_TOKENS
    assert text.splitlines()[-1].startswith("… ")
    [note] = handed_notes([large] * 20)
    assert estimate_tokens(note.text) <= 1_200
    assert note.is_data
    assert handed_notes([]) == ()


# ── whose a variable is ──


def test_a_cell_is_of_the_agent_that_changed_it_last_and_nobodys_once_a_person_did() -> None:
    cells = [Cell(id=CellId(name), code=f"{name} = 1", name=name) for name in "abc"]
    again = replace(cells[1], code="b = 2")
    none = {"order_before": (), "order_after": ()}
    revisions = [
        Revision(key="r/agent:1/c1", changes=tuple(CellDiff(before=None, after=each) for each in cells), **none),
        Revision(key="r/agent:2/c1", changes=(CellDiff(before=cells[1], after=again),), **none),
    ]
    typed = replace(cells[2], code="c = 'a person wrote this'")
    owners = cell_owners(revisions, Document(cells=(cells[0], again, typed)))
    assert owners == {"a": "r/agent:1", "b": "r/agent:2"}


# ── skills ──


def test_skills_are_short_and_told_only_where_they_fit() -> None:
    assert [*built_in_skills()] == ["sql", "statistics", "plotting", "debugging"]
    assert max(len(skill.body.splitlines()) for skill in built_in_skills().values()) <= 25
    assert [each.name for each in skills_for("coder", "Join orders with customers, then plot the sums")] == [
        "sql",
        "plotting",
    ]
    assert skills_for("coder", "Load the orders") == ()
    assert [each.name for each in skills_for("fixer", "- test_total failed")] == ["debugging"]
    assert skills_for("writer", "Describe the plot") == ()
    assert skills_for("coder", "Plot it", known={"plotting"}) == ()


# ── the view ──


def test_a_view_knows_each_tasks_role_agents_cost_and_what_was_handed_over() -> None:
    running = replace(LOAD, status="running")
    events = [
        PlanAdopted(plan=NEEDS),
        task_event(running, "r/agent:2"),
        CostRecorded(what="m", microdollars=7, input_tokens=100, output_tokens=20, workflow="r/agent:2"),
        CostRecorded(what="m", microdollars=9, input_tokens=1, output_tokens=1, workflow="r/agent:20"),
        task_event(replace(LOAD, status="done")),
        HandedOff(handed=HANDED, to=("sum",)),
    ]
    view = RunView(run="r")
    for number, event in enumerate(events, 1):
        view = update_view(view, Recorded(stream="run:r", sequence=number, at_ms=number, link="", event=event))
    load, sums, _ = team_of(view)
    assert load == TaskWork(
        task="load",
        role="coder",
        taken_by="",
        agents=("r/agent:2",),
        tokens=120,
        microdollars=7,
        gets_from=(),
        hands_over=HANDED,
        hands_to=("sum",),
    )
    assert (sums.agents, sums.tokens, sums.gets_from) == ((), 0, ("load",))


# ── runs ──


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "sums.py").write_text(notebook_source("import marimo as mo"))
    return folder


FIRST = at_once(
    apply(
        create("values = [1, 2, 9]", "values_made"),
        create("def test_values():\n    assert len(values) == 3", "check_values"),
    ),
    finish("There are {values}."),
)


@pytest.mark.slow
async def test_what_a_task_made_reaches_the_next_as_the_notebook_has_it_and_each_is_told_with_its_cost(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(
            plan(task("load"), task("look", after=["load"], role="investigator")),
            FIRST,
            finish("Three values."),
        )
        delivery = await factory.deliver()
        assert (delivery.why, delivery.status) == ("", "done")
        told = factory.prompts()[-1]
        assert "handed over to you" in told
        assert "- values: list, 3 items" in told
        assert "tests: test_values passed" in told
        assert "You find something out" in told
        shown = await run_json(factory.runs.records, Masker.of(salt=b"s" * 16), "r")
        load, look = shown["team"]
        assert (load["role"], look["role"]) == ("coder", "investigator")
        assert (load["agents"], look["agents"]) == (("r/agent:2",), ("r/agent:3",))
        assert load["tokens"] > 0 < look["tokens"]
        assert (load["hands_to"], look["gets_from"]) == (("look",), ("load",))
        [values] = load["hands_over"]["variables"]
        assert (values["name"], values["cell"], len(values["digest"])) == ("values", "values_made", 16)


@pytest.mark.slow
async def test_whoever_changes_a_cell_of_another_task_is_told_whose_it_is_and_a_single_agent_never(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        change = {"op": "edit", "cell": "values_made", "base_version": 1, "code": "values = [1, 2, 9, 10][1:]"}
        factory.script(plan(task("load"), task("cut", after=["load"])), FIRST, apply(change), finish("Cut."))
        delivery = await factory.deliver()
        assert (delivery.why, delivery.status) == ("", "done")
        told = factory.prompts()[-1]
        assert "(Do load), not by yours." in told
        assert "not by yours" not in "".join(factory.prompts()[:-1])


@pytest.mark.slow
async def test_a_skill_is_listed_for_the_task_it_fits_in_a_plan_and_for_no_single_agent(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.testbed.provider.when(of("Your task: Do load"), FIRST)
        factory.testbed.provider.when(of("Your task: Plot"), finish("Plotted."))
        factory.script(plan(task("load"), task("draw", title="Plot the values", after=["load"])))
        await factory.deliver(factory.goal("Plot the numbers."))
        first, load, draw = (str(each.body) for each in testbed.provider.requests)
        assert "- plotting: Charts" in draw
        assert "read_skill" in draw
        assert "- plotting: Charts" not in first + load


@pytest.mark.slow
async def test_a_task_a_person_adds_with_a_role_that_there_is_not_fails_and_the_others_are_done(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(finish("Done."))
        given = Plan(title="t", tasks=(Task(id="a", title="A", role="wizard"), Task(id="b", title="B")))
        delivery = await factory.deliver(factory.goal(plan=given))
        assert [(each.id, each.status) for each in delivery.tasks] == [("a", "failed"), ("b", "done")]
        assert "No role 'wizard'. Known: coder," in delivery.why
