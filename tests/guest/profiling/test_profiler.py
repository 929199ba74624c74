from __future__ import annotations

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright_guest.profiling.profiler import profile_tables
from cellwright_guest.profiling.readers.reader import read_tables
from cellwright_guest.profiling.records import Profile, ProfileRequest
from tests.guest.profiling.raw_tables import TODAY, profile, raw_table

_PIECES = st.sampled_from([
    "1", "0", "-1", "9999", "1,5", "1.5", "1.234,5", "€5", "5 kg", "5 lb", "5%", "(5)", "inf", "nan", "1e999", "-",
    "n/a", "Total", "a", "A", " a ", "yes", "no", "2024-01-31", "2024-02-30", "31/01/2024", "1/2/2024", "Jan 5, 2024",
    "10:00", "20240131", "007", "\x00", "é", "😀", "9" * 400, "x" * 3000, "=1+1", "'", '"', "\n", "+", ".", ",", "$",
    "%", "e5",
])  # fmt: skip


def _is_sound(told: Profile) -> bool:
    return msgspec.json.decode(msgspec.json.encode(told), type=Profile) == told


@pytest.mark.slow
@given(st.lists(st.tuples(*[st.one_of(st.none(), _PIECES, st.text(max_size=12))] * 3), max_size=14))
def test_no_text_whatever_breaks_a_profile(rows: list[tuple[str | None, ...]]) -> None:
    columns = {name: [row[place] for row in rows] for place, name in enumerate("abc")}
    assert _is_sound(profile(raw_table(columns, name="one"), raw_table(columns, name="two", is_text=False)))


@given(
    st.lists(st.one_of(st.none(), st.floats()), max_size=20),
    st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), max_size=20),
)
def test_no_number_whatever_breaks_a_profile(reals: list[float | None], wholes: list[int | None]) -> None:
    real = raw_table({"r": pa.array(reals, pa.float64())}, name="one", is_text=False)
    whole = raw_table({"w": pa.array(wholes, pa.int64())}, name="two", is_text=False)
    assert _is_sound(profile(real, whole))


def test_a_table_without_columns_or_rows_is_told() -> None:
    told = profile(raw_table({}, name="none"), raw_table({"a": [], "b": []}, name="empty"))
    assert [(table.name, len(table.columns)) for table in told.tables] == [("none", 0), ("empty", 2)]
    assert _is_sound(told)


@given(
    st.lists(st.one_of(st.none(), st.integers(-(2**31), 2**31 - 1)), max_size=12),
    st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), max_size=12),
)
def test_no_moment_whatever_breaks_a_profile(dates: list[int | None], moments: list[int | None]) -> None:
    first = raw_table({"d": pa.array(dates, pa.date32())}, name="one", is_text=False)
    second = raw_table({"birth": pa.array(moments, pa.timestamp("s"))}, name="two", is_text=False)
    assert _is_sound(profile(first, second))


def test_types_of_every_sort_are_told() -> None:
    columns = {
        "decimal": pa.array([1, 2], pa.decimal128(10, 2)),
        "duration": pa.array([1, 2], pa.duration("s")),
        "clock": pa.array([1, 2], pa.time32("s")),
        "zoned": pa.array([10**12, 2], pa.timestamp("ns", "UTC")),
        "view": pa.array(["a", "b"], pa.string_view()),
        "large": pa.array(["a", "b"], pa.large_string()),
        "small": pa.array([1, 2], pa.float16()),
        "unsigned": pa.array([1, 2**63], pa.uint64()),
        "struct": pa.array([{"a": 1}, None]),
        "fixed": pa.array([b"ab", b"cd"], pa.binary(2)),
    }
    (table,) = profile(raw_table(columns, is_text=False)).tables
    assert [column.kind for column in table.columns] == [
        "number", "number", "time", "datetime", "text", "text", "number", "integer", "nested", "nested",
    ]  # fmt: skip


def test_the_bundled_shop_is_read_and_its_tables_are_joined() -> None:
    tables, skipped, notes = read_tables(
        ProfileRequest(paths=("examples/data/orders.csv", "examples/data/customers.csv"))
    )
    told = profile_tables(tables, skipped, notes, today=TODAY)
    assert [(join.left, join.right, join.relation) for join in told.joins] == [("orders", "customers", "many-to-one")]
    orders = next(table for table in told.tables if table.name == "orders")
    kinds = {oddity.kind for oddity in orders.oddities}
    assert kinds >= {
        "sentinel", "decimal-comma", "currency-text", "mixed-date-formats", "total-rows", "repeated-header",
        "footnotes", "near-duplicate-labels", "duplicate-rows", "outliers",
    }  # fmt: skip
    assert orders.time_column == "order_date"
    assert [(repeat.first, repeat.second) for repeat in orders.repeats] == [("weight_kg", "weight_g")]
