"""A text filled with a notebook's values by names, attributes, items and formats alone; and its tests, called."""

import linecache
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from inline_snapshot import snapshot

from cellwright_guest.answer_wire import MOST_CHARACTERS, FillText, NotebookTest, RunTests
from cellwright_guest.answers import fill, run_tests

FRAME = pd.DataFrame({"two words": [1.5, 2.0], "n": [1, 2]}, index=pd.Index(["a", "b"]))
NAMES: dict[str, Any] = {
    "mean": 1.75,
    "frame": FRAME,
    "none": FRAME[FRAME["n"] > 9],
    "by_year": {2024: 1_234_567, "West": 3},
    "nan": float("nan"),
    "inf": np.float64("inf"),
    "missing": None,
    "blank": "",
    "share": 130.0,
    "fall": -12.5,
    "part": 0.25,
    "money": Decimal("12.30"),
    "_private": 1,
}


def filled(text: str) -> str:
    return fill(FillText(request=1, text=text), NAMES).text


def error(text: str) -> str:
    told = fill(FillText(request=1, text=text), NAMES)
    assert told.text == ""
    return told.error


@pytest.mark.parametrize(
    ("text", "became"),
    [
        ("@mean[{mean:.2f}]", "@mean[1.75]"),
        ("{frame.shape[0]} rows, {frame['two words'][a]} first", "2 rows, 1.5 first"),
        ("{by_year[2024]:,} and {by_year[West]}", "1,234,567 and 3"),
        ("{frame.loc['a', 'two words']} {frame.loc[a, two words]:.2f} {frame.iloc[0, 0]}", "1.5 1.50 1.5"),
        ("{money} {part:.0%} {mean!r}", "12.30 25% 1.75"),
        ('{"mean": {mean}, "set": {}} and \\frac{1}{2}', '{"mean": 1.75, "set": {}} and \\frac{1}{2}'),
        ("no fields at all", "no fields at all"),
    ],
)
def test_fields_are_filled_and_all_else_stays_letter_for_letter(text: str, became: str) -> None:
    assert filled(text) == became


@pytest.mark.parametrize(
    "text",
    [
        *("{_private}", "{nobody}", "{mean.__class__}", "{frame._data}", "{frame.mean}", "{mean:99999d}", "{mean:q}"),
        *("{frame[three words]}", "{by_year[1999]}", "{mean.nothing}"),
    ],
)
def test_what_is_private_unknown_callable_or_too_wide_is_refused_with_the_field(text: str) -> None:
    assert text in error(text)


def test_a_value_that_runs_on_or_is_endless_is_refused_in_time() -> None:
    class Slow:
        def __format__(self, spec: str) -> str:
            while True:
                pass

    def told(value: object) -> str:
        return fill(FillText(request=1, text="{value}"), {"value": value}, seconds=0.5).error

    assert "TimeUp" in told(Slow())
    assert "characters" in told("x" * (MOST_CHARACTERS + 1))
    assert "fields" in fill(FillText(request=1, text="{mean}" * 300), NAMES).error


def test_what_a_careful_reader_would_stop_at_is_told() -> None:
    text = "{nan} {inf} {missing} {blank} {none} {share:.0f} % {part:.0%} {share:.0%} {mean} {fall:.1f} %"
    told = fill(FillText(request=1, text=text), NAMES)
    assert [each.doubt for each in told.fields] == snapshot(
        ["NaN", "infinite", "missing", "empty", "no rows", "no share", "", "no share", "", ""]
    )


def test_plain_tests_are_called_with_the_notebooks_values_and_bind_nothing() -> None:
    source = """
def test_good():
    print("nobody reads this")
    assert mean == 1.75
def test_bad():
    assert mean == 2, f"it is {mean}"
def test_given(mean):
    assert mean > 1
def test_lost(nobody):
    pass
def test_ends():
    raise SystemExit(3)
def test_binds():
    global mean
    mean = 0
def test_slow():
    while True: pass
async def test_later(): pass
"""
    names = dict(NAMES)
    exec(source, names)
    asked = [f"test_{name}" for name in ["good", "bad", "given", "lost", "ends", "binds", "slow", "later", "absent"]]
    ran = {each.name: each for each in run_tests(RunTests(request=1, names=asked), names, seconds_each=0.5).tests}
    assert [ran[name].verdict for name in asked] == snapshot(
        ["passed", "failed", "passed", "failed", "failed", "passed", "failed", "not here", "failed"]
    )
    assert ran["test_bad"] == NotebookTest(name="test_bad", verdict="failed", message="AssertionError: it is 1.75")
    assert "write `def test_lost():`" in ran["test_lost"].message
    assert ran["test_slow"].message == "it took longer than 0.5 s"
    assert names["mean"] == 1.75


def test_a_view_of_something_without_code_of_its_own_is_shown() -> None:
    held = SimpleNamespace(model=SimpleNamespace(score=0.5))
    assert fill(FillText(request=1, text="{held.model.score:.1f}"), {"held": held}).text == "0.5"


def test_of_a_failed_test_its_line_is_told() -> None:
    source = "def test_two():\n    assert mean > 1\n    assert (\n        mean > 2\n    )\n"
    names = dict(NAMES)
    lines = list[str](source.splitlines(keepends=True))
    linecache.cache["cell.py"] = (len(source), None, lines, "cell.py")
    exec(compile(source, "cell.py", "exec"), names)
    (ran,) = run_tests(RunTests(request=1, names=["test_two"]), names).tests
    assert ran.message == "`mean > 2`: AssertionError"
