"""Facts of variables: right for every library, the same for the same values, and bounded however large they are."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cellwright_guest.element_scan import EXACT_BYTES
from cellwright_guest.report_wire import MOST_COLUMNS, MOST_TEXT, MOST_VARIABLES, ColumnFacts, FactsTold, VariableFacts
from cellwright_guest.variable_facts import facts_of

MB = 1 << 20
LARGE_ROWS = 130_000_000


def facts(value: object) -> VariableFacts:
    [found] = facts_of([("x", value)])
    return found


def told(column: ColumnFacts) -> tuple[str, int | None, str, str]:
    assert column.is_exact
    return column.type, column.nulls, column.smallest, column.largest


def values(value: object) -> ColumnFacts:
    found = facts(value).values
    assert found is not None
    return found


DAYS: Any = ["2024-01-31", None, "2023-05-06"]
MOMENTS: Any = ["2024-01-31 12:30", None, "2023-05-06"]
PANDAS = pd.DataFrame(
    {
        "count": [3, 1, 2],
        "price": [1.5, None, -2.0],
        "name": ["a", None, "b"],
        "day": pd.to_datetime(DAYS),
        "zoned": pd.to_datetime(MOMENTS, format="ISO8601", utc=True),
        "kind": pd.Categorical(["x", None, "x"]),
        "whole": pd.array([7, None, 5], dtype="Int64"),
        "flag": [True, False, True],
        "took": pd.to_timedelta([1, None, 3], unit="h"),
        "mixed": pd.Series(["q", 1, None], dtype=object),
    }
)


def test_a_table_of_pandas_tells_types_nulls_and_ranges() -> None:
    found = facts(PANDAS)
    assert (found.kind, found.type, found.shape) == ("dataframe", "pandas.DataFrame", [3, 10])
    assert {column.name: told(column)[1:] for column in found.columns} == {
        "count": (0, "1", "3"),
        "price": (1, "-2", "1.5"),
        "name": (1, "", ""),
        "day": (1, "2023-05-06", "2024-01-31"),
        "zoned": (1, "2023-05-06", "2024-01-31 12:30:00"),
        "kind": (1, "", ""),
        "whole": (1, "5", "7"),
        "flag": (0, "False", "True"),
        "took": (1, "1:00:00", "3:00:00"),
        "mixed": (1, "", ""),
    }


def test_tables_of_polars_and_arrow_tell_the_same() -> None:
    rows: dict[str, list[Any]] = {
        "count": [3, 1, None],
        "price": [1.5, 9.0, -2.0],
        "name": ["a", None, "b"],
        "day": [date(2024, 1, 31), None, date(2023, 5, 6)],
    }
    expected = [("count", 1, "1", "3"), ("price", 0, "-2", "9"), ("name", 1, "", "")]
    for table in (pl.DataFrame(rows), pa.table(rows)):
        found = facts(table)
        assert found.shape == [3, 4]
        assert [(each.name, *told(each)[1:]) for each in found.columns][:3] == expected
        assert told(found.columns[3])[1:] == (1, "2023-05-06", "2024-01-31")


def test_a_slice_of_an_arrow_table_counts_only_its_own_values() -> None:
    table = pa.table({"n": [None, 5, None, 1, 9], "s": ["left", "a", None, "b", "c"], "at": [datetime(2024, 1, 1)] * 5})
    sliced = facts(table.slice(1, 3)).columns
    assert [told(column)[1:] for column in sliced[:2]] == [(1, "1", "5"), (1, "", "")]
    same = facts(pa.table({"n": [5, None, 1], "s": ["a", None, "b"], "at": [datetime(2024, 1, 1)] * 3})).columns
    assert [column.digest for column in sliced] == [column.digest for column in same]


@pytest.mark.parametrize(
    ("value", "kind", "shape", "expected"),
    [
        (np.array([[1.0, np.nan], [4.0, -3.0]]), "array", [2, 2], ("float64", 1, "-3", "4")),
        (np.arange(6).reshape(2, 3).T, "array", [3, 2], ("int64", 0, "0", "5")),
        (np.array(["2024-01-01", "NaT"], "M8[D]"), "array", [2], ("datetime64[D]", 1, "2024-01-01", "2024-01-01")),
        (np.array([3, None, 1], dtype=object), "array", [3], ("object", 1, "1", "3")),
        (pd.Series([1.0, np.nan]), "series", [2], ("float64", 1, "1", "1")),
        (pl.Series("n", [4, 2]), "series", [2], ("Int64", 0, "2", "4")),
        ([4, 2.5, None], "list", [3], ("NoneType | float | int", 1, "2.5", "4")),
        ((1, "a"), "tuple", [2], ("int | str", 0, "", "")),
        ({3, 1}, "set", [2], ("int", 0, "1", "3")),
        ([], "list", [0], ("", 0, "", "")),
        (np.array([]), "array", [0], ("float64", 0, "", "")),
    ],
)
def test_elements_are_told_together(
    value: object, kind: str, shape: list[int], expected: tuple[str, int, str, str]
) -> None:
    found = facts(value)
    assert (found.kind, found.shape) == (kind, shape)
    assert found.values is not None
    assert told(found.values) == expected


def test_single_values_and_dicts_are_told_as_they_are() -> None:
    assert (facts(3).kind, facts(3).text) == ("number", "3")
    assert (facts(True).kind, facts(None).kind, facts(np.float64(2)).kind) == ("bool", "none", "number")
    assert (facts("abc").shape, facts("abc").text) == ([3], "'abc'")
    found = facts({"rate": 0.5, "names": ["a", "b"], 3: None})
    assert (found.kind, found.shape) == ("dict", [3])
    assert [(entry.name, entry.type, entry.text) for entry in found.columns] == [
        ("rate", "float", "0.5"),
        ("names", "list", "['a', 'b']"),
        ("3", "NoneType", "None"),
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.array([1.0, 2, 3]), np.array([1.0, 2.5, 3])),
        (pd.Series(["a", "b"]), pd.Series(["a", "c"])),
        (pd.Series(["ab", "c"]), pd.Series(["a", "bc"])),
        (pd.Series(["a", "b"], dtype="category"), pd.Series(["a", "c"], dtype="category")),
        (pd.Series(["a", "b"], dtype=object), pd.Series(["a", "c"], dtype=object)),
        (pl.Series(["a", "b"]), pl.Series(["a", "c"])),
        (pl.Series([1, None, 3, 9]), pl.Series([1, None, 4, 9])),
        (pa.array([1, None, 3, 9]), pa.array([1, None, 4, 9])),
        ([{"a": 1}], [{"a": 2}]),
        ("x" * 5_000 + "a", "x" * 5_000 + "b"),
    ],
)
def test_other_values_have_another_digest_and_the_same_have_the_same(one: Any, other: Any) -> None:
    assert values(one).digest != values(other).digest
    assert values(one) == values(one.copy() if hasattr(one, "copy") else one)


def test_what_lies_under_a_null_is_no_difference() -> None:
    one = pd.arrays.IntegerArray(np.array([1, 999]), np.array([False, True]))
    other = pd.arrays.IntegerArray(np.array([1, -5]), np.array([False, True]))
    assert values(pd.Series(one)) == values(pd.Series(other))
    assert values(pd.Series(one)).largest == "1"


# ── bounds ──


def peak_bytes(value: object) -> int:
    facts(value)
    tracemalloc.start()
    try:
        facts(value)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def arrow_table(rows: int) -> object:
    return pa.table({"a": pa.array(np.zeros(rows))})


MAKERS: list[Callable[[], object]] = [
    lambda: np.zeros(LARGE_ROWS),
    lambda: np.zeros(LARGE_ROWS).reshape(-1, 10).T,
    lambda: pd.DataFrame({"a": np.zeros(LARGE_ROWS // 2), "b": np.zeros(LARGE_ROWS // 2)}, copy=False),
    lambda: pl.DataFrame({"a": pl.Series(np.zeros(LARGE_ROWS))}),
    lambda: arrow_table(LARGE_ROWS),
]


@pytest.mark.parametrize("make", MAKERS, ids=["array", "transposed", "pandas", "polars", "arrow"])
def test_a_gigabyte_is_sampled_without_being_copied_and_says_so(make: Callable[[], object]) -> None:
    # np.zeros of this size is address space only: reading all of it would have to make it real.
    value = make()
    assert peak_bytes(value) < 2 * MB
    found = facts(value)
    for column in [*found.columns, *([found.values] if found.values else [])]:
        assert (column.is_exact, column.smallest, column.largest, column.nulls) == (False, "0", "0", 0)


def test_what_fits_is_read_whole_and_what_comes_after_it_is_sampled() -> None:
    whole = np.zeros(EXACT_BYTES // 8)
    whole[12_345] = 7
    first, second = facts_of([("a", whole), ("b", whole)])
    assert first.values is not None
    assert second.values is not None
    assert (first.values.is_exact, first.values.largest) == (True, "7")
    assert not second.values.is_exact


def test_nulls_of_a_sample_are_scaled_to_all_rows() -> None:
    large = np.zeros(4 * EXACT_BYTES // 8)
    large[::2] = np.nan
    found = values(large)
    assert not found.is_exact
    assert found.nulls == len(large) // 2


# Made only when its own test runs: all of them would otherwise stay in every worker.
@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: "x" * (8 * MB),
        lambda: [1] * 4_000_000,
        lambda: dict.fromkeys(range(500_000), "x"),
        lambda: pd.DataFrame({"s": pd.Series(["x" * (4 * MB)] * 2, dtype="str")}),
        lambda: pd.DataFrame({"o": pd.Series(["x" * (4 * MB)] * 2, dtype=object)}),
        lambda: pl.DataFrame({"s": ["x" * (4 * MB)] * 2, "l": [[1] * 250_000] * 2}),
        lambda: 10**1_000_000,
    ],
    ids=["str", "list", "dict", "str cells", "object cells", "polars cells", "integer"],
)
def test_large_values_are_never_copied_and_their_text_stays_short(make: Callable[[], object]) -> None:
    value = make()
    assert peak_bytes(value) < 2 * MB
    assert len(msgspec.json.encode(facts(value))) < MOST_COLUMNS * 1_000


def test_columns_names_and_variables_are_bounded() -> None:
    wide = facts(pd.DataFrame(np.zeros((2, 500))))
    assert (len(wide.columns), wide.columns_left, wide.shape) == (MOST_COLUMNS, 400, [2, 500])
    long = facts({"k" * 10_000: "v" * 10_000})
    assert len(long.columns[0].name.encode()) <= MOST_TEXT
    assert len(facts_of((f"v{number}", 1) for number in range(1_000))) == MOST_VARIABLES
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(FactsTold(request=1, facts=[wide, long])), type=FactsTold)


# ── hostile values ──


class Raises:
    """Refuses to be looked at."""

    def __repr__(self) -> str:
        raise ValueError("no")

    def __len__(self) -> int:
        raise ValueError("no")


class Endless(pd.DataFrame):
    """Never comes to an end."""

    @property
    def columns(self) -> Any:  # pyrefly: ignore[bad-override]  # a notebook may, too
        while True:
            pass


def test_a_value_that_raises_or_never_ends_is_said_and_the_rest_is_told() -> None:
    told = facts_of([("bad", Raises()), ("endless", Endless()), ("good", [1, 2])])
    assert [each.name for each in told] == ["bad", "endless", "good"]
    assert "too long" in told[1].problem
    assert told[2].values is not None
    assert told[2].values.largest == "2"


@pytest.mark.slow
def test_nothing_is_imported_and_no_thread_is_started() -> None:
    code = """
import os, sys
from cellwright_guest.variable_facts import facts_of
heavy = {"numpy", "pandas", "polars", "pyarrow"}
facts_of([("a", [1, 2]), ("d", {"a": 1}), ("o", object())])
print(sorted(heavy & set(sys.modules)))
import numpy, pandas, polars, pyarrow
values = numpy.arange(3_000_000.0)
texts = [str(number) for number in range(1000)]
before = len(os.listdir("/proc/self/task"))
facts_of([
    ("n", values), ("p", pandas.DataFrame({"a": values, "b": "x"})), ("t", pandas.Series(texts)),
    ("l", polars.DataFrame({"a": values})), ("lt", polars.Series(texts)), ("r", pyarrow.table({"a": values})),
])
print(len(os.listdir("/proc/self/task")) - before)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert ended.stdout.split("\n")[:2] == ["[]", "0"], ended.stderr
