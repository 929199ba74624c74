"""Nothing is claimed on pure noise; what is planted is found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cellwright.analyst.methods.battery import examine
from cellwright.analyst.methods.independence import bonds_of, independent_rows
from cellwright.analyst.methods.time_series import breaks, season, trend
from tests.analyst.noise import SHAPES, noise_set
from tests.sampling import some

STATED_RATE = 0.05


def findings_in(numbers: range) -> list[str]:
    found: list[str] = []
    for number in numbers:
        table, roles = noise_set(number)
        tests = examine({"noise": table}, {"noise": roles})
        assert len(tests) > 10
        if tests["is_finding"].any():
            found.append(f"{number}: {tests[tests['is_finding']][['kind', 'y', 'x', 'p_adjusted']].to_dict('records')}")
    return found


@pytest.mark.slow
@pytest.mark.sampled(12)
@pytest.mark.parametrize("shape", some(range(len(SHAPES)), 4), ids=[shape.__name__ for shape in SHAPES])
def test_nothing_is_found_in_noise_of_any_shape(shape: int) -> None:
    assert findings_in(range(shape, len(SHAPES), len(SHAPES))) == []


@pytest.mark.slow
def test_in_a_hundred_sets_of_noise_no_more_is_found_than_the_stated_rate() -> None:
    found = findings_in(range(100))
    assert len(found) <= STATED_RATE * 100, found


def walk(random: np.random.Generator, steps: int, stays: float) -> np.ndarray:
    values = np.zeros(steps)
    for place in range(1, steps):
        values[place] = stays * values[place - 1] + random.standard_normal()
    return values


@pytest.mark.slow
@pytest.mark.sampled(9)
@pytest.mark.parametrize("stays", [0.0, 0.6, 1.0])
def test_series_that_wander_by_themselves_have_no_trend_season_or_break(stays: float) -> None:
    random, false = np.random.default_rng(3), 0
    for _ in range(25):
        days = pd.date_range("2022-01-01", periods=120, freq="D")
        table = pd.DataFrame({"y": walk(random, 120, stays), "when": days})
        rows = [trend(table, "y", "when"), season(table, "y", "when"), breaks(table, "y", "when")]
        false += sum(1 for row in rows if row and float(str(row["p"])) < 0.01)
    assert false <= 3


@pytest.mark.slow
def test_two_random_walks_are_not_said_to_go_together() -> None:
    random, small = np.random.default_rng(5), 0
    for _ in range(15):
        frame = pd.DataFrame({"y": walk(random, 200, 1.0), "x": walk(random, 200, 1.0)})
        tests = examine(
            {"t": frame.assign(when=pd.date_range("2023-01-01", periods=200))},
            {"t": {"y": "measure", "x": "measure", "when": "date"}},
        )
        small += int((tests[tests["kind"] == "correlation"]["p"] < 0.01).sum())
    assert small <= 1


def test_many_rows_of_one_customer_count_once() -> None:
    random = np.random.default_rng(1)
    owner = np.repeat(np.arange(30), 50)
    table = pd.DataFrame(
        {
            "spend": random.standard_normal(30)[owner] * 2 + random.standard_normal(1500) * 0.2,
            "region": pd.Series(random.choice(["A", "B"], 30)[owner]).astype("category"),
            "customer": owner,
        }
    )
    bonds = bonds_of(table, ["spend", "region"], ["customer"])
    rows, note = independent_rows(table, "spend", "region", bonds, {"customer": False}, False)
    assert len(rows) == 30
    assert note == "one row for each customer (30), since rows of one customer are alike"


def shop(random: np.random.Generator) -> pd.DataFrame:
    rows = 900
    days = pd.date_range("2022-01-01", periods=900, freq="D")
    region = random.choice(["North", "South", "West"], rows)
    returned = random.random(rows) < np.where(region == "West", 0.35, 0.12)
    revenue = 100 + 12 * (region == "North") + random.gamma(4, 8, rows) + np.arange(rows) * 0.04
    visits = 50 + 15 * np.isin(days.day_of_week, [5, 6]) + random.normal(0, 8, rows)
    wait = random.exponential(5, rows) + 4 * (np.arange(rows) > 540)
    return pd.DataFrame(
        {
            **{"day": days, "region": region, "returned": returned, "revenue": revenue, "visits": visits},
            **{
                "wait": wait,
                "noise": random.standard_normal(rows),
                "mood": 10 - 0.4 * wait + random.normal(0, 2, rows),
            },
        }
    )


ROLES = {
    **{"day": "date", "region": "category", "returned": "flag", "revenue": "currency", "visits": "measure"},
    **{"wait": "measure", "noise": "measure", "mood": "measure"},
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_planted_effects_of_medium_size_are_found_and_nothing_about_the_noise(seed: int) -> None:
    tests = examine({"shop": shop(np.random.default_rng(seed))}, {"shop": ROLES})
    found = {(row["kind"], row["y"], row["x"]) for row in tests[tests["is_finding"]].to_dict("records")}
    pairs = {(kind, frozenset((y, x))) for kind, y, x in found}
    planted = {
        ("difference", frozenset(("revenue", "region"))),
        ("association", frozenset(("region", "returned"))),
        ("correlation", frozenset(("wait", "mood"))),
        ("trend", frozenset(("revenue", "day"))),
        ("season", frozenset(("visits", "day"))),
        ("break", frozenset(("wait", "day"))),
    }
    assert planted <= pairs
    assert not [pair for _, pair in pairs if "noise" in pair]
