"""What a person says to a run at work: pause, go on, another goal, another plan. Kept for good, heard between steps.

Orders stand in a stream of their own beside what is said to agents; agents have no way to write there.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterable, Callable
from dataclasses import dataclass, replace
from typing import Final

import anyio

from cellwright.agents import steering
from cellwright.agents.steering import SteeringInput
from cellwright.errors import UserError
from cellwright.journal.events import Recorded
from cellwright.journal.flow import Flow
from cellwright.journal.names import stream_of
from cellwright.journal.records import Records
from cellwright.policy.approvals import Person
from cellwright.remedies import remedy
from cellwright.runs.events import CardRejected, GoalSet, NewGoal, PlanChanged
from cellwright.runs.plan.plan import ChangeTask, DropTask, PlanEdit, TakeTask, edited
from cellwright.runs.plan.taken_tasks import LOOK_AGAIN, TAKEN
from cellwright.runs.views.run_view import read_view

LONGEST_GOAL: Final = 20_000
_WAKE_TIMEOUT_SECONDS: Final = 5
"""A run that hears its orders asks within milliseconds; one that nobody executes never does."""
_WAKE_INTERVAL_SECONDS: Final = 0.1


SteeringCommand = NewGoal | PlanChanged | CardRejected


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeringBatch:
    """Orders since a number, and the number to listen from next time."""

    orders: tuple[SteeringCommand, ...]
    upto: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeringRead:
    """What a step heard."""

    steered: SteeringInput
    heard: SteeringBatch


async def hear(flow: Flow, steered: SteeringInput, upto: int) -> SteeringRead:
    """What people said to a run since; one recorded step. Waits while it is paused."""

    async def work() -> SteeringRead:
        # What agents were told to hand over for stands among the orders.
        said = await steering.read_steering(flow.read, flow.id, steered, knows_order=sys.maxsize)
        return SteeringRead(steered=said, heard=await read_commands(flow.read, flow.run, upto))

    said = await flow.step("hear", work, returns=SteeringRead)
    if said.steered.pause:
        await flow.ask(steering.pause_question(said.steered.pause))
    return said


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
    order = await records.log.append(_stream(run), NewGoal(words=words, by=person.name))
    goal = (await read_view(records.log.read_all, run)).goal
    if goal is not None:
        # For whoever watches: the run itself goes by its orders.
        await records.log.append(stream_of(run), GoalSet(goal=replace(goal, words=words)))
    await wake(records, run, person)
    # Whoever is at work hands over what there is, so that the new goal is planned for now and not after the old one.
    await steering.hand_over(records.log, run, person, "The goal was changed.", order=order)


async def change_plan(records: Records, run: str, edit: PlanEdit, person: Person) -> None:
    """Change the plan of a run at work. Raises `UserError` if the plan, as it is told so far, does not allow it."""
    await _going(records, run)
    plan = (await read_view(records.log.read_all, run)).plan
    if plan is None:
        raise UserError(
            f"The run {run!r} has no plan yet.", hint=remedy("see_run", lead="Wait until it is made;", run=run)
        )
    edited(plan, edit, person.name)
    order = await records.log.append(_stream(run), PlanChanged(edit=edit, by=person.name))
    await wake(records, run, person)
    if (
        isinstance(edit, DropTask | ChangeTask | TakeTask)
        and (task := plan.find(edit.task))
        and task.status == "running"
    ):
        # Whoever does it stops first, with what there is.
        await steering.hand_over(records.log, run, person, "The task was changed.", order=order)


async def reject_card(records: Records, run: str, card: str, *, by: str) -> None:
    """Have what a run at work writes do without this card. Raises `UserError` if it is over."""
    await _going(records, run)
    rejected = CardRejected(card=card, by=by)
    await records.log.append(_stream(run), rejected)
    # For whoever watches.
    await records.log.append(stream_of(run), rejected)


async def wake(records: Records, run: str, person: Person) -> None:
    """Let a run that waits until a person has done a task look at its orders; one that is about to wait, too."""
    with anyio.move_on_after(_WAKE_TIMEOUT_SECONDS):
        while True:
            grown = records.log.growth.next()
            if await _answer_taken(records, run, person) or not await _is_about_to_wait(records, run):
                return
            with anyio.move_on_after(_WAKE_INTERVAL_SECONDS):
                # What another process tells is not always heard of here.
                await grown.wait()


async def _answer_taken(records: Records, run: str, person: Person) -> bool:
    for question in await records.questions.pending(run):
        if question.question.topic == TAKEN:
            try:
                await records.questions.answer(question.id, LOOK_AGAIN, by=person.name)
            except UserError:
                # Somebody else was quicker: it looks again anyway.
                pass
            return True
    return False


async def _is_about_to_wait(records: Records, run: str) -> bool:
    """Whether it has heard its orders and not yet asked: then its question would come after all answers."""
    plan = (await read_view(records.log.read_all, run)).plan
    return plan is not None and plan.next_task() is None and plan.next_taken() is not None


async def read_commands(read: Callable[[str], AsyncIterable[Recorded]], run: str, after: int) -> SteeringBatch:
    """The orders since; `read` is a flow's, inside a step."""
    orders, upto = list[SteeringCommand](), after
    async for recorded in read(_stream(run)):
        if recorded.sequence > after:
            upto = recorded.sequence
            orders += [recorded.event] if isinstance(recorded.event, SteeringCommand) else []
    return SteeringBatch(orders=tuple(orders), upto=upto)


async def _going(records: Records, run: str) -> None:
    status = await records.status(run)
    if not status.is_going:
        raise UserError(f"The run {run!r} is {status.standing} already.", hint=remedy("see_run", run=run))


def _stream(run: str) -> str:
    return f"orders:{run}"
