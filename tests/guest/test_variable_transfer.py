"""Variables from one kernel process to another, through a memory file that only those two open."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.ids import CellId
from cellwright.kernel.branches.transfer_plan import plan_transfer
from cellwright.kernel.observation import CellOutcome
from cellwright.notebook.document import Cell, Document
from cellwright_guest import transfer_wire
from cellwright_guest.transfer import variable_transfer
from tests.guest.transfer_guests import Guest, memory_file

IMPORTS = """
import datetime, decimal, fractions, functools, random, sqlite3, threading
import numpy as np, pandas as pd, polars as pl, pyarrow as pa
from sklearn.linear_model import LinearRegression
import marimo as mo
"""
PLAIN = {
    "whole": "2**70",
    "nested": "{'a': [1, (2.5, None)], (1, 2): {3, 4}, 'b': b'x' * 100_000, 'c': 1j}",
    "moment": "datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)",
    "exact": "[decimal.Decimal('1.10'), fractions.Fraction(1, 3)]",
    "words": "['häuser', '\\ud83d\\ude00' * 3]",
    "of_a_library": "functools.partial(sorted, reverse=True)([1, 3, 2])",
}
FRAMES = {
    "indexed": "pd.DataFrame({'a': [1.5, None]}, index=pd.Index([3, 1], name='key'))",
    "levels": "pd.DataFrame({'n': range(4)}, index=pd.MultiIndex.from_product([[1, 2], ['a', 'b']], names=['x', 'y']))",
    "times": "pd.DataFrame({'n': range(900)}, index=pd.date_range('2026', periods=900, freq='h', tz='Europe/Berlin'))",
    "categories": "pd.DataFrame({'c': pd.Categorical(['b', None], categories=['b', 'a'], ordered=True)})",
    "objects": "pd.DataFrame({'o': pd.Series([1, 'x', None, [2]], dtype=object)})",
    "texts": "pd.DataFrame({'s': ['a', None, 'ü'] * 3000, 'i': pd.array([1, None, 3] * 3000, dtype='Int64')})",
    "spans": "pd.DataFrame({'p': pd.period_range('2026', periods=3, freq='M'), 'd': pd.to_timedelta([1, 2, 3], 's')})",
    "two_same_columns": "pd.DataFrame([[1, 2]], columns=['a', 'a'])",
    "nothing": "pd.DataFrame({'a': pd.Series([], dtype='float32')})",
}
SERIES = {"line": "pd.Series([1, 2], name='n', index=['x', 'y'])"}
POLARS = {
    "polar": "pl.DataFrame({'i': [1, None], 's': ['x', 'y'], 'd': [datetime.date(2026, 1, 1), None]})",
    "polar_kinds": "pl.DataFrame({'c': pl.Series(['a', 'b'], dtype=pl.Categorical),"
    " 'e': pl.Series(['x', 'y'], dtype=pl.Enum(['y', 'x'])), 'l': [[1], None], 't': [{'a': 1}, {'a': 2}]})",
    "polar_empty": "pl.DataFrame({'a': []}, schema={'a': pl.Int8})",
}
ARROW = {
    "arrow": "pa.table({'a': [1, None], 'b': pa.array(['x', 'y']).dictionary_encode()}, metadata={'k': 'v'})",
    "arrow_part": "pa.table({'a': range(100_000)}).slice(10, 3)",
    "arrow_batch": "pa.record_batch({'a': [1, 2]})",
}
OTHERS = """
items = [1, 2]
again = items
holder = {'inner': items, 'frame': indexed, 'polar': polar}
loop = []
loop.append(loop)
big = np.arange(1_000_000.0).reshape(1000, 1000).copy()
columns = np.asfortranarray(np.arange(1_000_000).reshape(1000, 1000))
part = big[10:20, ::2]
turned = big.T
first_rows = indexed.iloc[:1]
numbers = times['n'].to_numpy()
records = np.zeros(2000, dtype=[('a', 'i4'), ('when', 'M8[s]')])
things = np.array([1, 'x', items], dtype=object)
locked = np.arange(5000)
locked.flags.writeable = False
model = LinearRegression().fit(big[:, :3], big[:, 3])
generator = np.random.default_rng(5)
generator.random(7)
own_random = random.Random(3)
random.seed(11)
np.random.seed(12)
random.random(), np.random.rand()
slider = mo.ui.slider(1, 9, value=2)
slider._update(7)
get_count, set_count = mo.state(0)
set_count(41)

def adder(n):
    return lambda x: x + n

closure = adder(1)
short = lambda: 1
counting = (i for i in items)
lock = threading.Lock()
database = sqlite3.connect(':memory:')
elements = [slider]
on_disk = np.memmap('numbers.bin', dtype='u1', mode='w+', shape=(10,))
raw_text = "\\ud800"
bad = {'shared': items, 'lock': lock}
"""
DEFINITIONS = "import dataclasses\n@dataclasses.dataclass\nclass Point:\n    x: int\n    y: object"
UNCARRIABLE = ["closure", "short", "counting", "lock", "database", "elements", "on_disk", "bad"]
MADE = PLAIN | FRAMES | SERIES | POLARS | ARROW
NAMES = [
    *MADE,
    *("items", "again", "holder", "loop", "big", "columns", "part", "turned", "first_rows", "numbers", "records"),
    *("things", "locked", "model", "generator", "own_random", "slider", "get_count", "set_count", "raw_text", "point"),
]


class Pair:
    """The kernel that had the variables, and the one that took them over."""

    def __init__(self, giver: Guest, taker: Guest) -> None:
        self.giver, self.taker = giver, taker
        giver.apply(imports=IMPORTS, definitions=DEFINITIONS)
        giver.apply(made="\n".join(f"{name} = {value}" for name, value in MADE.items()))
        giver.apply(others=OTHERS, point="point = Point(1, items)")
        self.exported = giver.export("missing", *UNCARRIABLE, *NAMES)
        taker.apply(imports=IMPORTS, definitions=DEFINITIONS)
        taker.apply(elements="slider = mo.ui.slider(1, 9, value=2)\nget_count, set_count = mo.state(0)")
        self.restored = taker.restore()

    def agree(self, expression: str) -> bool:
        """Whether both say the same; for what changes by looking, only once."""
        return self.giver.says(expression) == self.taker.says(expression)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    file = memory_file()
    folder = tmp_path_factory.mktemp("carrying")
    with Guest(folder, file) as giver, Guest(folder, file) as taker:
        yield Pair(giver, taker)
    os.close(file)


@pytest.mark.slow
def test_everything_that_can_be_carried_arrives(pair: Pair) -> None:
    assert sorted(pair.exported["carried"]) == sorted(NAMES)
    assert sorted(pair.restored["restored"]) == sorted(NAMES)
    assert pair.restored["left"] == {}
    assert 0 < pair.exported["bytes"] < 40_000_000


@pytest.mark.slow
def test_what_cannot_be_carried_is_left_with_a_short_reason(pair: Pair) -> None:
    left = pair.exported["left"]
    assert left.keys() == {"missing", *UNCARRIABLE}
    assert all(0 < len(reason) <= 300 for reason in left.values())
    assert left["lock"] == "TypeError: cannot pickle '_thread.lock' object"
    assert left["missing"] == "it has no value"
    assert "belongs to the cell that made it" in left["elements"]
    assert "stands for a file" in left["on_disk"]


@pytest.mark.parametrize("name", PLAIN)
def test_plain_values_are_equal(pair: Pair, name: str) -> None:
    assert pair.taker.says(f"{name} == {PLAIN[name]} and type({name}) is type({PLAIN[name]})")


@pytest.mark.parametrize("name", FRAMES)
def test_a_pandas_table_is_the_same_in_every_detail(pair: Pair, name: str) -> None:
    check = f"pd.testing.assert_frame_equal({name}, {FRAMES[name]}, check_exact=True, check_freq=True)"
    assert pair.taker.says(f"{check} is None")


def test_a_pandas_table_can_be_written_to_and_its_parts_stay_as_they_were(pair: Pair) -> None:
    assert pair.taker.says(
        "[float(first_rows.iloc[0, 0]), int(numbers[3])]", "indexed.iloc[0, 0] = 99\ntimes.iloc[3, 0] = 99"
    ) == [1.5, 3]


def test_a_pandas_series_is_the_same(pair: Pair) -> None:
    assert pair.taker.says(f"pd.testing.assert_series_equal(line, {SERIES['line']}) is None")


@pytest.mark.parametrize("name", POLARS)
def test_a_polars_table_is_the_same(pair: Pair, name: str) -> None:
    assert pair.taker.says(f"{name}.equals({POLARS[name]}) and {name}.schema == ({POLARS[name]}).schema")


@pytest.mark.parametrize("name", ARROW)
def test_an_arrow_table_is_the_same_with_its_metadata(pair: Pair, name: str) -> None:
    expected = ARROW[name]
    assert pair.taker.says(f"{name}.equals({expected}, check_metadata=True) and type({name}) is type({expected})")


def test_what_variables_share_they_share_again(pair: Pair) -> None:
    assert pair.taker.says("holder['inner'] is items and again is items and things[2] is items and loop[0] is loop")
    assert pair.taker.says("holder['frame'] is indexed and holder['polar'] is polar and point.y is items")


def test_a_value_that_could_not_be_carried_breaks_nothing_that_it_shares(pair: Pair) -> None:
    assert "bad" in pair.exported["left"]
    assert pair.taker.says("items") == [1, 2]


def test_an_array_has_its_own_writable_memory_and_its_layout(pair: Pair) -> None:
    own = "[x.flags.owndata and x.flags.writeable for x in (big, columns, records)]"
    assert pair.taker.says(own) == [True, True, True]
    assert pair.taker.says("bool(columns.flags.f_contiguous and not columns.flags.c_contiguous)")
    assert pair.taker.says("[locked.flags.writeable, records.dtype == [('a', 'i4'), ('when', 'M8[s]')]]") == [
        False,
        True,
    ]
    assert pair.agree("[float(x.sum()) for x in (big, columns, part, locked)]")


def test_arrays_that_are_views_of_each_other_stay_so(pair: Pair) -> None:
    assert pair.taker.says("[float(part[0, 1]), float(turned[2, 10])]", "big[10, 2] = -1") == [-1, -1]


def test_a_model_predicts_the_same(pair: Pair) -> None:
    assert pair.agree("model.predict(np.ones((3, 3))).tolist()")


def test_random_numbers_go_on_where_the_parent_stood(pair: Pair) -> None:
    assert pair.agree("[random.random(), float(np.random.rand()), generator.random(3).tolist(), own_random.random()]")


def test_an_object_of_a_cells_class_is_one_of_the_class_of_the_cell_that_ran_here(pair: Pair) -> None:
    assert pair.taker.says("type(point) is Point and point == Point(1, items)")


def test_a_ui_element_and_a_state_have_the_values_they_had(pair: Pair) -> None:
    assert pair.taker.says("[slider.value, get_count()]") == [7, 41]


# ── a fresh kernel's way to the candidates ──


@pytest.mark.slow
def test_cells_marked_fresh_do_not_run_and_the_candidate_sees_their_values(tmp_path: Any) -> None:
    file = memory_file()
    cells = {
        "imports": "import random",
        "make": "data = [random.random() for _ in range(3)]",
        "tell": "def tell():\n    return [len(data), *more]",
        "more": "more = data[:1]",
        "unneeded": "other = len(data)",
    }
    with Guest(tmp_path, file) as giver, Guest(tmp_path, file) as taker:
        giver.apply(cells)
        expected = giver.says("tell()")
        assert giver.export("data", "more")["left"] == {}
        taker.apply(cells, run=[], reactive=False)
        taker.mark_fresh("imports", "make", "more")
        taker.apply(run=["tell"], reactive=False)
        assert taker.ran == ["tell"]
        assert taker.restore()["left"] == {}
        assert taker.mark_fresh("imports", "make", "more", "gone") == ["imports", "make", "more"]
        taker.apply(run=["candidate"], candidate="answer = tell()")
        assert taker.ran == ["candidate"]
        assert taker.says("answer") == expected
        # What was neither carried nor replayed still runs when somebody asks for it.
        taker.apply(run=["last"], last="last = other + 1")
        assert taker.ran == ["unneeded", "last"]
    os.close(file)


NOTEBOOK = {
    "imports": "import marimo as mo\nimport numpy as np\nimport pandas as pd",
    "raw": "raw = pd.DataFrame({'n': np.random.rand(5_000)})",
    "limit": "limit = mo.ui.slider(0, 10, value=5)",
    "limit_value": "threshold = limit.value / 10",
    "point": "class Point:\n    x = 0\n    def far(self):\n        return self.x > threshold",
    "points": "points = [Point() for _ in range(9)]\nfor _p, _x in zip(points, raw['n']):\n    _p.x = _x",
    "select": "def select(table):\n    return table[table['n'] > threshold]",
    "selected": "selected = select(raw)",
    "count": "count = len(selected)",
    "apart": "apart = raw.describe()",
}
CANDIDATE = """
answer = [count, float(selected['n'].sum()), [bool(p.far()) for p in points], len(select(raw)), limit.value]
answer.append(float(np.random.rand()))
"""


@pytest.mark.slow
def test_a_planned_kernel_gives_the_answer_the_parent_would_have_given(tmp_path: Any) -> None:
    file = memory_file()
    cells = tuple(Cell(id=CellId(name), code=code) for name, code in {**NOTEBOOK, "candidate": CANDIDATE}.items())
    outcomes = {CellId(name): CellOutcome(id=CellId(name), name=name, status="ok") for name in NOTEBOOK}
    with Guest(tmp_path, file) as giver, Guest(tmp_path, file) as taker:
        giver.apply(NOTEBOOK)
        giver.says("limit._update(3)")
        made = plan_transfer(Document(cells=cells), outcomes, {CellId("candidate")}, giver.kinds())
        assert made.replay == ["imports", "limit", "point", "select"]
        assert giver.export(*made.carry)["left"] == {}
        taker.apply(NOTEBOOK, run=[], reactive=False)
        taker.mark_fresh(*made.fresh)
        taker.apply(run=list(made.replay), reactive=False)
        assert sorted(taker.ran) == sorted(made.replay)
        assert taker.restore()["left"] == {}
        taker.mark_fresh(*made.fresh)
        taker.apply(candidate=CANDIDATE)
        assert taker.ran == ["candidate"]
        giver.apply(candidate=CANDIDATE)
        assert taker.says("answer") == giver.says("answer")
    os.close(file)


@pytest.mark.slow
def test_an_object_whose_class_is_not_there_is_left_with_the_reason(tmp_path: Any) -> None:
    file = memory_file()
    with Guest(tmp_path, file) as giver, Guest(tmp_path, file) as taker:
        giver.apply(definitions=DEFINITIONS, point="first = 1\npoint = Point(1, 2)\nbehind = 3\nslider = 4")
        giver.apply(ui="import marimo as mo\nknob = mo.ui.slider(1, 3)")
        assert giver.export("first", "point", "behind", "knob")["left"] == {}
        made = taker.restore()
        assert made["restored"] == ["first"]
        assert made["left"].keys() == {"point", "behind", "knob"}
        assert "Point" in made["left"]["point"]
        assert taker.says("'point' in globals() or 'behind' in globals()") is False
    os.close(file)


# ── the file ──


def round_trip(values: dict[str, Any], *, most_bytes: int = 64 << 20) -> tuple[transfer_wire.Exported, dict[str, Any]]:
    file = memory_file(most_bytes)
    try:
        made = variable_transfer.export(values, values, file, most_bytes=most_bytes)
        taken: dict[str, Any] = {}
        assert variable_transfer.restore(taken, file).restored == made.carried
        assert os.fstat(file).st_size == most_bytes
        return made, taken
    finally:
        os.close(file)


def test_what_does_not_fit_is_left_and_the_rest_is_carried() -> None:
    values = {"large": np.zeros(1 << 20), "small": 1, "endless": np.broadcast_to(np.int64(1), (1 << 40,)), "text": "x"}
    made, taken = round_trip(values, most_bytes=1 << 20)
    assert taken == {"small": 1, "text": "x"}
    assert made.left.keys() == {"large", "endless"}
    assert made.bytes <= 1 << 20


def test_arrays_whose_shared_memory_cannot_be_kept_are_left() -> None:
    memory = bytearray(80)
    one, two = np.frombuffer(memory), np.frombuffer(memory)
    made, taken = round_trip({"one": one, "two": two, "alone": np.frombuffer(bytearray(80))})
    assert made.left.keys() == {"one", "two"}
    assert taken.keys() == {"alone"}


class Ends:
    """As a cell would define it."""

    __module__ = "__main__"

    def __init__(self, reading: int, writing: int) -> None:
        self.reading, self.writing = reading, writing


def test_numbers_of_open_files_are_left_alone_or_together_and_other_numbers_are_not() -> None:
    left = {
        "one": 14,
        "pair": (14, 15),
        "named": {"reading": 14, "writing": 15},
        "nested": [("first", (14,)), ("second", {15})],
        "held": Ends(14, 15),
    }
    carried = {
        "other": 16,
        "sizes": [8, 14, 20],
        "floats": (14, 1.5),
        "many": [14] * 1_000,
        "flag": True,
        "words": ["14", "15"],
        "empty": (),
    }
    values = left | carried
    file = memory_file()
    try:
        made = variable_transfer.export(values, values, file, most_bytes=1 << 20, open_files={1, 14, 15})
    finally:
        os.close(file)
    assert made.left == dict.fromkeys(left, "it is the number of an open file")
    assert made.carried == [*carried]


def test_a_file_that_nobody_finished_is_told() -> None:
    file = memory_file(1 << 16)
    try:
        for content in (b"", b"cw-carry" + b"\xff" * 16, b"cw-carry" + (99).to_bytes(8, "little") + b"\x08" + bytes(7)):
            os.pwrite(file, content, 0)
            taken: dict[str, Any] = {}
            assert variable_transfer.restore(taken, file).left["*"].startswith("the file cannot be read")
            assert taken == {}
    finally:
        os.close(file)


class _Raises:
    def __reduce__(self) -> str:
        raise SystemExit("no")


def test_a_value_whose_own_code_ends_the_process_does_not() -> None:
    made, taken = round_trip({"bad": _Raises(), "good": 1})
    assert made.left == {"bad": "SystemExit: no"}
    assert taken == {"good": 1}


ATOMS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(max_size=9_000)
VALUES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=5), inner, max_size=4)
        | st.frozensets(ATOMS, max_size=3)
    ),
    max_leaves=20,
)


@given(first=VALUES, second=VALUES, lengths=st.lists(st.integers(0, 3_000), max_size=3))
def test_any_plain_data_comes_back_equal_and_shared(first: Any, second: Any, lengths: list[int]) -> None:
    arrays = [np.arange(length) for length in lengths]
    values = {"first": first, "second": second, "both": [first, second, arrays], "arrays": arrays}
    state = random.getstate()
    made, taken = round_trip(values)
    assert random.getstate() == state
    assert (made.left, taken["first"], taken["second"]) == ({}, first, second)
    assert taken["both"][2] is taken["arrays"]
    assert all(np.array_equal(array, back) for array, back in zip(arrays, taken["arrays"], strict=True))
    if isinstance(first, (list, dict)):
        assert taken["both"][0] is taken["first"]
