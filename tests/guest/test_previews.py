"""Every kind of value, as a model sees it."""

import collections
import dataclasses
import enum
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import altair
import duckdb
import marimo as mo
import matplotlib as mpl
import msgspec
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from matplotlib.figure import Figure
from sklearn.linear_model import LinearRegression, LogisticRegression

from cellwright_guest import report_wire
from cellwright_guest.previews import columns, preview, preview_all

mpl.use("agg")
UNHURRIED = 60.0
"""What is tested here is what is seen, not how soon."""


def seen(value: object, tokens: int = 200) -> tuple[str, str, str]:
    shown = preview("x", value, tokens=tokens, seconds=UNHURRIED)
    return shown.kind, shown.type, shown.text


def said_by(program: str) -> str:
    """What a Python of its own prints."""
    done = subprocess.run([sys.executable, "-c", program], check=True, timeout=300, capture_output=True, text=True)
    return done.stdout


def frame(rows: int = 4) -> Any:
    return pd.DataFrame(
        {
            "id": range(rows),
            "price": [0.5, None, 2.25, 8.0] * (rows // 4),
            "name": ["ada", "bob", None, "dan"] * (rows // 4),
            "day": pd.date_range("2024-01-01", periods=rows, freq="D"),
        }
    )


PLAIN = snapshot(
    [
        ("number", "int", "1"),
        ("number", "float", "1.5"),
        ("bool", "bool", "True"),
        ("none", "NoneType", "None"),
        ("text", "str", "'hello'"),
        ("text", "bytes", "b'\\x00\\x01'"),
        ("list", "list", "[1, 'a', [2, None]]"),
        ("tuple", "tuple", "(1,)"),
        ("set", "set", "{1}"),
        ("dict", "dict", "{'a': 1, (1, 2): {}}"),
        ("number", "int", "<integer of about 30,103 digits>"),
    ]
)


def test_builtins_are_shown_as_python_writes_them() -> None:
    values = [1, 1.5, True, None, "hello", b"\0\1", [1, "a", [2, None]], (1,), {1}, {"a": 1, (1, 2): {}}, 1 << 100_000]
    assert [seen(value) for value in values] == PLAIN


def test_a_pandas_frame_shows_shape_types_nulls_ranges_and_first_rows() -> None:
    assert seen(frame(24)) == snapshot(
        (
            "dataframe",
            "pandas.DataFrame",
            """\
24 rows × 4 columns
id: int64, 0 … 23
price: float64, nulls 6, 0.5 … 8
name: str, nulls 6
day: datetime64[us], 2024-01-01 00:00:00 … 2024-01-24 00:00:00
first rows:
id | price | name | day
0 | 0.5 | ada | 2024-01-01 00:00:00
1 | null | bob | 2024-01-02 00:00:00
2 | 2.25 | null | 2024-01-03 00:00:00
3 | 8 | dan | 2024-01-04 00:00:00
4 | 0.5 | ada | 2024-01-05 00:00:00\
""",
        )
    )


def test_a_small_table_is_shown_whole_and_of_its_columns_only_what_the_rows_do_not_show() -> None:
    assert seen(frame())[2] == snapshot(
        """\
4 rows × 4 columns
rows:
id: int64 | price: float64 | name: str | day: datetime64[us]
0 | 0.5 | ada | 2024-01-01 00:00:00
1 | null | bob | 2024-01-02 00:00:00
2 | 2.25 | null | 2024-01-03 00:00:00
3 | 8 | dan | 2024-01-04 00:00:00\
"""
    )
    assert "id: int64, 0 … 3\n" in seen(frame(), tokens=60)[2]
    assert seen(pd.DataFrame([range(30)]))[2].count("int64 | ") == 29


def test_text_that_would_pass_for_something_else_in_a_row_is_quoted() -> None:
    texts = ["007", " a", "two  blanks", "null", "", "1e3", "a 7", "2024-01-01", None]
    expected = ["'007'", "' a'", "'two  blanks'", "'null'", "''", "'1e3'", "a 7", "2024-01-01", "null"]
    tables = (pd.DataFrame({"t": texts}), pl.DataFrame({"t": texts}), pa.table({"t": texts}))
    assert [seen(table)[2].splitlines()[3:] for table in tables] == [expected] * 3


def test_a_short_row_is_not_cut_and_a_long_one_keeps_what_tells_its_values_apart() -> None:
    address = "https://api.example.com/v1/items/{}/details?format=json&lang=en"
    short = pd.DataFrame({"address": [address.format(number) for number in range(3)]})
    assert seen(short)[2].splitlines()[3] == address.format(0)
    long = pd.DataFrame({f"address {column}": short["address"] for column in range(4)})
    for number, line in enumerate(seen(long, tokens=600)[2].splitlines()[3:]):
        cells = line.split(" | ")
        assert len("".join(cells)) <= 120
        assert all(f"s/{number}/d" in cell and "…" in cell for cell in cells)
    parted = pd.DataFrame({"t": [f"{number} of {'x' * 5_000} of {number}" for number in range(3)]})
    ends = [line[:5] + line[-5:] for line in seen(parted)[2].splitlines()[3:]]
    assert ends == ["0 of  of 0", "1 of  of 1", "2 of  of 2"]


def test_ranges_and_nulls_of_a_million_rows_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    # A busy machine must not make a sample of it.
    monkeypatch.setattr(columns, "EXACT_SECONDS", 60)
    big = frame(1_000_000)
    big.loc[777_777, "id"] = -5
    big.loc[888_888, "day"] = pd.Timestamp("1999-12-31 23:59")
    _, _, text = seen(big)
    assert "1,000,000 rows × 4 columns" in text
    assert "id: int64, -5 … 999999" in text
    assert "price: float64, nulls 250,000, 0.5 …" in text
    assert "day: datetime64[us], 1999-12-31 23:59:00 …" in text
    assert "sampled" not in text


def test_where_there_is_no_time_for_all_it_says_that_a_sample_was_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "EXACT_SECONDS", -1)
    _, _, text = seen(frame(40_000))
    assert "id: int64, 0 … 39999 (sampled)" in text
    assert "price: float64, nulls 25% (sampled), 0.5 … 8 (sampled)" in text


def test_rows_come_with_their_labels_and_names_as_code_must_write_them() -> None:
    table = pd.DataFrame({"kind": ["b", "a", "b"], " two  spaces": [1, 2, 4]})
    assert seen(table.groupby("kind")[" two  spaces"].sum())[2] == snapshot("""\
2 values, Index a … b
rows:
kind | ' two  spaces': int64
a | 2
b | 5\
""")
    assert seen(table.pivot_table(index="kind", values=" two  spaces", aggfunc=["min", "max"]))[2] == snapshot("""\
2 rows × 2 columns, Index a … b
rows:
kind | (min, ' two  spaces'): int64 | (max, ' two  spaces'): int64
a | 2 | 2
b | 1 | 4\
""")
    assert seen(table.describe())[2].splitlines()[-2:] == ["75% | 3", "max | 4"]


def test_polars_arrow_and_pandas_show_the_same_facts() -> None:
    pandas_frame = frame().drop(columns="day")
    polars_frame = pl.DataFrame(
        {"id": [0, 1, 2, 3], "price": [0.5, None, 2.25, 8.0], "name": ["ada", "bob", None, "dan"]}
    )
    arrow_table = pa.table({"id": [0, 1, 2, 3], "price": [0.5, None, 2.25, 8.0], "name": ["ada", "bob", None, "dan"]})
    rows = [seen(table)[2].splitlines()[3:] for table in (pandas_frame, polars_frame, arrow_table)]
    assert rows[0] == rows[1] == rows[2]
    assert seen(polars_frame)[2].splitlines()[2] == "id: Int64 | price: Float64 | name: String"
    assert seen(pl.concat([polars_frame] * 6))[2].splitlines()[:4] == snapshot(
        ["24 rows × 3 columns", "id: Int64, 0 … 3", "price: Float64, nulls 6, 0.5 … 8", "name: String, nulls 6"]
    )
    assert seen(arrow_table.to_batches()[0])[0:2] == ("dataframe", "pyarrow.RecordBatch")


def test_series_and_indexes_are_series() -> None:
    assert seen(frame()["price"]) == snapshot(
        ("series", "pandas.Series", "4 values\nrows:\nprice: float64\n0.5\nnull\n2.25\n8")
    )
    assert seen(pl.Series("a", [1, 2]))[0] == "series"
    assert seen(pa.chunked_array([[1, 2], [3]]))[2].startswith("3 values")
    assert seen(frame().set_index("day").index)[2].startswith("4 values\nrows:\nindex: datetime64[us]")
    assert "DatetimeIndex 2024-01-01" in seen(frame().set_index("day"))[2]


def test_odd_frames_are_no_trouble() -> None:
    wide = pd.DataFrame(np.zeros((3, 5_000)))
    assert "3 rows × 5,000 columns" in seen(wide)[2]
    assert "more columns" in seen(wide)[2]
    assert seen(pd.DataFrame())[2] == "0 rows × 0 columns"
    assert seen(pd.DataFrame({"a": []}))[2] == "0 rows × 1 column\na: float64"
    twice = pd.DataFrame([[1, "x"]], columns=["a", "a"])
    assert "a: int64" in seen(twice)[2]
    levels = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]))
    assert "(a, 1): int64" in seen(levels)[2]
    mixed = pd.DataFrame({"o": [1, "x", None, {"k": frame()}], "i": pd.array([1, None, 3, 4], dtype="Int64")})
    assert "i: Int64" in seen(mixed)[2]
    sparse = pd.DataFrame({"s": pd.arrays.SparseArray([0, 0, 1])})
    assert "s: Sparse[int64, 0]" in seen(sparse)[2]


def test_nested_and_temporal_arrow_columns_are_shown_without_pandas() -> None:
    table = pa.table(
        {
            "when": pa.array([1_700_000_000_000_000_000], pa.timestamp("ns")),
            "label": pa.array(["a"]).dictionary_encode(),
            "items": [[1, 2, 3, 4]],
            "record": [{"a": 1}],
        }
    )
    assert "2023-11-14 22:13:20 | a | [1, 2, 3, … 4 items] | <struct<a: int64>>" in seen(table)[2]


def test_a_duckdb_relation_is_not_executed() -> None:
    relation = duckdb.sql("select error('executed') as a, 1::bigint as b")
    assert seen(relation) == snapshot(
        ("dataframe", "duckdb.DuckDBPyRelation", '2 columns, not executed\na: "NULL"\nb: BIGINT')
    )


def test_polars_previews_start_no_threads_and_collect_nothing() -> None:
    program = """
import json, os
import polars as pl
import pytest
from cellwright_guest.previews import preview
frame = pl.DataFrame({"a": range(5000), "s": ["x"] * 5000, "l": [[1, 2]] * 5000})
lazy = frame.lazy().map_batches(lambda f: 1 / 0)
before = len(os.listdir("/proc/self/task"))
texts = [preview("x", value, seconds=60).text for value in (frame, frame["s"], lazy)]
print(json.dumps({"started": len(os.listdir("/proc/self/task")) - before, "texts": texts}))
"""
    told = json.loads(said_by(program))
    assert told["started"] == 0
    assert "5,000 rows × 3 columns" in told["texts"][0]
    assert "lazy" in told["texts"][2]


def test_a_lazy_frame_shows_its_schema_once_polars_runs_anyway() -> None:
    lazy = pl.DataFrame({"a": [1]}).lazy()
    lazy.with_columns(b=pl.col("a") * 2.0).collect()
    assert seen(lazy)[2] == "1 column, lazy, not collected\na: Int64"


def test_arrays_show_type_shape_range_and_first_elements() -> None:
    assert seen(np.arange(6).reshape(2, 3)) == ("array", "numpy.ndarray", "int64 array 2 × 3: [[0, 1, 2], [3, 4, 5]]")
    text = seen(np.linspace(0, 1, 10_000).reshape(100, 100).T)[2]
    assert text.startswith("float64 array 100 × 100, 0 … 1: 0, 0.010001")
    assert seen(np.float32(1.5)) == ("number", "numpy.float32", "np.float32(1.5)")
    assert seen(np.zeros((0, 3)))[2] == "float64 array 0 × 3"
    assert seen(np.array(5))[2] == "int64 array scalar: 5"
    assert seen(np.ma.masked_array([1, 2], mask=[False, True]))[0] == "array"
    assert seen(np.zeros(3, dtype=[("a", int), ("b", "U5")]))[0] == "array"


class DeviceTensor:
    dtype = "bfloat16"
    shape = (2, 1024)
    device = "cuda:0"


def test_tensors_elsewhere_are_shown_by_their_shape_alone() -> None:
    assert seen(DeviceTensor())[::2] == ("array", "bfloat16 array 2 × 1,024 on cuda:0")


@dataclasses.dataclass
class Point:
    x: int
    frame: object
    token: str = dataclasses.field(default="hush", repr=False)


class Account(pydantic.BaseModel):
    name: str
    password: pydantic.SecretStr
    hidden: str = pydantic.Field(default="hush", repr=False)


def test_models_show_their_fields_and_keep_their_secrets() -> None:
    assert seen(Point(1, frame()))[::2] == ("model", "Point(x=1, frame=<pandas.DataFrame: 4 rows × 4 columns>)")
    account = Account(name="ada", password=pydantic.SecretStr("hush"))
    assert seen(account)[::2] == ("model", "Account(name='ada', password=SecretStr('**********'))")
    assert seen(LogisticRegression(C=2))[::2] == ("model", "LogisticRegression(C=2), not fitted")
    assert "fitted: n_features_in_, coef_" in seen(LinearRegression().fit([[1], [2]], [1, 2]))[2]


def add(a: int, b: object = None, *rest: int, key: str = "k", **more: float) -> list[int]:
    """Add them up.

    Slowly.
    """
    return [a]


def test_code_shows_its_signature_and_first_line_of_documentation() -> None:
    assert seen(add)[::2] == (
        "function",
        "add(a: int, b: object=None, *rest: int, key: str='k', **more: float) -> list[int]: Add them up.",
    )
    assert seen(len)[2] == "len(obj, /): Return the number of items in a container."
    assert seen(pd)[2].startswith("module pandas ")
    assert seen(Point)[2].startswith("class ")
    assert "made by Point(x: int, frame: object" in seen(Point)[2]


def test_interface_elements_show_label_kind_and_value() -> None:
    assert seen(mo.ui.slider(1, 10, value=3, label="Size"))[::2] == ("ui", "mo.ui.slider 'Size' = 3")
    assert seen(mo.md("# Title *x*"))[::2] == ("markdown", "# Title *x*")
    assert seen(mo.ui.table(frame()))[2] == "mo.ui.table = <pandas.DataFrame: 0 rows × 4 columns>"


def test_a_matplotlib_figure_gets_one_small_picture() -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.plot([1, 2, 3])
    axes.set_title("Sales")
    shown = preview_all([("axes", axes), ("figure", figure)], seconds=UNHURRIED, each_seconds=UNHURRIED)
    assert [variable.kind for variable in shown] == ["figure", "figure"]
    assert shown[0].picture.startswith(b"\x89PNG")
    assert len(shown[0].picture) <= 40_000
    assert shown[1].picture == b""
    assert shown[1].text == "figure 6.4×4.8 in, 1 axes\ntitle 'Sales'; 1 line"


def test_a_figure_with_millions_of_points_is_not_drawn() -> None:
    figure = Figure()
    figure.subplots().plot(np.zeros(1_000_000))
    shown = preview("figure", figure, seconds=UNHURRIED)
    assert (shown.kind, shown.picture) == ("figure", b"")


def test_an_altair_chart_is_described_without_its_data() -> None:
    chart = altair.Chart(frame()).mark_bar().encode(x="id:Q", y=altair.Y("price", aggregate="sum"))
    assert seen(chart.properties(title="Sales"))[::2] == ("figure", "chart bar 'Sales' x=id:Q, y=sum(price)")
    assert seen(chart + chart)[2].startswith("chart layer of 2 (bar x=id:Q")


class Pair(NamedTuple):
    a: int
    b: int


class Colour(enum.Enum):
    RED = 1


def test_other_objects_show_what_they_hold() -> None:
    bag = collections.Counter("aab")
    assert seen(bag)[::2] == ("dict", "Counter({'a': 2, 'b': 1})")
    assert seen(Pair(1, 2))[::2] == ("tuple", "Pair(a=1, b=2)")
    assert seen(Colour.RED)[2] == "<Colour.RED: 1>"
    assert seen(ValueError("bad"))[::2] == ("exception", "ValueError: bad")
    assert seen(object())[2] == "<object object>"
    assert seen(Path("a"))[2] == "PosixPath('a')"
    assert seen({"f": frame(), "a": np.zeros(3)})[2] == (
        "{'f': <pandas.DataFrame: 4 rows × 4 columns>, 'a': <float64 array 3>}"
    )


def test_containers_that_hold_themselves_end() -> None:
    loop: list[object] = [1]
    loop.append(loop)
    assert "…" in seen(loop)[2]


def test_text_can_always_be_sent() -> None:
    shown = preview("n\ud800", ["\ud800", "\x1b[31m"])
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(shown), type=report_wire.Variable).kind == "list"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.builds(object),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner, inner),
    max_leaves=40,
)


@given(VALUES, st.integers(1, 300))
def test_a_preview_never_exceeds_its_bound_and_never_raises(value: object, tokens: int) -> None:
    shown = preview("x", value, tokens=tokens, seconds=UNHURRIED)
    assert len(shown.text.encode()) <= max(tokens, 8) * 3
    msgspec.msgpack.encode(shown)


@given(st.lists(st.none() | st.integers() | st.text() | st.floats(), max_size=20), st.integers(1, 300))
def test_a_table_never_exceeds_its_bound(values: list[object], tokens: int) -> None:
    for table in (pd.DataFrame({"a": pd.Series(values, dtype=object)}), pd.Series(values, dtype=object)):
        assert len(preview("x", table, tokens=tokens, seconds=UNHURRIED).text.encode()) <= max(tokens, 8) * 3


def test_no_library_is_imported_for_a_preview() -> None:
    program = """
import sys
from cellwright_guest.previews import preview
text = preview("x", [object(), {1: ValueError("x")}, open]).text
print(*sorted({"pandas", "polars", "pyarrow", "numpy", "matplotlib", "altair", "duckdb", "sklearn"} & set(sys.modules)))
print("ValueError" in text)
"""
    assert said_by(program).splitlines() == ["", "True"]
