"""What a query is expected to take, in words for people. Pure."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from cellwright.policy.money import Money

_LARGE: Final = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"))
_SIZES: Final = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_CENT: Final = Decimal("0.01")
_WHOLE_FROM: Final = 100


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


def _price(price: Money) -> str:
    if 0 < price.amount < _CENT:
        return f"less than 0.01 {price.currency}"
    places = 0 if price.amount >= _WHOLE_FROM else 2
    return f"{price.amount:,.{places}f} {price.currency}"
