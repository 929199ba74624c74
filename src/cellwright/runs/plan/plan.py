"""The plan of a run: what is to be delivered, tasks as a graph, and how one sees that they are right. All pure.

A person may change it while it is carried out: every change is a value, applied between two tasks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, assert_never

from pydantic import Field, TypeAdapter, ValidationError

from cellwright.errors import UserError

TaskStatus = Literal["planned", "running", "done", "failed", "dropped"]
_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}", flags=re.ASCII)
_TEST: Final = re.compile(r"test_[^\WA-Z]{1,100}")
MOST_TASKS: Final = 20
MOST_ALTERNATIVES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that must hold in the end; a test of this name in the notebook shows it."""

    test: str
    """`test_…`, the name of a test function in the notebook."""
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """One of several ways, or one of several things that may be so; tried in a branch and compared with the others."""

    name: str
    """A few words that tell it from the others."""
    todo: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One piece of work with one result."""

    id: str
    title: str
    todo: str = ""
    """What to do, in words, for whoever does it."""
    after: tuple[str, ...] = ()
    """Tasks it needs."""
    checks: tuple[Check, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    """None, or two to five: each is built in a branch, and one table compares them."""
    person_decides: bool = False
    """Which of the alternatives is kept, a person says; else their checks do."""
    role: str = "coder"
    taken_by: str = ""
    """The person who does it themselves, or did; empty: an agent."""
    status: TaskStatus = "planned"
    note: str = ""
    """What came of it."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more is done about it."""
        return self.status in {"done", "failed", "dropped"}

    @property
    def is_waited_for(self) -> bool:
        """Whether a person has it and has not handed it back."""
        return bool(self.taken_by) and not self.is_over


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEnd:
    """What a task has become."""

    status: TaskStatus
    """`planned`: it is to be built again, after the others."""
    note: str = ""
    checks: tuple[Check, ...] = ()
    """Those that were written for it, where they are others than it had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What will be done, and what for."""

    title: str
    deliverable: str = ""
    tasks: tuple[Task, ...] = ()
    assumptions: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    """It will fetch from these, `host` or `host:port`."""
    packages: tuple[str, ...] = ()
    """It will install these."""

    def find(self, task: str) -> Task | None:
        """The task of this id."""
        return next((each for each in self.tasks if each.id == task), None)

    def next_task(self) -> Task | None:
        """The first that is planned and needs nothing that is not done; dropped ones are not waited for."""
        return next(iter(self.ready_tasks()), None)

    def ready_tasks(self) -> tuple[Task, ...]:
        """All of those."""
        settled = {task.id for task in self.tasks if task.status in {"done", "dropped"}}
        return tuple(
            task
            for task in self.tasks
            if task.status in {"planned", "running"} and not task.taken_by and set(task.after) <= settled
        )

    def next_taken(self) -> Task | None:
        """The first that a person has and that needs nothing that is not over, or simply the first."""
        taken = [task for task in self.tasks if task.is_waited_for]
        over = {task.id for task in self.tasks if task.is_over}
        return next((task for task in taken if set(task.after) <= over), taken[0] if taken else None)

    def checks(self) -> tuple[Check, ...]:
        """Of all tasks that were not dropped."""
        return tuple(check for task in self.tasks if task.status != "dropped" for check in task.checks)

    def with_task(self, task: Task) -> Plan:
        """With the task of the same id replaced, or one more."""
        if self.find(task.id) is None:
            return replace(self, tasks=(*self.tasks, task))
        return replace(self, tasks=tuple(task if each.id == task.id else each for each in self.tasks))


# ── a person's changes ──


@dataclass(frozen=True, slots=True, kw_only=True)
class AddTask:
    """One more task."""

    op: Literal["add"] = "add"
    task: Task


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeTask:
    """Another title or another work; only of a task that is not over."""

    op: Literal["change"] = "change"
    task: str
    title: str = ""
    todo: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTask:
    """Do without it. One that is being done stops."""

    op: Literal["drop"] = "drop"
    task: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryTask:
    """Do it again."""

    op: Literal["retry"] = "retry"
    task: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeTask:
    """Whoever says this does it themselves. An agent that is at it stops."""

    op: Literal["take"] = "take"
    task: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HandBackTask:
    """A task that a person took is done, or an agent is to do it after all."""

    op: Literal["hand-back"] = "hand-back"
    task: str
    is_done: bool
    words: str = ""
    """What came of it; for an agent, what it should know."""


PlanEdit = Annotated[AddTask | ChangeTask | DropTask | RetryTask | TakeTask | HandBackTask, Field(discriminator="op")]
_EDIT: Final[TypeAdapter[PlanEdit]] = TypeAdapter(PlanEdit)
_PLAN: Final = TypeAdapter(Plan)
_OPS: Final = "add, change, drop, retry, take or hand-back."


def edited(plan: Plan, edit: PlanEdit, by: str = "") -> Plan:
    """The plan after a change by this person. Raises `UserError` if it cannot be made."""
    match edit:
        case AddTask(task=task):
            if plan.find(task.id) is not None:
                raise UserError(f"There is a task {task.id!r}.", hint="Give the new one another id.")
            return checked(plan.with_task(replace(task, status="planned", note="", taken_by="")))
        case ChangeTask():
            task = _known(plan, edit.task)
            if task.is_over:
                raise UserError(f"The task {task.id!r} is {task.status} already.", hint="Retry it, or add another.")
            return plan.with_task(replace(task, title=edit.title or task.title, todo=edit.todo or task.todo))
        case DropTask():
            return plan.with_task(replace(_known(plan, edit.task), status="dropped", note="dropped by a person"))
        case RetryTask():
            return plan.with_task(replace(_known(plan, edit.task), status="planned", note="", taken_by=""))
        case TakeTask():
            return plan.with_task(_taken(_known(plan, edit.task), by or "a person"))
        case HandBackTask():
            return plan.with_task(_handed_back(_known(plan, edit.task), edit))
        case _:
            assert_never(edit)


def edited_late(plan: Plan, edit: PlanEdit, by: str = "") -> Plan:
    """The same for a change that was possible when it was asked for; if it no longer is, the plan as it was."""
    try:
        return edited(plan, edit, by)
    except UserError:
        return plan


def _taken(task: Task, by: str) -> Task:
    if task.is_over:
        raise UserError(f"The task {task.id!r} is {task.status} already.", hint="Retry it, or add another.")
    if task.taken_by and task.taken_by != by:
        raise UserError(f"{task.taken_by} does the task {task.id!r} already.", hint="They can hand it back.")
    return replace(task, status="planned", note="", taken_by=by)


def _handed_back(task: Task, edit: HandBackTask) -> Task:
    if not task.is_waited_for:
        raise UserError(
            f"Nobody has taken the task {task.id!r}.", hint="Only a task that a person took is handed back."
        )
    words = edit.words.strip()
    if edit.is_done:
        return replace(task, status="done", note=words or f"Done by {task.taken_by}.")
    said = f"{task.taken_by}, who had taken it, says: {words}" if words else ""
    return replace(task, status="planned", note="", taken_by="", todo="\n".join(filter(None, [task.todo, said])))


def _known(plan: Plan, task: str) -> Task:
    found = plan.find(task)
    if found is None:
        known = ", ".join(each.id for each in plan.tasks) or "none"
        raise UserError(f"No task {task!r}.", hint=f"Tasks: {known}.")
    return found


def checked(plan: Plan) -> Plan:
    """The plan, if it can be carried out. Raises `UserError` saying what is wrong."""
    if not plan.tasks or len(plan.tasks) > MOST_TASKS:
        raise UserError(f"A plan has 1 to {MOST_TASKS} tasks, not {len(plan.tasks)}.")
    ids = [task.id for task in plan.tasks]
    for task in plan.tasks:
        if _NAME.fullmatch(task.id) is None:
            raise UserError(f"{task.id!r} is no id for a task.", hint="Small letters, digits and dashes.")
        if missing := set(task.after) - set(ids):
            raise UserError(f"The task {task.id!r} comes after {sorted(missing)[0]!r}, which is not there.")
        for check in task.checks:
            if _TEST.fullmatch(check.test) is None:
                raise UserError(f"{check.test!r} is no name for a test.", hint="`test_` and small letters.")
        _check_alternatives(task)
    if len(set(ids)) < len(ids):
        raise UserError("Two tasks have the same id.")
    tests = [check.test for check in plan.checks()]
    if len(set(tests)) < len(tests):
        raise UserError("Two checks have the same test.")
    _in_order(plan.tasks)
    return plan


def _check_alternatives(task: Task) -> None:
    names = [each.name.strip() for each in task.alternatives]
    if names and not 2 <= len(names) <= MOST_ALTERNATIVES:
        raise UserError(
            f"The task {task.id!r} has {len(names)} alternatives.", hint=f"None, or 2 to {MOST_ALTERNATIVES}."
        )
    if not all(names) or len(set(names)) < len(names):
        raise UserError(f"The alternatives of the task {task.id!r} need different names.")


def _in_order(tasks: Sequence[Task]) -> None:
    done, left = set[str](), list(tasks)
    while ready := [task for task in left if set(task.after) <= done]:
        done |= {task.id for task in ready}
        left = [task for task in left if task.id not in done]
    if left:
        raise UserError(f"These tasks wait for each other: {', '.join(task.id for task in left)}.")


# ── as JSON ──


def plan_json(plan: Plan) -> Any:
    """As plain values."""
    return _PLAN.dump_python(plan, mode="json")


def parse_plan(value: Any) -> Plan:
    """The plan of such values. Raises `UserError`."""
    try:
        return _PLAN.validate_python(value)
    except ValidationError as error:
        raise UserError(f"No plan: {first_mistake(error)}.") from error


def parse_edit(value: Any) -> PlanEdit:
    """The change of such values. Raises `UserError`."""
    try:
        return _EDIT.validate_python(value)
    except ValidationError as error:
        raise UserError(f"No change of a plan: {first_mistake(error)}.", hint=_OPS) from error


def first_mistake(error: ValidationError) -> str:
    """Where and what, of the first of them."""
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
