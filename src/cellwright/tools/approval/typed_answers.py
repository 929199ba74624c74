"""What people type as an answer, and what it means: the same words at a terminal, in a command and over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Final

from cellwright.errors import UserError
from cellwright.policy.approvals import No, Reach, Reply, Yes
from cellwright.tools.approval.budget_questions import BudgetReply, LeaveUncounted, PutPrice, Raise


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedAnswer:
    """An answer in words, as somebody typed it; the kind of the question says what it means."""

    words: str
    reach: Reach | None = None
    """With `yes`: how far it reaches; None: no further than it must."""
    lasts: timedelta | None = None
    """With `always`: how long; None: as long as usual."""
    feedback: str = ""
    """With `no`: for the agent."""


_REPLIES: Final = frozenset({"yes", "no", "once", "run", "always", "raise", "price", "uncounted"})


def parse_reply(typed: TypedAnswer, offers: Sequence[str]) -> Reply | BudgetReply:
    """The answer to an approval or a budget: a whole word, or the beginning of one that is offered.

    Raises `UserError` for anything else. A whole word that is not offered is refused when it is answered with.
    """
    word, _, rest = typed.words.strip().lower().partition(" ")
    begun = [each for each in offers if word and each.startswith(word)]
    if word not in _REPLIES and len(begun) == 1:
        word = begun[0]
    match word, _amount(rest):
        case ("yes", _) if not rest:
            return Yes(reach=typed.reach or ("once" if "once" in offers else "run"))
        case ("once" | "run" | "always" as reach, _) if not rest:
            return Yes(reach=reach) if typed.lasts is None else Yes(reach=reach, lasts=typed.lasts)
        case ("no", _) if not rest:
            return No(feedback=typed.feedback)
        case ("uncounted", _) if not rest:
            return LeaveUncounted()
        case ("raise", Decimal() as amount):
            return Raise(more=amount)
        case ("price", Decimal() as amount):
            return PutPrice(amount=amount)
        case _:
            raise _not_an_answer(typed, offers)


def parse_choice(typed: TypedAnswer, choices: Sequence[str]) -> str:
    """The choice that was meant, by its number or in words; any words where there is no choice. Raises `UserError`."""
    words = typed.words.strip()
    if words and not choices:
        return words
    if words.isdecimal() and 1 <= int(words) <= len(choices):
        return choices[int(words) - 1]
    for choice in choices:
        if choice.casefold() == words.casefold():
            return choice
    raise _not_an_answer(typed, choices)


def _amount(text: str) -> Decimal | None:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and amount >= 0 else None


def _not_an_answer(typed: TypedAnswer, offers: Sequence[str]) -> UserError:
    hint = f"One of: {', '.join(offers)}." if offers else "A few words."
    return UserError(f"{typed.words[:80]!r} is no answer here.", hint=hint)
