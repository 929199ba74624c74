"""Numbers as people and models write them."""

from __future__ import annotations

import pytest

from eval.figures import numbers_in


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It is 42.", [42.0]),
        ("The total is 1,234.50 euros.", [1234.5]),
        ("Das sind 1.234,50 Euro.", [1234.5]),
        ("about 1,234 visitors", [1234.0, 1.234]),
        ("pH 7,9 and 12 %", [7.9, 12.0]),
        ("down by −3.5 kg, or -3", [-3.5, -3.0]),
        ("2 300 000 rows", [2_300_000.0]),
        ("p = 3e-05", [3e-05]),
        ("M3, T25 and v2 name things", []),
        ("**17.5** °C", [17.5]),
        ("no number here", []),
    ],
)
def test_numbers_are_read_as_they_are_meant(text: str, numbers: list[float]) -> None:
    assert numbers_in(text) == numbers
