"""Alternatives a run tried in branches, compared, and a person's decision about them.

A decision accepts one that waits, or drops one or all; it answers the run's own question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from cellwright.errors import UserError
from cellwright.journal.names import stream_of
from cellwright.journal.records import Records
from cellwright.policy.approvals import AnswerRefused, Person
from cellwright.runs.deliver.delivery import ComparedWay, Comparison
from cellwright.runs.plan.plan import Task
from cellwright.runs.views.branch_views import BranchView, BranchViews, branches_asked
from cellwright.runs.views.run_view import ReadStream, read_view
from cellwright.tools.approval.inbox import (
    Inbox,
    InboxItem,
    InboxReply,
    PlainAnswered,
    PlainKind,
    PlainQuestion,
    RecordedAnswer,
)
from cellwright.tools.approval.typed_answers import TypedAnswer
from cellwright.tools.notebook.trial_records import BRANCH_CHOICE, NONE, BranchDropped, TrialRecord


async def read_branch_views(records: Records, run: str) -> BranchViews:
    """What it tried until now."""
    return (await read_view(records.log.read_all, run)).branches


async def open_choices(records: Records, run: str) -> tuple[str, ...]:
    """The questions of a run at which branches wait, oldest first."""
    pending = await records.questions.pending(run)
    return tuple(each.id for each in pending if each.question.topic == BRANCH_CHOICE)


_VARIABLES: Final = 3
_LONGEST: Final = 60
NOT_TRIED: Final = "not tried"
_DROP: Final = "drop"


async def branches_of(read: ReadStream, run: str, agent: str = "") -> tuple[TrialRecord, ...]:
    """Every branch the run, or one of its agents, has tried so far, oldest first."""
    found = [recorded.event async for recorded in read(stream_of(run))]
    return tuple(each for each in found if isinstance(each, TrialRecord) and agent in ("", each.agent))


def compare_alternatives(task: Task, tried: Sequence[TrialRecord]) -> Comparison:
    """The alternatives of a task in one table: best first, as they were ranked last; then those nobody tried."""
    names = [each.name.strip() for each in task.alternatives]
    found: dict[str, TrialRecord] = {}
    for group in reversed(list(dict.fromkeys(each.group for each in tried if each.group))):
        of_group = [each for each in tried if each.group == group and each.purpose.strip() in names]
        found |= {each.purpose.strip(): each for each in of_group if each.purpose.strip() not in found}
    ways = [_compared_row(name, each) for name, each in found.items()]
    missing = [ComparedWay(name=name, status=NOT_TRIED) for name in names if name not in found]
    return Comparison(task=task.title, ways=(*ways, *missing))


def _compared_row(name: str, tried: TrialRecord) -> ComparedWay:
    shown = [f"{each.name} = {each.after[:_LONGEST]}" for each in tried.variables if each.after]
    return ComparedWay(
        name=name,
        status=tried.status,
        checks=f"{tried.checks_passed}/{len(tried.checks)}" if tried.checks else "",
        shows="; ".join(shown[:_VARIABLES]),
        way=tried.way,
        ms=tried.ms,
        is_kept=tried.is_kept,
    )


class NoSuchBranch(UserError):
    """The run has tried no such branch."""


class NotWaiting(UserError):
    """The branch does not wait for anybody, or not any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedBranches:
    """A person's word that counts."""

    run: str
    decision: Literal["accepted", "dropped"]
    branches: tuple[str, ...]
    by: str
    is_settled: bool = True
    """The question is answered and the run goes on; else other branches still wait."""
    says: str

    def json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


class BranchKind(PlainKind):
    """Which branch is kept: one of them, none, or `drop NAME` for a branch that is out of the question."""

    def __init__(self) -> None:
        super().__init__(BRANCH_CHOICE)

    def parse(self, item: InboxItem, typed: TypedAnswer) -> InboxReply:
        """A branch by what it is for, its number or its name."""
        word, _, rest = typed.words.strip().partition(" ")
        if word.lower() == _DROP and typed.words.strip() not in item.offers:
            return f"{_DROP} {self._choice(item, rest)}"
        return self._choice(item, typed.words)

    def _choice(self, item: InboxItem, words: str) -> InboxReply:
        text, choices = words.strip(), {branch: choice for choice, branch in _choices(item).items()}
        ends = [branch for branch in choices if branch.endswith(f"/{text}")] if text else []
        branch = text if text in choices else ends[0] if len(ends) == 1 else None
        return super().parse(item, TypedAnswer(words=text)) if branch is None else choices[branch]

    async def apply(
        self, records: Records, item: InboxItem, reply: InboxReply, person: Person, shown_fingerprint: str
    ) -> RecordedAnswer | AnswerRefused:
        """The choice answers the question; dropping one branch does so only with the last."""
        branch = _choices(item).get(str(reply).removeprefix(f"{_DROP} "))
        if reply in item.offers or branch is None:
            return await super().apply(records, item, reply, person, shown_fingerprint)
        assert isinstance(item.question, PlainQuestion)
        number, run = item.question.id, item.question.run
        view = (await read_branch_views(records, run)).get(branch)
        if view is not None and view.decision:
            message = f"{_name(view)} was {view.decision} by {view.decided_by} already."
            return AnswerRefused(why="already-answered", message=message)
        await records.log.append(stream_of(run), BranchDropped(branch=branch, by=person.name))
        # Read again: somebody else may have dropped the others at the same moment.
        if all(each.decision for each in branches_asked(await read_branch_views(records, run), number)):
            try:
                await records.questions.answer(number, NONE, by=person.name)
            except UserError:
                # Whoever dropped the other last one at the same moment has said it already.
                if (await read_branch_views(records, run))[branch].decision != "dropped":
                    raise
        return PlainAnswered(question=item.question, reply=str(reply), by=person.name, at=datetime.now(UTC))


def _choices(item: InboxItem) -> dict[str, str]:
    """The answers that accept a branch, each with that branch, see `trial_records.choice_question`."""
    body = item.question.body if isinstance(item.question, PlainQuestion) else None
    branches = body.get("branches") if isinstance(body, dict) else None
    return dict(zip(item.offers, map(str, branches), strict=False)) if isinstance(branches, list) else {}


async def accept(inbox: Inbox, run: str, branch: str, person: Person) -> DecidedBranches:
    """Let this branch be kept. Raises `NoSuchBranch`, `NotWaiting`."""
    views, choices = await read_branch_views(inbox.records, run), await open_choices(inbox.records, run)
    view = _waiting(views, choices, branch, run)
    kept = view.tried.branch
    await _answer(inbox, view.question, TypedAnswer(words=kept), person)
    says = f"{_name(view)} is accepted; the run makes it in the notebook."
    return DecidedBranches(run=run, decision="accepted", branches=(kept,), by=person.name, says=says)


async def drop(inbox: Inbox, run: str, branch: str | None, person: Person) -> DecidedBranches:
    """Drop one branch, or everything that waits; with the last one the run goes on. Raises as `accept` does."""
    views, choices = await read_branch_views(inbox.records, run), await open_choices(inbox.records, run)
    left: list[str] = []
    if branch is not None:
        view = _waiting(views, choices, branch, run)
        dropped = [view]
        await _answer(inbox, view.question, TypedAnswer(words=f"{_DROP} {view.tried.branch}"), person)
        asked = branches_asked(await read_branch_views(inbox.records, run), view.question)
        left = [_name(each) for each in asked if not each.decision]
        says = f"{_name(view)} is dropped; nothing is kept, and the run goes on."
        if left:
            says = f"{_name(view)} is dropped; {', '.join(left)} {'waits' if len(left) == 1 else 'wait'} still."
    elif not choices:
        raise NotWaiting(f"No branch of {run!r} waits.", hint="Nothing to do.")
    else:
        dropped = [each for question in choices for each in branches_asked(views, question) if not each.decision]
        for question in choices:
            await _answer(inbox, question, NONE, person)
        says = f"Dropped: {', '.join(map(_name, dropped)) or 'all'}. Nothing is kept, and the run goes on."
    names = tuple(each.tried.branch for each in dropped)
    return DecidedBranches(run=run, decision="dropped", branches=names, by=person.name, is_settled=not left, says=says)


async def _answer(inbox: Inbox, question: str, said: TypedAnswer | str, person: Person) -> None:
    outcome = await inbox.answer(question, said, person)
    if isinstance(outcome, AnswerRefused):
        # Somebody was faster, or the run has ended.
        raise NotWaiting(outcome.message, hint="Nothing to do.")


def _waiting(views: BranchViews, choices: Sequence[str], text: str, run: str) -> BranchView:
    """The branch of this name that a person can decide about now."""
    waiting = [view for view in views.values() if view.state(choices) == "waits"]
    found = _named(waiting, text)
    if len(found) == 1:
        return found[0]
    if len(found) > 1:
        names = ", ".join(view.tried.branch for view in found)
        raise NoSuchBranch(f"Several branches are {text!r}.", hint=f"Name one of: {names}.")
    others = _named(list(views.values()), text)
    hint = f"These wait: {', '.join(_name(view) for view in waiting)}." if waiting else f"No branch of {run!r} waits."
    if not others:
        raise NoSuchBranch(f"The run {run!r} tried no branch {text!r}.", hint=hint)
    view = others[-1]
    why = f"does not wait: it is {view.state(choices).replace('-', ' ')}"
    why = f"was {view.decision} by {view.decided_by} already" if view.decision else why
    raise NotWaiting(f"{_name(view)} {why}.", hint=hint)


def _named(views: Sequence[BranchView], text: str) -> list[BranchView]:
    """By its whole name, by what it is for, or by the end of its name."""
    exact = [view for view in views if view.tried.branch == text]
    meant = [view for view in views if _name(view).casefold() == text.casefold()]
    return exact or meant or [view for view in views if view.tried.branch.endswith(f"/{text}")]


def _name(view: BranchView) -> str:
    return " ".join(view.tried.purpose.split()) or view.tried.branch
