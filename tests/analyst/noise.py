"""Data in which nothing is related to anything, in the shapes in which real data makes careless tests find things."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

Roles = dict[str, str]
NoiseSet = tuple[pd.DataFrame, Roles]


def plain(random: np.random.Generator) -> NoiseSet:
    """Independent normal measures, even categories, random dates."""
    rows = int(random.integers(60, 800))
    return _table(random, rows, lambda: random.standard_normal(rows), 6, 5, _random_days(random, rows))


def heavy_tails(random: np.random.Generator) -> NoiseSet:
    """Cauchy-like measures: a mean would follow single rows."""
    rows = int(random.integers(60, 800))
    return _table(random, rows, lambda: random.standard_t(1.2, rows), 6, 4, _random_days(random, rows))


def skewed(random: np.random.Generator) -> NoiseSet:
    """Amounts of money: log-normal, with zeros."""
    rows = int(random.integers(60, 800))
    return _table(
        random,
        rows,
        lambda: random.lognormal(3, 1.5, rows) * (random.random(rows) > 0.2),
        6,
        4,
        _random_days(random, rows),
    )


def counts(random: np.random.Generator) -> NoiseSet:
    """Small counts: nearly all ranks are ties."""
    rows = int(random.integers(60, 800))
    return _table(random, rows, lambda: random.poisson(0.7, rows), 6, 4, _random_days(random, rows))


def rare_levels(random: np.random.Generator) -> NoiseSet:
    """Categories with a few common labels and many rare ones."""
    rows = int(random.integers(80, 600))
    table, roles = _table(random, rows, lambda: random.gamma(1.5, 2.0, rows), 5, 0, _random_days(random, rows))
    for place in range(6):
        table[f"rare_{place}"] = np.minimum(random.zipf(1.6, rows), 60).astype(str)
        roles[f"rare_{place}"] = "category"
    return table, roles


def autocorrelated(random: np.random.Generator) -> NoiseSet:
    """One row a day, measures that stay near where they were, and phases that last for weeks."""
    rows = int(random.integers(90, 730))
    table, roles = _table(random, rows, lambda: _walk(random, rows, random.uniform(0.3, 0.9)), 6, 2, _days(rows))
    table["phase"] = _phases(random, rows)
    table["month"] = table["when"].dt.strftime("%B")
    return table, roles | {"phase": "category", "month": "category"}


def random_walks(random: np.random.Generator) -> NoiseSet:
    """One row a day or a month, measures that wander and never come back."""
    rows = int(random.integers(40, 730))
    table, roles = _table(random, rows, lambda: _walk(random, rows, 1.0), 6, 2, _days(rows))
    if random.random() < 0.4:
        table["when"] = pd.date_range("1999-01-01", periods=rows, freq="MS")
    table["phase"] = _phases(random, rows)
    table["stage"] = _phases(random, rows)
    return table, roles | {"phase": "category", "stage": "category"}


def clustered(random: np.random.Generator) -> NoiseSet:
    """Many rows for each customer, who has a level and a region of their own."""
    customers, each = int(random.integers(12, 80)), int(random.integers(4, 40))
    rows, owner = customers * each, np.repeat(np.arange(customers), each)
    strength = random.uniform(0.3, 3.0)
    table, roles = _table(
        random,
        rows,
        lambda: strength * random.standard_normal(customers)[owner] + random.standard_normal(rows),
        5,
        2,
        _random_days(random, rows),
    )
    table["customer"] = owner + 1000
    for name in ("region", "segment"):
        table[name] = random.choice(list("ABCD"), customers)[owner]
    table["age"] = random.integers(18, 80, customers)[owner]
    return table, roles | {"customer": "id", "region": "category", "segment": "category", "age": "measure"}


def holes(random: np.random.Generator) -> NoiseSet:
    """Few rows, a third of all values missing, nullable types."""
    rows = int(random.integers(25, 150))
    table, roles = _table(random, rows, lambda: random.normal(50, 10, rows).round(), 7, 5, _random_days(random, rows))
    for name in list(table.columns):
        table.loc[random.random(rows) < 0.33, name] = None
    table["measure_0"] = table["measure_0"].astype("Int64")
    return table, roles


def panel(random: np.random.Generator) -> NoiseSet:
    """Each store on each day: stores have levels, days have shocks that all share, holidays fall on days."""
    stores, days = int(random.integers(5, 25)), int(random.integers(40, 150))
    rows, store, day = stores * days, np.repeat(np.arange(stores), days), np.tile(np.arange(days), stores)

    def measure() -> np.ndarray:
        shocks, levels = random.standard_normal(days)[day], random.standard_normal(stores)[store]
        return shocks * random.uniform(0, 2) + levels * random.uniform(0, 2) + random.standard_normal(rows)

    table, roles = _table(random, rows, measure, 4, 1, _days(days)[day])
    table["store"] = [f"store {place}" for place in store]
    table["holiday"] = (random.random(days) < 0.15)[day]
    table["kind"] = random.choice(list("XY"), stores)[store]
    return table, roles | {"store": "id", "holiday": "flag", "kind": "category"}


SHAPES: tuple[Callable[[np.random.Generator], NoiseSet], ...] = (
    *(plain, heavy_tails, skewed, counts, rare_levels),
    *(autocorrelated, random_walks, clustered, holes, panel),
)


def noise_set(number: int) -> NoiseSet:
    """A set of noise: its shape goes round, its content is its own."""
    return SHAPES[number % len(SHAPES)](np.random.default_rng([7, number]))


def _table(
    random: np.random.Generator,
    rows: int,
    measure: Callable[[], np.ndarray],
    measures: int,
    categories: int,
    when: pd.DatetimeIndex,
) -> NoiseSet:
    columns: dict[str, object] = {f"measure_{place}": measure() for place in range(measures)}
    for place in range(categories):
        columns[f"group_{place}"] = random.choice([f"label {label}" for label in range(2 + 2 * place)], rows)
    roles = {name: "measure" if name.startswith("measure") else "category" for name in columns}
    return pd.DataFrame(columns | {"when": when}), roles | {"when": "date"}


def _days(rows: int) -> pd.DatetimeIndex:
    return pd.date_range("2022-01-01", periods=rows, freq="D")


def _random_days(random: np.random.Generator, rows: int) -> pd.DatetimeIndex:
    return _days(900)[random.integers(0, int(random.integers(30, 900)), rows)]


def _walk(random: np.random.Generator, rows: int, stays: float) -> np.ndarray:
    values, shocks = np.zeros(rows), random.standard_normal(rows)
    for place in range(1, rows):
        values[place] = stays * values[place - 1] + shocks[place]
    return values


def _phases(random: np.random.Generator, rows: int) -> np.ndarray:
    labels = np.cumsum(random.random(rows) < 0.03) % int(random.integers(2, 5))
    return np.array([f"phase {label}" for label in labels])
