"""What is said of variables that differ between two states: only what differs, in words and as plain values."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from inline_snapshot import snapshot

from cellwright.kernel.branches.variable_diff import VariableDiff, variable_differences, variable_summary
from cellwright_guest.report_wire import ColumnFacts, VariableFacts
from cellwright_guest.variable_facts import facts_of


def diff(before: dict[str, Any], after: dict[str, Any]) -> tuple[VariableDiff, ...]:
    """Of real values, through the guest's own look at them."""
    return variable_differences(facts_of(before.items()), facts_of(after.items()))


def lines(before: Any, after: Any) -> list[str]:
    [found] = diff({"x": before}, {"x": after})
    return [line.strip() for line in found.lines()]


SALES = pd.DataFrame({"price": [1.5, None, 99.0, -4.0], "name": ["a", "b", "b", "c"], "old": [1, 2, 3, 4]})


def test_a_cleaned_table_tells_rows_columns_nulls_and_ranges_before_and_after() -> None:
    cleaned = SALES[SALES.price > 0].drop(columns="old").assign(cents=[150, 9900])
    [found] = diff({"sales": SALES}, {"sales": cleaned})
    assert found.lines() == snapshot(
        (
            "sales: pandas.DataFrame",
            "  4 rows × 3 columns → 2 rows × 3 columns",
            "  price: nulls 1 → 0",
            "  price: range -4 … 99 → 1.5 … 99",
            "  cents: new, int64, 150 … 9900",
            "  old: gone, was int64, 1 … 4",
        )
    )
    before, after = found.sides()
    assert before.splitlines() == snapshot(
        [
            "4 rows × 3 columns",
            "price: nulls 1",
            "price: range -4 … 99",
            "cents: none",
            "old: int64, 1 … 4",
        ]
    )
    assert after.splitlines() == snapshot(
        [
            "2 rows × 3 columns",
            "price: nulls 0",
            "price: range 1.5 … 99",
            "cents: int64, 150 … 9900",
            "old: none",
        ]
    )


def test_new_and_gone_variables_are_told_in_a_few_words() -> None:
    new, gone = diff({"old": [3, 1]}, {"total": 42})
    assert new.lines() == ("total: new, 42",)
    assert gone.lines() == ("old: gone, was 2 items, int, 1 … 3",)
    assert (new.sides(), gone.sides()) == (("", "42"), ("2 items, int, 1 … 3", ""))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (1, 2, ["x: int", "1 → 2"]),
        (1, 1.0, ["x: float", "type int → float", "1 → 1.0"]),
        ("a", "b", ["x: str", "'a' → 'b'"]),
        ([1, 2], [1, 2, 3], ["x: list", "2 items → 3 items", "range 1 … 2 → 1 … 3"]),
        ([1, None], [1, 5], ["x: list", "type NoneType | int → int", "nulls 1 → 0", "range 1 … 1 → 1 … 5"]),
        ({"a": 1, "b": 2}, {"a": 1, "c": 3}, ["x: dict", "c: new, int, 3", "b: gone, was int, 2"]),
        ({"a": 1}, {"a": 2, "b": 3}, ["x: dict", "1 key → 2 keys", "a: 1 → 2", "b: new, int, 3"]),
        (np.zeros((2, 3)), np.zeros((3, 2)), ["x: numpy.ndarray", "2 × 3 → 3 × 2"]),
        (np.zeros(3, "f4"), np.zeros(3), ["x: numpy.ndarray", "type float32 → float64"]),
        (np.array([0, 5, 9]), np.array([0, 6, 9]), ["x: numpy.ndarray", "other values"]),
        (pd.Series(["a"]), pd.Series(["b"]), ["x: pandas.Series", "other values"]),
        ("x" * 5_000 + "a", "x" * 5_000 + "b", ["x: str", "other values"]),
        (SALES, [1], ["x: list", "type pandas.DataFrame → list", "4 rows × 3 columns → 1 item"]),
    ],
)
def test_each_kind_tells_what_differs(before: object, after: object, said: list[str]) -> None:
    assert lines(before, after)[: len(said)] == said


@pytest.mark.parametrize("value", [1, "a", None, [1, 2], {"a": [1]}, np.arange(3), SALES, object])
def test_what_is_the_same_is_not_named(value: object) -> None:
    assert diff({"x": value}, {"x": value}) == ()


def test_rows_more_or_less_are_said_once_and_not_for_every_column() -> None:
    [found] = diff({"x": pd.DataFrame({"a": [1, 2, 3]})}, {"x": pd.DataFrame({"a": [1, 3]})})
    assert found.lines() == ("x: pandas.DataFrame", "  3 rows × 1 column → 2 rows × 1 column")


def a_frame(*columns: ColumnFacts, left: int = 0, rows: int = 10) -> VariableFacts:
    shape = [rows, len(columns) + left]
    return VariableFacts(
        name="x", kind="dataframe", type="pandas.DataFrame", shape=shape, columns=[*columns], columns_left=left
    )


def test_what_comes_from_a_sample_says_so() -> None:
    old = ColumnFacts(name="a", type="f8", nulls=10, smallest="0", largest="1", digest="1", is_exact=False)
    new = ColumnFacts(name="a", type="f8", nulls=0, smallest="0", largest="1", digest="2", is_exact=False)
    [found] = variable_differences([a_frame(old)], [a_frame(new)])
    assert found.lines()[1] == "  a: nulls ≈ 10 → 0"
    assert found.sides() == ("a: nulls ≈ 10", "a: nulls ≈ 0")


def test_digests_of_a_sample_and_of_everything_are_not_compared() -> None:
    whole = ColumnFacts(name="a", type="f8", nulls=0, digest="1")
    sampled = ColumnFacts(name="a", type="f8", nulls=0, digest="2", is_exact=False)
    assert variable_differences([a_frame(whole)], [a_frame(sampled)]) == ()


def test_a_column_beyond_those_told_is_neither_new_nor_gone() -> None:
    a, b = ColumnFacts(name="a"), ColumnFacts(name="b")
    assert variable_differences([a_frame(a, left=1)], [a_frame(b, left=1)]) == ()


def test_what_could_not_be_looked_at_is_said_and_not_compared() -> None:
    known = VariableFacts(name="x", kind="number", type="int", text="1")
    unknown = VariableFacts(name="x", kind="object", type="int", problem="looking at it took too long")
    [found] = variable_differences([known], [unknown])
    assert found.lines() == ("x: int", "  not compared: looking at it took too long")
    assert variable_summary(unknown) == "not known: looking at it took too long"


def test_many_differences_are_cut_and_counted() -> None:
    old = a_frame(*(ColumnFacts(name=f"c{number}", type="i8", nulls=1) for number in range(90)))
    new = a_frame(*(ColumnFacts(name=f"c{number}", type="i8", nulls=2) for number in range(90)))
    [found] = variable_differences([old], [new])
    assert (len(found.facts), found.facts_left) == (60, 30)
    assert found.lines()[-1] == "  … 30 more differences"


def test_texts_of_a_hostile_kernel_are_cut_and_hold_no_control_characters() -> None:
    hostile = VariableFacts(name="\x1b[2J" + "n" * 10_000, kind="number", type="t" * 10_000, text="\n\x07")
    [found] = variable_differences([], [hostile])
    told = json.dumps(found.json(), ensure_ascii=False)
    assert len(told) < 2_000
    assert "\\u00" not in told
    assert "\\n" not in told


def test_the_plain_values_hold_every_fact() -> None:
    [found] = diff({"x": [1, 2]}, {"x": [1, 3]})
    assert found.json() == snapshot(
        {
            "name": "x",
            "change": "changed",
            "type": "list",
            "before": "2 items, int, 1 … 2",
            "after": "2 items, int, 1 … 3",
            "facts": ({"column": "", "aspect": "range", "before": "1 … 2", "after": "1 … 3", "is_exact": True},),
            "facts_left": 0,
        }
    )
