from __future__ import annotations

import pytest

from tests.guest.profiling.raw_tables import days, normal, picked, profiled


def test_a_column_that_names_each_row_is_a_key() -> None:
    assert profiled({"id": ["a", "b", "c"], "region": ["x", "x", "y"]}).keys == (("id",),)
    assert profiled({"id": ["a", "b", "b"], "region": ["x", "x", "x"]}).keys == ()


def test_a_measure_that_happens_to_be_unique_is_no_key() -> None:
    assert profiled({"amount": normal(30), "region": picked(["a", "b"], 30)}).keys == ()


def test_two_columns_together_are_a_key_where_none_is_alone() -> None:
    columns = {"day": [day for day in days(10) for _ in "ab"], "shop": ["a", "b"] * 10, "amount": normal(20)}
    assert profiled(columns).keys == (("day", "shop"),)


def test_a_total_row_does_not_spoil_a_key() -> None:
    table = profiled({"id": ["1", "2", "3", "4", "5", None], "shop": ["a", "b", "c", "d", "e", "Total"]})
    assert ("id",) in table.keys


# ── columns that repeat each other ──


def test_equal_columns_are_told() -> None:
    values = picked(["a", "b", "c"], 40)
    (repeat,) = profiled({"one": values, "two": values, "three": picked(["a", "b", "c"], 40, seed=2)}).repeats
    assert (repeat.first, repeat.second, repeat.how) == ("one", "two", "equal")


def test_a_label_for_each_code_is_told() -> None:
    codes = picked(["DE", "FR", "IT"], 40)
    labels = [{"DE": "Germany", "FR": "France", "IT": "Italy"}[code or ""] for code in codes]
    (repeat,) = profiled({"code": codes, "country": labels, "amount": normal(40)}).repeats
    assert (repeat.first, repeat.second, repeat.how) == ("code", "country", "one-to-one")


def test_one_exception_makes_columns_different() -> None:
    codes = picked(["DE", "FR", "IT"], 40)
    labels = [{"DE": "Germany", "FR": "France", "IT": "Italy"}[code or ""] for code in codes]
    labels[20] = "Italy" if labels[20] != "Italy" else "France"
    assert profiled({"code": codes, "country": labels}).repeats == ()


@pytest.mark.parametrize(("factor", "shift"), [(100.0, 0.0), (1.8, 32.0), (-2.0, 5.0)])
def test_a_multiple_of_another_column_is_told(factor: float, shift: float) -> None:
    values = normal(60)
    others = [f"{float(value or 0) * factor + shift:.3f}" for value in values]
    (repeat,) = profiled({"other": others, "value": values}).repeats
    assert (repeat.how, {repeat.first, repeat.second}) == ("linear", {"other", "value"})


def test_columns_that_go_together_loosely_are_no_repeats() -> None:
    values, noise = normal(60), normal(60, mean=0, deviation=0.5, seed=2)
    others = [f"{float(value or 0) * 2 + float(more or 0):.3f}" for value, more in zip(values, noise, strict=True)]
    assert profiled({"other": others, "value": values}).repeats == ()


# ── where values are missing ──


def test_columns_that_are_empty_in_the_same_rows_are_told() -> None:
    first, second, third = normal(40), normal(40, seed=2), normal(40, seed=3)
    for row in (3, 8, 20, 31):
        first[row] = second[row] = None
        third[row + 1] = None
    assert profiled({"a": first, "b": second, "c": third}).missing_together == (("a", "b"),)


def test_values_missing_with_a_label_are_told() -> None:
    regions = picked(["North", "South", "East"], 120)
    amounts = [None if region == "South" else value for region, value in zip(regions, normal(120), strict=True)]
    table = profiled({"region": regions, "amount": amounts})
    assert table.columns[1].null_pattern == "whenever region is 'South' (100 % of those rows)"


def test_values_missing_anywhere_have_no_pattern() -> None:
    amounts = [None if row % 6 == 1 else value for row, value in enumerate(normal(120))]
    assert profiled({"region": picked(["North", "South"], 120), "amount": amounts}).columns[1].null_pattern == ""


def test_values_missing_at_the_end_or_in_a_block_are_told() -> None:
    values = normal(60)
    at_end = profiled({"a": [*values[:50], *[None] * 10], "b": normal(60, seed=2)})
    in_block = profiled({"a": [*values[:20], *[None] * 10, *values[30:]], "b": normal(60, seed=2)})
    assert at_end.columns[0].null_pattern == "at the end: the last 10 rows"
    assert in_block.columns[0].null_pattern == "in one block of 10 rows, from row 21 to row 30"
