"""What a run asks, put to the person at a client as a permission; what they chose, as an answer.

Chosen is answered; a client that cancels, fails or leaves has answered nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from acp import schema

from cellwright.runs.views.questions import PAUSED

Question = Mapping[str, Any]
"""`AskedQuestion`, as the API gives it."""
UNASKED: Final = frozenset({PAUSED})
"""Somebody paused it on purpose."""
_LONGEST: Final = 4_000
"""Characters a card shows; of what is longer nobody can say yes here, who would not have seen all of it."""
_NO: Final = frozenset({"no", "none of them"})
_OFFERS: Final[Mapping[str, tuple[str, schema.PermissionOptionKind]]] = {
    "once": ("Allow once", "allow_once"),
    "run": ("Allow for this run", "allow_always"),
    "uncounted": ("Go on, uncounted", "allow_once"),
    "no": ("Do not allow", "reject_once"),
}
_NOT_HERE: Final = frozenset({"always", "raise", "price"})
"""A yes for ever is said where one sees all of them; an amount needs to be typed."""


def is_choice(question: Question) -> bool:
    """Whether there is something to choose; else any words answer it."""
    return bool(question["offers"])


def is_whole(question: Question) -> bool:
    """Whether a card shows all of it."""
    return len(question["what"]) <= _LONGEST


def options_of(question: Question) -> list[schema.PermissionOption]:
    """What can be chosen here, in the order of what is offered."""
    has_kinds = bool(question["fingerprint"])
    options = list[schema.PermissionOption]()
    for number, offer in enumerate(question["offers"]):
        is_no = offer.casefold() in _NO
        if (has_kinds and offer in _NOT_HERE) or (has_kinds and not is_no and not is_whole(question)):
            continue
        name, kind = (offer, "reject_once" if is_no else "allow_once")
        if has_kinds:
            name, kind = _OFFERS.get(offer, (name, kind))
        options.append(schema.PermissionOption(option_id=str(number), name=name[:300], kind=kind))
    return options


def card_of(question: Question, kind: schema.ToolKind = "other") -> schema.ToolCallUpdate:
    """What the client shows: all that is asked about stands in the title, as some show nothing else."""
    what, shown = question["what"], question["what"][:_LONGEST]
    if not is_whole(question):
        shown += f"… ({len(what) - _LONGEST:,} more characters: see all of it in the inbox, or the control room.)"
    text = schema.TextContentBlock(type="text", text=shown)
    content = schema.ContentToolCallContent(type="content", content=text)
    return schema.ToolCallUpdate(
        tool_call_id=call_of(question["id"]), title=shown, kind=kind, status="pending", content=[content]
    )


def answer_of(question: Question, response: schema.RequestPermissionResponse) -> dict[str, str] | None:
    """The body of the answer; None: it stays open."""
    outcome = response.outcome
    if not isinstance(outcome, schema.AllowedOutcome):
        return None
    if all(outcome.option_id != each.option_id for each in options_of(question)):
        return None
    return {"answer": question["offers"][int(outcome.option_id)], "fingerprint": question["fingerprint"]}


def call_of(question: str) -> str:
    """The id of the card about it."""
    return f"question {question}"
