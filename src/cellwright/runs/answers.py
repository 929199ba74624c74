"""What a person typed, as an answer: to what is decided at the desk, and to a plain question. All pure."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

from cellwright.policy import No, Reply, Yes
from cellwright.tools import BudgetReply, LeaveUncounted, PutPrice, Raise


def read_typed(typed: str, offers: Sequence[str]) -> Reply | BudgetReply | None:
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


def picked(typed: str, choices: Sequence[str]) -> str | None:
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
