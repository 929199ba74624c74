"""A test that notices no small change of what it reads is hollow; one that compares, counts or adds up is not."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from cellwright_guest.answer_wire import MutatedTest, MutateTests
from cellwright_guest.mutants import mutate

NOTEBOOK = """
import datetime
import math
import numpy as np
import pandas as pd
import polars as pl

orders = pd.DataFrame({"id": range(6), "region": list("abcabc"), "amount": [3.0, 4.5, 1.0, 2.0, 8.0, 1.5]})
by_region = orders.groupby("region")["amount"].sum()
total = float(orders["amount"].sum())
count = len(orders)
share = by_region["a"] / total
names = sorted(by_region.index)
best = by_region.idxmax()
told = {"total": total, "regions": list(by_region.items())}
weights = np.array([0.2, 0.3, 0.5])
lake = pl.DataFrame({"depth": [1.0, 2.5], "site": ["x", "y"]})
first_day = datetime.date(2025, 7, 1)
is_certain = True

def added(frame):
    return float(frame["amount"].sum())
"""
SOUND = {
    "the total is that of its parts": "assert math.isclose(total, by_region.sum())",
    "each row is counted": "assert count == orders['id'].nunique() == 6",
    "the sum by another key": "assert math.isclose(orders.groupby('id')['amount'].sum().sum(), total)",
    "shares add up": "assert math.isclose(sum(by_region / total), 1)",
    "who is best, looked up again": "assert best == max(by_region.items(), key=lambda each: each[1])[0]",
    "one case by hand": "assert by_region['a'] == 5.0",
    "no row is there twice": "assert not orders['id'].duplicated().any()",
    "what is told is what was computed": "assert told['total'] == total",
    "weights add up": "assert np.isclose(weights.sum(), 1)",
    "a table of polars": "assert lake.height == 2 and lake['depth'].sum() == 3.5",
    "through a function of the notebook": "assert math.isclose(added(orders), 20)",
    "a flag and a day": "assert is_certain and first_day.month == 7 and first_day.day == 1",
}
HOLLOW = {
    "more than nothing": "assert total > 0",
    "it is a number": "assert isinstance(total, float)",
    "it is there": "assert orders is not None",
    "it has columns": "assert 'amount' in orders.columns",
    "it is not empty": "assert len(by_region)",
    "a wide range": "assert 0 <= share <= 1",
    "equal to itself": "assert total == total",
    "a list of names": "assert isinstance(names, list)",
    "finite": "assert math.isfinite(total)",
    "it can be shown": "assert str(told)",
    "no error": "added(orders)",
    "right whatever happens": "assert total > 0 or count >= 0",
}


def mutated(body: str, notebook: str = NOTEBOOK) -> MutatedTest:
    names: dict[str, Any] = {}
    exec(f"{notebook}\ndef test_it():\n    {body}\n", names)
    before = dict(names)
    [test] = mutate(MutateTests(request=1, names=["test_it"]), names).tests
    assert all(names[name] is value for name, value in before.items())
    return test


@pytest.mark.parametrize("body", SOUND.values(), ids=SOUND)
def test_a_sound_test_notices(body: str) -> None:
    test = mutated(body)
    assert test.tried > 0
    assert test.noticed > 0


@pytest.mark.parametrize("body", HOLLOW.values(), ids=HOLLOW)
def test_a_hollow_test_notices_nothing_and_what_it_reads_is_named(body: str) -> None:
    test = mutated(body)
    assert test.tried > 0
    assert test.noticed == 0
    assert test.reads


def test_the_variable_is_named_as_its_cell_names_it() -> None:
    assert mutated("assert _cell_Hbol_total > 0", "_cell_Hbol_total = 4").reads == ["_total"]


def test_what_reads_no_data_is_not_judged() -> None:
    assert mutated("assert double(2) == 4", "def double(n):\n    return 2 * n").tried == 0


@pytest.mark.slow
def test_a_test_that_runs_on_and_a_value_that_does_harm_end_in_time() -> None:
    harm = "class Harm(list):\n    def __len__(self):\n        raise SystemExit\nharm = Harm([1])\nn = 3"
    assert mutated("assert n and harm is not None", harm).noticed == 0
    test = mutated("while n != 3: pass", "n = 3")
    assert test.noticed == test.tried == 1


def test_a_large_table_is_left_alone() -> None:
    names: dict[str, Any] = {"table": pd.DataFrame({"a": range(200_000)})}
    exec("def test_it():\n    assert len(table)", names)
    [test] = mutate(MutateTests(request=1, names=["test_it"]), names).tests
    assert test.tried == 0
