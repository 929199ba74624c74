"""What a query would take is told in figures that a person can weigh."""

from __future__ import annotations

from decimal import Decimal

import pytest

from cellwright.data.estimates import count_words, estimate_words
from cellwright.policy.money import Money


@pytest.mark.parametrize(
    ("rows", "bytes", "price", "words"),
    [
        (41_234_567, 3_210_000_000, "0.0213", "about 41 million rows, 3.2 GB, 0.02 USD"),
        (1, 1, None, "about 1 row, 1 byte"),
        (999, 2_000, None, "about 999 rows, 2 kB"),
        (12_345, None, None, "about 12,345 rows"),
        (2_500_000_000, 7 * 10**12, "1234.5", "about 2.5 billion rows, 7 TB, 1,234 USD"),
        (None, 5 * 10**6, "0.001", "about 5 MB, less than 0.01 USD"),
        (0, 0, "0", "about 0 rows, 0 bytes, 0.00 USD"),
        (None, None, None, "an unknown amount"),
    ],
)
def test_an_estimate_is_told_in_two_digits(rows: int | None, bytes: int | None, price: str | None, words: str) -> None:
    assert estimate_words(rows, bytes, Money(amount=Decimal(price)) if price else None) == words


def test_one_is_one() -> None:
    assert (count_words(1, "row"), count_words(2_000, "row")) == ("1 row", "2,000 rows")
