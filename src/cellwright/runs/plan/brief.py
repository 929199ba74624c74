"""The brief: what the agents of a run are told to do. A small goal is one task, done by whoever reads it first; that
agent may hand in a plan instead, of tasks that can be checked.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from cellwright.agents.assignment import AgentReport, Note
from cellwright.agents.role import Role, built_in_roles
from cellwright.errors import UserError
from cellwright.notebook.prompt_summary import clip
from cellwright.runs.goal.goal import Goal
from cellwright.runs.plan.plan import (
    MOST_ALTERNATIVES,
    MOST_TASKS,
    Plan,
    Task,
    checked,
    parse_plan,
    plan_json,
)
from cellwright.tools.tool import CallContext, Done, Tool, ToolError, ToolResult, tool

ROLE: Final = "planner"
"""Whoever planned first, in runs of the version before."""
WHOLE: Final = "answer"
"""The id of the task that is the whole goal."""
STORY_TASK: Final = "tell-the-story"
"""The id of the task that makes the notebook readable; ours, after all others."""
_STORY: Final = (
    "Make the notebook one that people want to read: a title and the answer first, then reasoning as markdown, one "
    "idea per cell, every cell named, plots with titles and units, caveats last. Change no code that computes. "
    "Finish with the answer in one paragraph."
)


DOCUMENTER: Final = "documenter"
_DOCUMENT: Final = (
    "Make this notebook one that people can read: names for cells, a title, markdown that says what each part does and "
    "what its results say, docstrings. Code that computes stays as it is."
)


_REPORT: Final = re.compile(
    r"\b(an?|the|one|your)(\W+[\w-]+){0,3}?\W+(report|write[- ]?up|memo|presentation|summary document)\b"
    r"|\bwrite (an?|the) (article|essay)\b|\bslides\b|\breport on\b",
    flags=re.IGNORECASE,
)
"""A report that is wanted, not reports that are counted."""
_STORY_TASKS: Final = 3
"""A plan of so many tasks gets a writer: several agents made it."""
CODER: Final = "coder"
_TASK_ROLES: Final = {CODER: "", "investigator": "finds out, leaves no cells", "writer": "words only"}
"""Of ours, those that a task may have. Reviewers, testers and fixers come by themselves."""
_ROLE_TOKENS: Final = 20
_ASKED: Final = ' and keep="ask", for which of them is kept the person decides'


class _PlanPart(BaseModel):
    # Without docstrings below: they would be told in every request.
    model_config = ConfigDict(extra="forbid")


class _Check(_PlanPart):
    test: Annotated[str, Field(description="test_…, a function's name.")]
    says: Annotated[str, Field(description="What holds.")]


class _Alternative(_PlanPart):
    name: Annotated[str, Field(description="A few words.", max_length=60)]
    todo: str = ""


class _Task(_PlanPart):
    id: Annotated[str, Field(description="Small letters, digits, dashes.")]
    title: str
    todo: Annotated[str, Field(description="With the names of files and columns.")] = ""
    after: Annotated[list[str], Field(description="Ids of tasks it needs.")] = []
    checks: list[_Check] = []
    alternatives: Annotated[
        list[_Alternative],
        Field(max_length=MOST_ALTERNATIVES, description="2 to 5 ways to be tried and compared; or none."),
    ] = []
    person_decides: Annotated[bool, Field(description="Ask the person which alternative is kept.")] = False
    role: str = CODER


_TASKS: Final = TypeAdapter(tuple[Task, ...])


def plan_finish() -> Tool:
    """The planner's own way to finish: with a plan. Of runs of the version before."""
    made = plan_tool()

    async def run(parsed: Any, calling: CallContext) -> ToolResult:
        done = await made.run(parsed, calling)
        if not isinstance(done, Done) or not isinstance(done.value, dict):
            return done
        return replace(done, value={"summary": done.value["summary"], "answer": json.dumps(done.value["plan"])})

    return replace(made, name="finish", run=run)


def task_roles(roles: Mapping[str, Role]) -> dict[str, str]:
    """The roles a task of a plan may have, each with what it is for: some of ours, and all that a project brings."""
    ours = built_in_roles()
    own = {name: clip(role.description, _ROLE_TOKENS) for name, role in roles.items() if name not in ours}
    return {name: words for name, words in _TASK_ROLES.items() if name in roles} | own


def plan_tool(roles: Mapping[str, Role] | None = None) -> Tool:
    """The way to hand in a plan instead of doing all of it at once; `roles` are those there are."""
    known = task_roles(built_in_roles() if roles is None else roles)

    @tool()
    async def plan(
        title: Annotated[str, Field(min_length=1, max_length=200)],
        tasks: Annotated[list[_Task], Field(min_length=1, max_length=MOST_TASKS)],
        deliverable: Annotated[str, Field(description="What the person gets.")] = "",
        assumptions: Annotated[list[str], Field(description="What you take for granted.")] = [],  # noqa: B006
        hosts: Annotated[list[str], Field(description="That the code will fetch from.")] = [],  # noqa: B006
        packages: Annotated[list[str], Field(description="To be installed.")] = [],  # noqa: B006
    ) -> ToolResult:
        """Have the goal done as several tasks, each by an agent of its own; nothing comes after this.

        Only for a goal with several results, with parts that can be built at the same time, or that needs hosts,
        packages or files beyond what was given. All else is done at once, with `apply`.
        """
        for each in tasks:
            if each.role not in known:
                message = f"The task {each.id!r} has the role {each.role!r}, which there is not."
                return ToolError(kind="bad-arguments", message=message, hint=f"Roles: {', '.join(known)}.")
        drafted = [each.model_dump() for each in tasks]
        for each in drafted:
            each["person_decides"] = each["person_decides"] and bool(each["alternatives"])
        made = Plan(title=title, deliverable=deliverable, tasks=_TASKS.validate_python(drafted))
        made = replace(made, assumptions=tuple(assumptions), hosts=tuple(hosts), packages=tuple(packages))
        try:
            checked(made)
        except UserError as problem:
            return ToolError(kind="bad-arguments", message=problem.message, hint=problem.hint)
        return Done(text="Planned.", value={"summary": title, "answer": "", "plan": plan_json(made)}, ends=True)

    return _with_roles(plan, known)


def _with_roles(made: Tool, known: Mapping[str, str]) -> Tool:
    """Its schema names the roles, and what those are for that do not speak for themselves."""
    parameters = copy.deepcopy(made.parameters)
    role = parameters["$defs"]["_Task"]["properties"]["role"]
    role |= {"enum": [*known], "description": "; ".join(f"{name}: {words}" for name, words in known.items() if words)}
    return replace(made, parameters=parameters)


def whole_goal(words: str) -> Plan:
    """The goal as one task; and a writer's, where a report is asked for."""
    plan = Plan(title=words[:120], tasks=(Task(id=WHOLE, title="Answer"),))
    return with_story(plan) if _REPORT.search(words) else plan


def of_notebook(goal: Goal, *, has_model: bool) -> Plan:
    """The plan for a notebook that is there: nothing to build for one that is looked over, or documented by code."""
    if goal.wants == "document" and has_model:
        task = Task(id="document", title="Document it", todo=_DOCUMENT, role=DOCUMENTER)
        return Plan(title=goal.words[:120], tasks=(task,))
    return Plan(title=goal.words[:120])


def handed_in(plan: object, words: str) -> Plan:
    """The plan an agent handed in, with a writer at its end where that pays."""
    made = parse_plan(plan)
    return with_story(made) if len(made.tasks) >= _STORY_TASKS or _REPORT.search(words) else made


def answers_so_far(plan: Plan, readings: Sequence[str] = ()) -> Note:
    """What the tasks came to and how the goal was read, for whoever writes about it."""
    lines = [f"- {task.title}: {task.note}" for task in plan.tasks if task.status == "done" and task.note]
    lines += [f"- read as: {each}" for each in readings]
    return Note(name="answers of the tasks", text="\n".join(lines), is_data=True)


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
    if task.id == WHOLE:
        return goal
    lines = [f"The whole goal: {goal}", "", f"Your task: {task.title}"]
    lines += [task.todo] if task.todo and task.todo != task.title else []
    if task.checks:
        lines += [
            "",
            "For each of these, write a test in the notebook: a cell with only a function of this name, without ",
        ]
        lines[-1] += "parameters, that reads the notebook's variables and asserts."
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
