from __future__ import annotations

import numpy as np
import pytest

from tests.guest.profiling.raw_tables import days, normal, odd, oddities_of, picked, profiled, written
from tests.sampling import some


def _clean(seed: int, count: int) -> dict[str, list[str | None]]:
    generator = np.random.default_rng(seed)
    wholes = [str(place) for place in range(1, count + 1)]
    moments = np.datetime64("2023-01-01T00:00:00") + generator.integers(0, 365 * 86400, count).astype("m8[s]")
    return {
        "order_id": list(wholes),
        "date": [str(np.datetime64("2023-01-01") + day) for day in generator.integers(0, 365, count).astype("m8[D]")],
        "moment": [str(moment) for moment in moments],
        "region": picked(["North", "South", "East", "West"], count, seed=seed),
        "product": picked([f"Product {letter}" for letter in "ABCDEFGH"], count, seed=seed + 1),
        "city": picked(["Berlin", "Bremen", "Hamburg", "Munich", "Leipzig"], count, seed=seed + 2),
        "is_active": picked(["yes", "no"], count, seed=seed + 3),
        "height": written(generator.normal(170, 8, count)),
        "temperature": written(generator.normal(5, 8, count), 1),
        "score": [None if chance < 0.05 else f"{value:.3f}" for value, chance in generator.random((count, 2))],
        "amount": written(generator.lognormal(3, 1, count)),
        "wait": written(generator.exponential(10, count)),
        "quantity": written(generator.poisson(4, count), 0),
        "visits": written(generator.poisson(20, count), 0),
        "rating": written(generator.integers(1, 6, count), 0),
        "age": written(generator.integers(18, 90, count), 0),
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", some(range(50), 6))
def test_clean_data_raises_no_alarm(seed: int) -> None:
    table = profiled(_clean(seed, (30, 300, 2000)[seed % 3]))
    assert [oddity.says for oddity in table.oddities if oddity.severity != "note"] == []
    assert table.keys[0] == ("order_id",)
    assert (table.time_column, table.repeats, table.missing_together) == ("date", (), ())
    assert [column.null_pattern for column in table.columns if column.null_pattern] == []


# ── numbers ──


@pytest.mark.parametrize("sentinel", ["9999", "-999", "-99", "999999", "0", "-1"])
def test_a_repeated_value_at_the_edge_far_from_the_rest_is_a_sentinel(sentinel: str) -> None:
    (oddity,) = oddities_of([*normal(200), *[sentinel] * 4], "sentinel")
    assert (oddity.values, oddity.count, oddity.severity, oddity.rows) == (
        (sentinel,),
        4,
        "problem",
        (200, 201, 202, 203),
    )
    assert oddity.says.startswith(f"value holds {sentinel} in 4 rows, far from all other values (7")


def test_two_sentinels_are_both_found() -> None:
    found = oddities_of([*normal(200), *["9999"] * 4, *["-999"] * 3], "sentinel")
    assert sorted(oddity.values for oddity in found) == [("-999",), ("9999",)]


@pytest.mark.parametrize(
    "values",
    [
        [str(number) for number in range(9900, 10100)] + ["9999"] * 5,
        [*normal(200), "9999"],
        [*normal(200, mean=0.0), *["-1"] * 4],
        [*normal(200, mean=0.0), *["0"] * 4],
        [str(number % 7) for number in range(200)],
    ],
)
def test_a_value_like_others_or_seen_once_is_no_sentinel(values: list[str | None]) -> None:
    assert oddities_of(values, "sentinel") == []


def test_a_value_far_from_the_rest_is_an_outlier() -> None:
    (oddity,) = oddities_of([*normal(300), "1000", "-700"], "outliers")
    assert (oddity.count, oddity.rows, set(oddity.values)) == (2, (300, 301), {"1000", "-700"})


def test_a_long_tail_makes_no_outliers_but_is_called_skewed() -> None:
    values = written(np.random.default_rng(3).lognormal(3, 1.2, 3000))
    assert oddities_of(values, "outliers") == []
    (oddity,) = oddities_of(values, "skewed")
    assert oddity.severity == "note"
    assert oddities_of(normal(3000), "skewed") == []


def test_infinite_values_are_told() -> None:
    (oddity,) = oddities_of([*normal(30), "inf", "-Infinity"], "infinities")
    assert (oddity.count, oddity.values) == (2, ("inf", "-Infinity"))
    assert oddities_of(normal(30), "infinities") == []


def test_a_negative_quantity_is_told_where_the_name_forbids_it() -> None:
    values = [*normal(100), "-12.5"]
    assert oddities_of(values, "negative-where-positive", name="weight_kg")[0].values == ("-12.5",)
    assert oddities_of(values, "negative-where-positive", name="change") == []


# ── emptiness ──


def test_constants_and_empty_columns_are_told() -> None:
    table = profiled({"same": ["a"] * 10, "gone": [None] * 10, "rare": ["1", "2", *[None] * 8], "full": normal(10)})
    kinds = {(oddity.kind, oddity.column) for oddity in table.oddities}
    assert kinds == {("constant", "same"), ("all-null", "gone"), ("mostly-null", "rare")}


# ── labels ──


@pytest.mark.parametrize(
    ("labels", "group"),
    [
        (["North", "North", "north", "South"], ("North", "north")),
        (["São Paulo", "Sao Paulo", "São Paulo", "Rio"], ("São Paulo", "Sao Paulo")),
        (["A.B.C.", "A.B.C.", "A B C", "D"], ("A.B.C.", "A B C")),
        ([*["Hamburg"] * 20, "Hambrug", *["Berlin"] * 9], ("Hamburg", "Hambrug")),
        ([*["Electronics"] * 30, "Elektroniks", *["Toys"] * 9], ("Electronics", "Elektroniks")),
    ],
)
def test_spellings_of_one_label_are_found_the_commonest_first(labels: list[str | None], group: tuple[str, ...]) -> None:
    (oddity,) = oddities_of(labels, "near-duplicate-labels")
    assert oddity.values == group


@pytest.mark.parametrize(
    "labels",
    [
        ["North", "South"],
        [f"Product {letter}" for letter in "ABCD"],
        ["Austria", "Australia"],
        ["Iran", "Iraq"],
        ["Slovakia", "Slovenia"],
        ["2023", "2024"],
        ["Grade 10", "Grade 11"],
        ["male", "female"],
    ],
)
def test_labels_that_are_truly_different_stay_apart(labels: list[str]) -> None:
    assert oddities_of([*labels * 20, labels[0]] * 2, "near-duplicate-labels") == []


def test_spaces_around_text_are_told() -> None:
    (oddity,) = oddities_of(["North", " North", "South ", "South"], "spaces-around")
    assert (oddity.count, oddity.values) == (2, (" North", "South "))
    assert oddities_of(["North East", "South"], "spaces-around") == []


def test_a_label_that_is_nearly_everything_is_told() -> None:
    assert oddities_of([*["a"] * 97, *["b"] * 3], "unbalanced")[0].severity == "note"
    assert oddities_of([*["a"] * 60, *["b"] * 40], "unbalanced") == []


# ── rows ──


def _sales(count: int) -> dict[str, list[str | None]]:
    return {
        "id": [str(place) for place in range(1000, 1000 + count)],
        "day": days(count),
        "region": picked(["North", "South", "East"], count),
        "amount": normal(count),
    }


def test_rows_that_repeat_are_counted() -> None:
    columns = {name: [*values, *values[:3]] for name, values in _sales(50).items()}
    (oddity,) = odd(profiled(columns), "duplicate-rows")
    assert (oddity.count, oddity.rows, oddity.severity) == (3, (50, 51, 52), "warning")
    assert odd(profiled(_sales(50)), "duplicate-rows") == []


def test_rows_of_few_labels_repeat_by_chance() -> None:
    table = profiled({"region": picked(["a", "b"], 100), "kind": picked(["x", "y"], 100, seed=2)})
    assert [oddity for oddity in table.oddities if oddity.severity != "note"] == []


def test_rows_that_repeat_but_for_case_are_near_duplicates() -> None:
    columns = {name: [*values, values[3]] for name, values in _sales(50).items()}
    region = columns["region"][3]
    assert region is not None
    columns["region"][-1] = f"{region.upper()} "
    (oddity,) = odd(profiled(columns), "near-duplicate-rows")
    assert (oddity.count, oddity.rows) == (1, (50,))
    assert "case or spaces" in oddity.says


def test_rows_that_repeat_but_for_their_key_are_near_duplicates() -> None:
    columns = {name: [*values, *values[:2]] for name, values in _sales(50).items()}
    columns["id"][-2:] = ["2001", "2002"]
    (oddity,) = odd(profiled(columns), "near-duplicate-rows")
    assert (oddity.count, oddity.rows, oddity.column) == (2, (50, 51), "id")
    assert odd(profiled(_sales(50)), "near-duplicate-rows") == []


def test_a_row_labelled_total_is_a_total_and_makes_no_outlier() -> None:
    columns = _sales(40)
    total = sum(float(value or 0) for value in columns["amount"])
    for name, value in (("id", None), ("day", "Total"), ("region", None), ("amount", f"{total:.2f}")):
        columns[name].append(value)
    table = profiled(columns)
    (oddity,) = odd(table, "total-rows")
    assert (oddity.column, oddity.values, oddity.rows, oddity.severity) == ("day", ("Total",), (40,), "problem")
    assert "sums of other rows" in oddity.says
    assert [other.kind for other in table.oddities if other.severity != "note"] == ["total-rows"]
    assert table.columns[1].kind == "date"


def test_subtotals_of_groups_are_totals() -> None:
    columns: dict[str, list[str | None]] = {
        "region": ["North", "North", "North total", "South", "South", "South total", "Grand total"],
        "amount": ["1", "2", "3", "4", "5", "9", "12"],
    }
    (oddity,) = odd(profiled(columns), "total-rows")
    assert (oddity.values, oddity.rows) == (("North total", "South total", "Grand total"), (2, 5, 6))


def test_a_last_row_of_sums_without_a_label_is_a_total() -> None:
    columns: dict[str, list[str | None]] = {"region": ["a", "b", "c", "d", None], "amount": ["1", "2", "3", "5", "11"]}
    assert odd(profiled(columns), "total-rows")[0].rows == (4,)
    columns["amount"][-1] = "12"
    assert odd(profiled(columns), "total-rows") == []


@pytest.mark.parametrize("label", ["All", "Total Wine", "totally"])
def test_a_label_that_only_sounds_like_a_total_is_none(label: str) -> None:
    columns: dict[str, list[str | None]] = {"shop": ["a", "b", label, "c", "d"], "amount": ["1", "2", "7", "5", "11"]}
    assert odd(profiled(columns), "total-rows") == []


def test_headers_among_the_rows_are_told_and_do_not_change_kinds() -> None:
    columns = _sales(20)
    for name, values in columns.items():
        values.insert(10, name)
    table = profiled(columns)
    (oddity,) = odd(table, "repeated-header")
    assert (oddity.rows, [column.kind for column in table.columns]) == ((10,), ["integer", "date", "text", "number"])
    assert [other.kind for other in table.oddities if other.severity != "note"] == ["repeated-header"]


def test_a_sample_names_no_rows() -> None:
    (oddity,) = odd(profiled({"a": [*normal(200), *["9999"] * 3]}, sampling="every 2nd of 406 rows"), "sentinel")
    assert oddity.rows == ()


def test_every_sentence_and_value_is_bounded() -> None:
    long = "<script>\n" + "x" * 5_000
    table = profiled({long: [*normal(50), long, long + "y"], "b": [long] * 52})
    assert all(len(oddity.says) <= 400 and "\n" not in oddity.says for oddity in table.oddities)
    assert all(len(value) <= 200 for oddity in table.oddities for value in (*oddity.values, *oddity.examples))


def test_a_few_values_a_hundred_times_too_large_stand_out_of_a_long_tail() -> None:
    generator = np.random.default_rng(4)
    values = generator.lognormal(4, 0.8, 3000)
    values[100:108] *= 100
    (oddity,) = oddities_of(written(values), "outliers")
    assert set(oddity.rows) <= set(range(100, 108))
    assert oddity.count >= 5


def test_a_total_that_does_not_add_up_is_known_by_its_empty_fields() -> None:
    columns = _sales(40)
    for name, value in (("id", "Total 2024"), ("day", None), ("region", None), ("amount", "99999.5")):
        columns[name].append(value)
    table = profiled(columns)
    assert odd(table, "total-rows")[0].values == ("Total 2024",)
    assert odd(table, "outliers") == []
