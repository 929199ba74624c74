from __future__ import annotations

import pytest

from cellwright_guest.profiling.numbers import factor_between, unit_in_name
from tests.guest.profiling.raw_tables import column_of, days, normal, picked, profiled


@pytest.mark.parametrize(
    ("name", "values", "meaning"),
    [
        ("customer_id", ["7", "8", "7", "9"], "id"),
        ("id", ["a1", "b2", "c3"], "id"),
        ("invoice", [f"INV-{number:05d}" for number in range(30)], "id"),
        ("row", [str(number) for number in range(1, 30)], "id"),
        ("zip", ["10115", "20095", "80331"], "code"),
        ("region", ["North", "South", "North", "South"], "category"),
        ("pclass", ["1", "2", "3"] * 20, "category"),
        ("rating", ["1", "2", "3", "4", "5"] * 20, "measure"),
        ("price", normal(30), "currency"),
        ("cost (EUR)", normal(30), "currency"),
        ("weight_kg", normal(30), "measure"),
        ("survived", ["0", "1", "1"], "flag"),
        ("comment", ["it broke on the first day", "works very well for me", "it is far too loud"], "text"),
        ("version", ["1.0", "1.0", "1.0"], "constant"),
        ("day", days(10), "date"),
        ("year", [str(year) for year in range(1990, 2020)], "date"),
        ("year", ["2007", "2008", "2009"] * 10, "category"),
        ("created_at", [str(1_700_000_000 + 1000 * step) for step in range(10)], "date"),
        ("date", [str(45_000 + step) for step in range(10)], "date"),
        ("count", [str(45_000 + 3 * step) for step in range(10)], "measure"),
    ],
)
def test_a_column_is_understood_by_name_and_values(name: str, values: list[str | None], meaning: str) -> None:
    assert column_of(values, name=name).meaning == meaning


def test_uuids_are_ids_whatever_the_column_is_called() -> None:
    values = [f"0000000{digit}-aaaa-4bbb-8ccc-00000000000{digit}" for digit in range(10)]
    assert column_of(values, name="x").meaning == "id"


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("weight_kg", "kg"),
        ("Price (EUR)", "EUR"),
        ("temp °C", "°C"),
        ("Distance [km]", "km"),
        ("share_pct", "%"),
        ("bill_length_mm", "mm"),
        ("revenue_usd", "USD"),
        ("checked_in", ""),
        ("kg", ""),
        ("Name (first)", ""),
        ("amount", ""),
    ],
)
def test_a_unit_is_found_in_a_name(name: str, unit: str) -> None:
    assert unit_in_name(name) == unit


def test_a_unit_is_found_in_values() -> None:
    assert column_of(["€5", "€7"], name="x").unit == "EUR"
    assert column_of(["5 kg", "7 kg"], name="x").unit == "kg"


def test_units_of_one_dimension_turn_into_each_other() -> None:
    assert factor_between("g", "kg") == pytest.approx(0.001)
    assert factor_between("kg", "km") == 0.0


def test_figures_of_a_column_are_right() -> None:
    column = column_of(["1", "2", "3", "4", None, "10"], name="x")
    assert column.numbers is not None
    assert (column.count, column.nulls, column.distinct, column.is_unique) == (5, 1, 5, True)
    assert (column.numbers.mean, column.numbers.quartiles) == (4.0, (2.0, 3.0, 4.0))
    assert (sum(column.numbers.histogram), len(column.numbers.histogram)) == (5, 20)


def test_the_commonest_values_come_first() -> None:
    column = column_of(["b", "a", "b", "c", "b", "a"], name="x")
    assert [(common.value, common.count) for common in column.common] == [("b", 3), ("a", 2), ("c", 1)]


def test_one_date_column_says_when() -> None:
    table = profiled(
        {"birth_date": days(30, first="1980-01-01"), "order_date": days(30), "region": picked(["a", "b"], 30)}
    )
    assert table.time_column == "order_date"
    assert profiled({"birth_date": days(30), "region": picked(["a", "b"], 30)}).time_column == ""
