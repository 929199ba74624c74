"""Questions of runs, answers and standing grants as plain JSON values, and what a person typed as an answer."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from cellwright.journal import OpenQuestion, Records
from cellwright.policy import Grant, Masker, No, Reply, Yes
from cellwright.tools import (
    APPROVAL,
    BUDGET,
    BudgetReply,
    Inbox,
    InboxItem,
    LeaveUncounted,
    PutPrice,
    Raise,
    RecordedAnswer,
)


def parse_typed_answer(typed: str, offers: Sequence[str]) -> Reply | BudgetReply | None:
    """The answer of what was typed: a word that is offered, or the beginning of one; None for anything else."""
    word, _, rest = typed.strip().lower().partition(" ")
    offered = [each for each in (*offers, "no") if word and each.startswith(word)]
    match offered, _amount(rest):
        case (["once" | "run" | "always" as reach], _) if not rest:
            return Yes(reach=reach)
        case (["no"], _) if not rest:
            return No()
        case (["uncounted"], _) if not rest:
            return LeaveUncounted()
        case (["raise"], Decimal() as amount):
            return Raise(more=amount)
        case (["price"], Decimal() as amount):
            return PutPrice(amount=amount)
        case _:
            return None


def match_choice(typed: str, choices: Sequence[str]) -> str | None:
    """The choice that was meant, by its number or in words; any words where there is no choice."""
    if not choices:
        return typed or None
    if typed.isdecimal() and 1 <= int(typed) <= len(choices):
        return choices[int(typed) - 1]
    return next((choice for choice in choices if choice.casefold() == typed.casefold()), None)


def _amount(text: str) -> Decimal | None:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and amount > 0 else None


PAUSED: Final = "paused"
"""The topic of the question a paused run waits at, see `cellwright.agents.steering`, which takes long to load."""
INBOX_TOPICS: Final = frozenset({APPROVAL, BUDGET})
"""The topics of questions that are answered at the desk, about exactly what was shown."""


async def describe_open_questions(
    records: Records, masker: Masker, run: str, found: Sequence[OpenQuestion]
) -> list[dict[str, Any]]:
    """Each open question with the command that answers it, as plain JSON values."""
    desk = Inbox(records, masker=masker)
    return [await _describe(desk, run, each) for each in found]


async def _describe(desk: Inbox, run: str, found: OpenQuestion) -> dict[str, Any]:
    topic = found.question.topic
    if topic == PAUSED:
        answer = f"cellwright runs resume {run}"
        return {
            "id": found.id,
            "topic": topic,
            "what": found.question.text,
            "offers": ["resume"],
            "answer_with": answer,
        }
    if topic in INBOX_TOPICS:
        view = question_view(await desk.show(found.id))
        words = f"--{view['offers'][0]}" + (" AMOUNT" if view["offers"][0] in {"raise", "price"} else "")
        answer = f"cellwright approvals answer {found.id} {words} --fingerprint {view['fingerprint']}"
        return {
            "id": found.id,
            "topic": topic,
            "what": view["what"],
            "offers": view["offers"],
            "fingerprint": view["fingerprint"],
            "answer_with": answer,
        }
    choices = list(found.question.choices)
    answer = f"cellwright questions answer {found.id} ANSWER"
    return {
        "id": found.id,
        "topic": topic,
        "what": found.question.text,
        "offers": choices,
        "answer_with": answer,
    }


def question_view(found: InboxItem) -> dict[str, Any]:
    """A question as plain JSON values."""
    question, said = found.question, found.answer
    return {
        "id": question.id,
        "run": question.run,
        "asked_at": question.asked_at.isoformat(),
        "state": found.state,
        "what": question.describe(),
        "fingerprint": question.fingerprint,
        "offers": [*question.offers, "no"],
        "answer": None if said is None else answer_view(said),
    }


def answer_view(said: RecordedAnswer) -> dict[str, Any]:
    """An answer as plain JSON values."""
    view: dict[str, Any] = {"id": said.question.id, "by": said.by.name, "door": said.by.door, "at": said.at.isoformat()}
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
    """A lasting yes as plain JSON values."""
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
