"""What a person says to a run at work: pause, go on, another goal, another plan. Kept for good, heard between steps.

Orders stand in a stream of their own beside what is said to agents; agents have no way to write there.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, Callable
from dataclasses import dataclass, replace
from typing import Final, assert_never

from cellwright.agents import steering
from cellwright.errors import UserError
from cellwright.journal import Fact, Recorded, Records, stream_of
from cellwright.policy import Person
from cellwright.remedies import remedy
from cellwright.runs.plan.plan import ChangeTask, DropTask, PlanEdit, edit_json, edited, parse_edit
from cellwright.runs.views.run_view import goal_event, read_plan, read_view

_GOAL: Final = "run-goal"
_PLAN: Final = "run-plan"
LONGEST_GOAL: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewGoal:
    """The goal is another one from here on."""

    words: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChanged:
    """The plan is to be changed."""

    edit: PlanEdit
    by: str


SteeringCommand = NewGoal | PlanChanged


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeringBatch:
    """Orders since a number, and the number to listen from next time."""

    orders: tuple[SteeringCommand, ...]
    upto: int


async def pause(records: Records, run: str, person: Person) -> None:
    """Let a run pause before its next step; `resume` lets it go on. Raises `UserError` if it has ended."""
    await _going(records, run)
    await steering.pause(records.log, run, person)


async def resume(records: Records, run: str, person: Person) -> bool:
    """Let a paused run go on; whether it was paused or about to pause."""
    await _going(records, run)
    await steering.unpause(records.log, run, person)
    paused = [each for each in await records.questions.pending(run) if each.question.topic == steering.PAUSED]
    for question in paused:
        await records.questions.answer(question.id, steering.RESUME, by=person.name)
    return bool(paused)


async def change_goal(records: Records, run: str, words: str, person: Person) -> None:
    """Give a run at work another goal: what is done stays, the rest is planned anew."""
    await _going(records, run)
    if not words.strip() or len(words) > LONGEST_GOAL:
        raise UserError(f"A goal has 1 to {LONGEST_GOAL:,} characters.", hint="Put longer texts in a file.")
    order = await records.log.append(_stream(run), Fact(topic=_GOAL, subject=person.name, text=words))
    goal = (await read_view(records.log.read_all, run)).goal
    if goal is not None:
        # For whoever watches: the run itself goes by its orders.
        await records.log.append(stream_of(run), goal_event(replace(goal, words=words)))
    # Whoever is at work hands over what there is, so that the new goal is planned for now and not after the old one.
    await steering.hand_over(records.log, run, person, "The goal was changed.", order=order)


async def change_plan(records: Records, run: str, edit: PlanEdit, person: Person) -> None:
    """Change the plan of a run at work. Raises `UserError` if the plan, as it is told so far, does not allow it."""
    await _going(records, run)
    plan = await read_plan(records.log.read_all, run)
    if plan is None:
        raise UserError(
            f"The run {run!r} has no plan yet.", hint=remedy("see_run", lead="Wait until it is made;", run=run)
        )
    edited(plan, edit)
    text = json.dumps(edit_json(edit), ensure_ascii=False)
    order = await records.log.append(_stream(run), Fact(topic=_PLAN, subject=person.name, text=text))
    if isinstance(edit, DropTask | ChangeTask) and (task := plan.find(edit.task)) and task.status == "running":
        # Whoever does it stops first, with what there is.
        await steering.hand_over(records.log, run, person, "The task was changed.", order=order)


async def read_commands(read: Callable[[str], AsyncIterable[Recorded]], run: str, after: int) -> SteeringBatch:
    """The orders since; `read` is a flow's, inside a step."""
    orders, upto = list[SteeringCommand](), after
    async for recorded in read(_stream(run)):
        event = recorded.event
        if recorded.sequence <= after or not isinstance(event, Fact):
            continue
        upto = recorded.sequence
        if event.topic == _GOAL:
            orders.append(NewGoal(words=event.text, by=event.subject))
        elif event.topic == _PLAN:
            orders.append(PlanChanged(edit=parse_edit(json.loads(event.text)), by=event.subject))
    return SteeringBatch(orders=tuple(orders), upto=upto)


def describe_command(order: SteeringCommand) -> str:
    """For whoever watches."""
    match order:
        case NewGoal(words=words, by=by):
            return f"{by} changed the goal: {words}"
        case PlanChanged(edit=edit, by=by):
            return f"{by} changed the plan: {edit.op}"
        case _:
            assert_never(order)


async def _going(records: Records, run: str) -> None:
    status = await records.status(run)
    if not status.is_going:
        raise UserError(f"The run {run!r} is {status.standing} already.", hint=remedy("see_run", run=run))


def _stream(run: str) -> str:
    return f"orders:{run}"


__all__ = [
    "NewGoal",
    "PlanChanged",
    "SteeringBatch",
    "SteeringCommand",
    "change_goal",
    "change_plan",
    "describe_command",
    "pause",
    "read_commands",
    "resume",
]
