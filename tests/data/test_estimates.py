"""What a query would take is told in figures that a person can weigh."""

from __future__ import annotations

from decimal import Decimal

import pytest

from cellwright.data.connections import DataConnection
from cellwright.data.estimates import (
    costly_words,
    count_words,
    estimate_words,
    expected_cost,
    is_too_much,
    with_agreement,
)
from cellwright.data.messages import CostlyQuery, RunQuery
from cellwright.policy.money import Money

SHOP = DataConnection(name="shop", kind="snowflake", ask_above_rows=1_000, ask_above_megabytes=5)
ASKED = RunQuery(connection="shop", statement="select 1")
DEAR = Money(amount=Decimal("6.25"), currency="USD")


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


@pytest.mark.parametrize(
    ("rows", "bytes", "price", "expected"),
    [
        (None, None, DEAR, None),
        (None, 2 * 10**12, DEAR, CostlyQuery(bytes=2 * 10**12, price="12.5000 USD")),
        (7, 2 * 10**12, None, CostlyQuery(rows=7, bytes=2 * 10**12)),
        (7, None, DEAR, CostlyQuery(rows=7)),
    ],
)
def test_what_is_charged_by_the_byte_has_a_price_without_rows(
    rows: int | None, bytes: int | None, price: Money | None, expected: CostlyQuery | None
) -> None:
    assert expected_cost(rows, bytes, price) == expected


@pytest.mark.parametrize(
    ("rows", "bytes", "is_asked"),
    [
        (1_000, 5_000_000, False),
        (1_001, None, True),
        (None, 5_000_000, False),
        (None, 5_000_001, True),
        (10, 5_000_001, True),
        (0, 5_000_001, True),
    ],
)
def test_more_than_the_connection_allows_is_asked_about_once(
    rows: int | None, bytes: int | None, is_asked: bool
) -> None:
    expected = CostlyQuery(rows=rows, bytes=bytes)
    assert is_too_much(expected, SHOP, ASKED) is is_asked
    agreed = with_agreement(ASKED, expected)
    assert not is_too_much(expected, SHOP, agreed)
    more = CostlyQuery(rows=None if rows is None else rows + 9_000, bytes=None if bytes is None else bytes * 2)
    assert is_too_much(more, SHOP, agreed)


def test_a_person_is_told_in_words_what_would_be_read() -> None:
    dear = CostlyQuery(rows=41_234_567, bytes=3_210_000_000, price="0.0201 USD")
    told = "The database expects to read about 41 million rows, 3.2 GB, 0.02 USD for this."
    assert costly_words(dear) == told


def test_one_is_one() -> None:
    assert (count_words(1, "row"), count_words(2_000, "row")) == ("1 row", "2,000 rows")
