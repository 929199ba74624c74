"""A person's word about branches that wait: accept one, or drop one or all. It answers the run's own question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cellwright.errors import UserError
from cellwright.journal import Records, stream_of
from cellwright.policy import Person
from cellwright.runs.tried_branches import Lane, Lanes, open_choices, read_lanes
from cellwright.tools.branch_choice import NONE, choices_of, dropped_told


class NoSuchBranch(UserError):
    """The run has tried no such branch."""


class NotWaiting(UserError):
    """The branch does not wait for anybody, or not any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A person's word that counts."""

    run: str
    decision: Literal["accepted", "dropped"]
    branches: tuple[str, ...]
    by: str
    is_settled: bool
    """The question is answered and the run goes on; else other branches still wait."""
    says: str

    def json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "run": self.run,
            "decision": self.decision,
            "branches": list(self.branches),
            "by": self.by,
            "is_settled": self.is_settled,
            "says": self.says,
        }


async def accept(records: Records, run: str, branch: str, person: Person) -> Decided:
    """Let this branch be kept. Raises `NoSuchBranch`, `NotWaiting`."""
    lanes, choices = await read_lanes(records, run), await open_choices(records, run)
    lane = _waiting(lanes, choices, branch, run)
    answers = choices_of([each.tried for each in lanes.asked(lane.question)])
    answer = next(answer for answer, known in answers.items() if known == lane.tried.branch)
    await _answer(records, lane.question, answer, person)
    says = f"{_name(lane)} is accepted; the run makes it in the notebook."
    return _decided(run, "accepted", [lane], person, says)


async def drop(records: Records, run: str, branch: str | None, person: Person) -> Decided:
    """Drop one branch, or everything that waits; with the last one the run goes on. Raises as `accept` does."""
    lanes, choices = await read_lanes(records, run), await open_choices(records, run)
    if branch is None:
        return await _drop_all(records, run, lanes, choices, person)
    lane = _waiting(lanes, choices, branch, run)
    await records.log.append(stream_of(run), dropped_told(lane.tried.branch, person.name))
    # Read again: somebody else may have dropped the others at the same moment.
    left = [each for each in (await read_lanes(records, run)).asked(lane.question) if not each.decision]
    if left:
        names = ", ".join(_name(each) for each in left)
        says = f"{_name(lane)} is dropped; {names} {'waits' if len(left) == 1 else 'wait'} still."
        return _decided(run, "dropped", [lane], person, says, is_settled=False)
    try:
        await _answer(records, lane.question, NONE, person)
    except NotWaiting:
        # Whoever dropped the other last one at the same moment has said it already.
        if (await read_lanes(records, run)).by_branch[lane.tried.branch].decision != "dropped":
            raise
    return _decided(run, "dropped", [lane], person, f"{_name(lane)} is dropped; nothing is kept, and the run goes on.")


async def _drop_all(records: Records, run: str, lanes: Lanes, choices: Sequence[str], person: Person) -> Decided:
    if not choices:
        raise NotWaiting(f"No branch of {run!r} waits.", hint="Nothing to do.")
    dropped = [lane for question in choices for lane in lanes.asked(question) if not lane.decision]
    for question in choices:
        await _answer(records, question, NONE, person)
    names = ", ".join(_name(lane) for lane in dropped)
    says = f"Dropped: {names or 'all'}. Nothing is kept, and the run goes on."
    return _decided(run, "dropped", dropped, person, says)


async def _answer(records: Records, question: str, answer: str, person: Person) -> None:
    try:
        await records.questions.answer(question, answer, by=person.name)
    except UserError as problem:
        # Somebody was faster, or the run has ended.
        raise NotWaiting(problem.message, hint=problem.hint) from problem


def _waiting(lanes: Lanes, choices: Sequence[str], text: str, run: str) -> Lane:
    """The lane of this name that a person can decide about now."""
    waiting = [lane for lane in lanes.lanes if lane.state(choices) == "waits"]
    found = _named(waiting, text)
    if len(found) == 1:
        return found[0]
    if len(found) > 1:
        names = ", ".join(lane.tried.branch for lane in found)
        raise NoSuchBranch(f"Several branches are {text!r}.", hint=f"Name one of: {names}.")
    others = _named(lanes.lanes, text)
    hint = f"These wait: {', '.join(_name(lane) for lane in waiting)}." if waiting else f"No branch of {run!r} waits."
    if not others:
        raise NoSuchBranch(f"The run {run!r} tried no branch {text!r}.", hint=hint)
    lane = others[-1]
    state = lane.state(choices)
    if lane.decision:
        raise NotWaiting(f"{_name(lane)} was {lane.decision} by {lane.decided_by} already.", hint=hint)
    raise NotWaiting(f"{_name(lane)} does not wait: it is {state.replace('-', ' ')}.", hint=hint)


def _named(lanes: Sequence[Lane], text: str) -> list[Lane]:
    """By its whole name, by what it is for, or by the end of its name."""
    exact = [lane for lane in lanes if lane.tried.branch == text]
    meant = [lane for lane in lanes if _name(lane).casefold() == text.casefold()]
    return exact or meant or [lane for lane in lanes if lane.tried.branch.endswith(f"/{text}")]


def _name(lane: Lane) -> str:
    return " ".join(lane.tried.purpose.split()) or lane.tried.branch


def _decided(
    run: str,
    decision: Literal["accepted", "dropped"],
    lanes: Sequence[Lane],
    person: Person,
    says: str,
    *,
    is_settled: bool = True,
) -> Decided:
    return Decided(
        run=run,
        decision=decision,
        branches=tuple(lane.tried.branch for lane in lanes),
        by=person.name,
        is_settled=is_settled,
        says=says,
    )
