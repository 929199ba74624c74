"""The brief: from a goal to a plan that can be checked. Made by a planner in, most often, one answer of its model."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from cellwright.agents.assignment import AgentReport, Note
from cellwright.errors import UserError
from cellwright.runs.plan.plan import (
    MOST_ALTERNATIVES,
    MOST_TASKS,
    Plan,
    Task,
    checked,
    parse_plan,
    plan_json,
)
from cellwright.tools.tool import Done, Tool, ToolError, ToolResult, tool

ROLE: Final = "planner"
STORY_TASK: Final = "tell-the-story"
"""The id of the task that makes the notebook readable; ours, after all others."""
_STORY: Final = (
    "Make the notebook one that people want to read: a title and the answer first, then reasoning as markdown, one "
    "idea per cell, every cell named, plots with titles and units, caveats last. Change no code that computes. "
    "Finish with the answer in one paragraph."
)


_ASKED: Final = ' and keep="ask", for which of them is kept the person decides'


class _PlanPart(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Check(_PlanPart):
    """Something that must hold in the end, shown by a test in the notebook."""

    test: Annotated[str, Field(description="Name of the test function: test_ and small letters.")]
    says: Annotated[str, Field(description="What holds, in one sentence.")]


class _Alternative(_PlanPart):
    """One of several ways, or one of several things that may be so."""

    name: Annotated[str, Field(description="A few words that tell it from the others.", max_length=60)]
    todo: str = ""


class _Task(_PlanPart):
    """One piece of work with one result."""

    id: Annotated[str, Field(description="Short: small letters, digits, dashes.")]
    title: str
    todo: Annotated[str, Field(description="What to do, with the names of files and columns you saw.")] = ""
    after: Annotated[
        list[str], Field(description="Ids of tasks it needs. The others may be built at the same time.")
    ] = []
    checks: list[_Check] = []
    alternatives: Annotated[
        list[_Alternative],
        Field(max_length=MOST_ALTERNATIVES, description="2 to 5 ways or hypotheses to be tried and compared; or none."),
    ] = []
    person_decides: Annotated[
        bool, Field(description="Which alternative is kept is a matter of taste or risk: the person is asked.")
    ] = False


_TASKS: Final = TypeAdapter(tuple[Task, ...])


def plan_finish() -> Tool:
    """The planner's own way to finish: with a plan."""

    @tool()
    async def finish(
        title: Annotated[str, Field(description="The notebook's title.", min_length=1, max_length=200)],
        tasks: Annotated[list[_Task], Field(min_length=1, max_length=MOST_TASKS)],
        deliverable: Annotated[str, Field(description="What the person will hold in their hands.")] = "",
        assumptions: Annotated[list[str], Field(description="What you take for granted.")] = [],  # noqa: B006
        hosts: Annotated[list[str], Field(description="Hosts the code will fetch from, `host` or `host:port`.")] = [],  # noqa: B006
        packages: Annotated[list[str], Field(description="Packages that must be installed.")] = [],  # noqa: B006
    ) -> ToolResult:
        """Hand in the plan. Others carry it out; nothing comes after this."""
        drafted = [each.model_dump() for each in tasks]
        for each in drafted:
            each["person_decides"] = each["person_decides"] and bool(each["alternatives"])
        plan = Plan(title=title, deliverable=deliverable, tasks=_TASKS.validate_python(drafted))
        plan = replace(plan, assumptions=tuple(assumptions), hosts=tuple(hosts), packages=tuple(packages))
        try:
            checked(plan)
        except UserError as problem:
            return ToolError(kind="bad-arguments", message=problem.message, hint=problem.hint)
        return Done(text="Planned.", value={"summary": title, "answer": json.dumps(plan_json(plan))}, ends=True)

    return finish


def plan_of(report: AgentReport, goal: str) -> Plan:
    """The plan a planner handed in, and the story at its end. Words instead of a plan are one task."""
    try:
        plan = parse_plan(json.loads(report.answer))
    except (UserError, ValueError):
        only = Task(id="answer", title=goal[:120], todo=goal)
        plan = Plan(title=goal[:120], tasks=(only,), assumptions=("The planner made no plan of tasks.",))
    return with_story(plan)


def with_story(plan: Plan) -> Plan:
    """The plan with the telling at its end, once."""
    others = tuple(task for task in plan.tasks if task.id != STORY_TASK)
    story = Task(
        id=STORY_TASK,
        title="Make it readable",
        todo=_STORY,
        after=tuple(task.id for task in others if task.status != "failed"),
        role="writer",
    )
    return replace(plan, tasks=(*others, story))


def work_so_far(plan: Plan) -> Note:
    """What was done for the goal before, for whoever plans anew."""
    lines = [f"- {task.title}: {task.status}. {task.note}".rstrip() for task in plan.tasks]
    return Note(name="done so far", text="\n".join(lines), is_data=True)


def overview(plan: Plan, current: Task) -> str:
    """The plan as whoever does one of its tasks reads it."""
    lines = [f"{'→' if task.id == current.id else '-'} {task.id}: {task.title} ({task.status})" for task in plan.tasks]
    lines += [f"Assumed: {each}" for each in plan.assumptions]
    return "\n".join([plan.title, *lines])


def work_text(goal: str, task: Task) -> str:
    """What one agent is to do."""
    lines = [f"The whole goal: {goal}", "", f"Your task: {task.title}"]
    lines += [task.todo] if task.todo and task.todo != task.title else []
    if task.checks:
        lines += ["", "For each of these, write a test in the notebook: a cell with only a function of this name that "]
        lines[-1] += "takes the variables it checks as they are, and asserts."
        lines += [f"- `{check.test}`: {check.says}" for check in task.checks]
    if task.alternatives:
        lines += [
            "",
            "Compare these in one call of `try_alternatives`, each a candidate of exactly this name, with the ",
        ]
        lines[-1] += "same checks for all" + (_ASKED if task.person_decides else "")
        lines[-1] += "; say in the answer what the table shows:"
        lines += [f"- {each.name}{f': {each.todo}' if each.todo else ''}" for each in task.alternatives]
    return "\n".join(lines)
