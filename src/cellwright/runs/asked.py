"""Questions of runs, answers and lasting yeses as plain JSON values, for every door that shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from cellwright.journal import OpenQuestion, Records
from cellwright.policy import Grant, Masker, No, Yes
from cellwright.tools import APPROVAL, BUDGET, Desk, Kept, LeaveUncounted, OnDesk, PutPrice, Raise

PAUSED: Final = "paused"
"""The topic of the question a paused run waits at, see `cellwright.agents.steering`, which takes long to load."""
ON_DESK: Final = frozenset({APPROVAL, BUDGET})
"""The topics of questions that are answered at the desk, about exactly what was shown."""


async def tell_open(records: Records, masker: Masker, run: str, found: Sequence[OpenQuestion]) -> list[dict[str, Any]]:
    """Each open question with the command that answers it, as plain JSON values."""
    desk = Desk(records, masker=masker)
    return [await _told(desk, run, each) for each in found]


async def _told(desk: Desk, run: str, found: OpenQuestion) -> dict[str, Any]:
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
    if topic in ON_DESK:
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


def question_view(found: OnDesk) -> dict[str, Any]:
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


def answer_view(said: Kept) -> dict[str, Any]:
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
