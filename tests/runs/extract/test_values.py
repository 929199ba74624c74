"""A value counts if it is of its type and its quote says it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from cellwright.runs.extract.values import Value, is_said, numbers_in, typed_value
from cellwright.runs.goal.extraction_order import FieldType


@pytest.mark.parametrize(
    ("said", "kind", "value"),
    [
        ("  Acme \n Ltd ", "text", "Acme Ltd"),
        ("1234.50", "number", 1234.5),
        ("-3", "integer", -3),
        ("3.5", "integer", None),
        ("1,234", "number", None),
        ("NaN", "number", None),
        ("Infinity", "number", None),
        ("1e400", "number", None),
        ("2024-02-29", "date", "2024-02-29"),
        ("2023-02-29", "date", None),
        ("29.02.2024", "date", None),
        ("True", "boolean", True),
        ("maybe", "boolean", None),
    ],
)
def test_a_value_is_of_its_type_or_none(said: str, kind: FieldType, value: Value) -> None:
    assert typed_value(said, kind) == value


@pytest.mark.parametrize(
    ("value", "kind", "quote"),
    [
        (1234.5, "number", "Total: 1,234.50 EUR"),
        (1234.5, "number", "Gesamt 1.234,50 €"),
        (1234.5, "number", "CHF 1'234.50"),
        (1234567.0, "number", "1 234 567"),
        (1200000.0, "number", "about 1.2 million"),
        (1234, "integer", "No. 1234"),
        (-200, "integer", "a loss of (200)"),
        ("2024-03-05", "date", "5 March 2024"),
        ("2024-03-05", "date", "03/05/24"),
        ("2024-03-05", "date", "den 5. März 2024"),
        ("2024-03-05", "date", "20240305"),
        ("Acme Ltd", "text", "Bill to: ACME Ltd."),
        ("Müller & Söhne", "text", "an Müller & Söhne GmbH"),
        (True, "boolean", "is renewed"),
    ],
)
def test_a_quote_says_a_value_however_it_is_written(value: Value, kind: FieldType, quote: str) -> None:
    assert is_said(value, kind, quote)


@pytest.mark.parametrize(
    ("value", "kind", "quote"),
    [
        (1234.5, "number", "Total: 1,234.60 EUR"),
        (1234.5, "number", "no number here"),
        (123450.0, "number", "1,234.50"),
        (1.2345, "number", "1.234,50"),
        (-200, "integer", "a gain of 200"),
        ("2024-03-05", "date", "March 2024"),
        ("2024-03-05", "date", "5 April 2024"),
        ("2024-03-05", "date", "5 March 2023"),
        ("Acme Ltd", "text", "Acme Inc"),
        ("Acme", "text", "Acmeville"),
        ("!!", "text", "!!"),
    ],
)
def test_a_quote_that_does_not_say_a_value_is_no_evidence(value: Value, kind: FieldType, quote: str) -> None:
    assert not is_said(value, kind, quote)


def test_a_number_that_may_mean_two_is_both() -> None:
    assert set(numbers_in("1.234")) == {Decimal("1.234"), Decimal(1234)}
