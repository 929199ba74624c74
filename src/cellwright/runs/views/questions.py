"""The inbox of runs with the kinds of questions only they ask; questions, answers and grants as plain JSON values."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from cellwright.journal.questions import OpenQuestion
from cellwright.journal.records import Records
from cellwright.policy.approvals import AnswerRefused, Grant, No, Person, Yes
from cellwright.policy.masking.masker import Masker
from cellwright.runs.plan.taken_tasks import LOOK_AGAIN, TAKEN
from cellwright.runs.views.branches import BranchKind
from cellwright.tools.approval.budget_questions import LeaveUncounted, PutPrice, Raise
from cellwright.tools.approval.inbox import (
    Inbox,
    InboxItem,
    InboxQuestion,
    InboxReply,
    PlainAnswered,
    PlainKind,
    PlainQuestion,
    RecordedAnswer,
)

PAUSED: Final = "paused"
"""The topic of the question a paused run waits at, see `cellwright.agents.steering`, which takes long to load."""

RESUMED: Final = "resume"
"""The answer to it."""


TRUST: Final = "project-trust"
"""The topic of the question whether a project's roles and skills count, see `cellwright.runs.execute.project_trust`."""


class TrustKind(PlainKind):
    """Whether a project's own roles and skills count; its body is all the person must see."""

    def __init__(self) -> None:
        super().__init__(TRUST)

    def _read(self, row: OpenQuestion) -> tuple[InboxQuestion, RecordedAnswer | None]:
        # The event that it was asked says no more than its first line.
        return super()._read(replace(row, question=replace(row.question, text=str(row.question.body))))


class TakenKind(PlainKind):
    """Whether a task that a person took is done."""

    def __init__(self) -> None:
        super().__init__(TAKEN)

    def _read(self, row: OpenQuestion) -> tuple[InboxQuestion, RecordedAnswer | None]:
        offers = tuple(choice for choice in row.question.choices if choice != LOOK_AGAIN)
        return super()._read(replace(row, question=replace(row.question, choices=offers)))


class PausedKind(PlainKind):
    """A run that waits until somebody lets it go on."""

    def __init__(self) -> None:
        super().__init__(PAUSED)

    async def apply(
        self, records: Records, item: InboxItem, reply: InboxReply, person: Person, shown_fingerprint: str
    ) -> RecordedAnswer | AnswerRefused:
        """Let it go on, with all that is paused in it."""
        from cellwright.runs.execute import steering_commands

        assert isinstance(item.question, PlainQuestion)
        await steering_commands.resume(records, item.question.run, person)
        return PlainAnswered(question=item.question, reply=str(reply), by=person.name, at=datetime.now(UTC))


def run_inbox(records: Records, masker: Masker) -> Inbox:
    """The inbox with every kind of question there is."""
    return Inbox(records, masker=masker, kinds=(BranchKind(), PausedKind(), TrustKind(), TakenKind()))


def open_question_view(item: InboxItem) -> dict[str, Any]:
    """A question that waits, with the command that answers it, as plain JSON values."""
    return {
        "id": item.question.id,
        "topic": item.topic,
        "what": item.question.describe(),
        "offers": list(item.offers),
        "fingerprint": item.question.fingerprint,
        "answer_with": _command(item),
    }


def _command(item: InboxItem) -> str:
    if item.topic == PAUSED:
        return f"cellwright runs resume {item.question.run}"
    if not item.question.fingerprint:
        return f"cellwright inbox answer {item.question.id} ANSWER"
    words = item.offers[0] + (" AMOUNT" if item.offers[0] in {"raise", "price"} else "")
    return f"cellwright inbox answer {item.question.id} {words} --fingerprint {item.question.fingerprint}"


def question_view(item: InboxItem) -> dict[str, Any]:
    """A question, whatever became of it, as plain JSON values."""
    return {
        **open_question_view(item),
        "run": item.question.run,
        "asked_at": item.question.asked_at.isoformat(),
        "state": item.state,
        "answer": None if item.answer is None else answer_view(item.answer),
    }


def answer_view(said: RecordedAnswer) -> dict[str, Any]:
    """An answer as plain JSON values."""
    view: dict[str, Any] = {"id": said.question.id, "at": said.at.isoformat()}
    if isinstance(said, PlainAnswered):
        return {**view, "by": said.by, "says": said.reply}
    view |= {"by": said.by.name, "door": said.by.door}
    match said.reply:
        case Yes(reach="always" as reach, lasts=lasts):
            return {**view, "says": "yes", "reach": reach, "until": (said.at + lasts).isoformat()}
        case Yes(reach=reach):
            return {**view, "says": "yes", "reach": reach}
        case Raise(more=more):
            return {**view, "says": "raise", "more": str(more)}
        case PutPrice(amount=amount):
            return {**view, "says": "price", "amount": str(amount)}
        case LeaveUncounted():
            return {**view, "says": "uncounted"}
        case No(feedback=feedback):
            return {**view, "says": "no", "feedback": feedback}


def grant_view(grant: Grant) -> dict[str, Any]:
    """A standing grant as plain JSON values."""
    return {
        "id": grant.id,
        "covers": grant.scope.describe(),
        "project": grant.project,
        "reach": grant.reach,
        "run": grant.run,
        "by": grant.by.name,
        "door": grant.by.door,
        "at": grant.at.isoformat(),
        "expires_at": grant.expires_at.isoformat() if grant.expires_at else None,
        "revoked_at": grant.revoked_at.isoformat() if grant.revoked_at else None,
    }
