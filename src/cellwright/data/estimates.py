"""What a query is expected to take, in words for people. Pure."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Final

from cellwright.data.connections import DataConnection
from cellwright.data.messages import CostlyQuery, RunQuery
from cellwright.policy.money import Money, parse_money

_LARGE: Final = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"))
_SIZES: Final = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_CENT: Final = Decimal("0.01")
_WHOLE_FROM: Final = 100
_TERABYTE: Final = 10**12


def expected_cost(rows: int | None, bytes: int | None, per_terabyte: Money | None) -> CostlyQuery | None:
    """What a server expects of a query, with its price; None: it says nothing."""
    if rows is None and bytes is None:
        return None
    return CostlyQuery(rows=rows, bytes=bytes, price=_price_of(per_terabyte, bytes))


def is_too_much(expected: CostlyQuery, connection: DataConnection, asked: RunQuery) -> bool:
    """Whether a person has to agree first, and has not."""
    rows, megabytes = connection.ask_above_rows, connection.ask_above_megabytes
    return (expected.rows or 0) > max(rows, asked.agreed_rows) or (expected.bytes or 0) > max(
        megabytes * 10**6, asked.agreed_bytes
    )


def with_agreement(asked: RunQuery, expected: CostlyQuery) -> RunQuery:
    """The query, with a person's yes to that much."""
    return replace(asked, agreed_rows=expected.rows or 0, agreed_bytes=expected.bytes or 0)


def costly_words(expected: CostlyQuery) -> str:
    """What a person is told of a query that was not sent."""
    return f"The database expects to read {expected_words(expected)} for this."


LET_MORE_PASS: Final = (
    "Ask for less; a person can let the connection read more (`ask_above_rows`, `ask_above_megabytes`)."
)
"""What to do where nobody can be asked."""


def expected_words(expected: CostlyQuery) -> str:
    """See `estimate_words`."""
    return estimate_words(expected.rows, expected.bytes, parse_money(expected.price))


def estimate_words(rows: int | None, bytes: int | None, price: Money | None) -> str:
    """`about 41 million rows, 3.2 GB, 0.02 USD`; what nobody knows is left out."""
    parts = []
    if rows is not None:
        parts.append(_rows(rows))
    if bytes is not None:
        parts.append(_size(bytes))
    if price is not None:
        parts.append(_price(price))
    return f"about {', '.join(parts)}" if parts else "an unknown amount"


def count_words(count: int, noun: str) -> str:
    """`1 row`, `1,234 rows`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _rows(rows: int) -> str:
    for size, word in _LARGE:
        if rows >= size:
            return f"{_figure(rows / size)} {word} rows"
    return count_words(rows, "row")


def _size(count: int) -> str:
    for size, word in _SIZES:
        if count >= size:
            return f"{_figure(count / size)} {word}"
    return count_words(count, "byte")


def _figure(value: float) -> str:
    """Two digits are enough for an estimate."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}".removesuffix(".0")


def _price_of(per_terabyte: Money | None, size: int | None) -> str:
    if per_terabyte is None or size is None:
        return ""
    return str(replace(per_terabyte, amount=round(per_terabyte.amount * size / _TERABYTE, 4)))


def _price(price: Money) -> str:
    if 0 < price.amount < _CENT:
        return f"less than 0.01 {price.currency}"
    places = 0 if price.amount >= _WHOLE_FROM else 2
    return f"{price.amount:,.{places}f} {price.currency}"
