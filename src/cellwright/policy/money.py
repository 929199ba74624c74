"""Money as exact values, and the price nobody knows, which is not zero."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Context, Decimal, DecimalException, Inexact, InvalidOperation
from typing import Final

from cellwright.errors import Defect

LARGEST_AMOUNT: Final = Decimal(10) ** 18
SMALLEST_EXPONENT: Final = -18

# Wide enough that sums of 10^40 amounts within the bounds stay exact; were one not, it would raise.
_EXACT: Final = Context(prec=80, traps=[Inexact, InvalidOperation])
_AMOUNT: Final = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?) ?([A-Z]{3})", flags=re.ASCII)


def is_amount(value: Decimal) -> bool:
    """Whether a number can be counted exactly: finite, not negative, within the bounds."""
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= SMALLEST_EXPONENT and 0 <= value <= LARGEST_AMOUNT


def add(left: Decimal, right: Decimal) -> Decimal:
    """The exact sum."""
    try:
        return _EXACT.add(left, right)
    except DecimalException as error:
        raise Defect(f"{left} + {right} cannot be counted exactly.") from error


def subtract(left: Decimal, right: Decimal) -> Decimal:
    """The exact difference."""
    return add(left, right.copy_negate())


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """An amount in one currency. Amounts in different currencies are never compared."""

    amount: Decimal
    currency: str = "USD"

    @property
    def is_sound(self) -> bool:
        """Whether it can be counted: finite, not negative, a currency of three capitals."""
        return is_amount(self.amount) and re.fullmatch(r"[A-Z]{3}", self.currency, flags=re.ASCII) is not None

    def __str__(self) -> str:
        # Written out, 1e999999999 would fill the memory.
        return f"{self.amount:f} {self.currency}" if self.is_sound else f"{self.amount} {self.currency}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownPrice:
    """Nobody knows what it costs. Never counted as zero: where money is bounded, it asks."""

    why: str = ""

    def __str__(self) -> str:
        return f"an unknown price ({self.why})" if self.why else "an unknown price"


Price = Money | UnknownPrice


def parse_money(text: str) -> Money | None:
    """`"5.00 USD"` as money; None for anything else."""
    found = _AMOUNT.fullmatch(text)
    return Money(amount=Decimal(found[1]), currency=found[2]) if found else None
