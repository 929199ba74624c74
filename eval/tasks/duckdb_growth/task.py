"""A ledger in DuckDB, with cancelled entries that were booked back."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import days


def make(folder: Path) -> None:
    chance = random.Random(32)
    rows = [
        (day.isoformat(), round(chance.uniform(80, 120) * (1.6 if day.month >= 8 else 1), 2))
        for day in days("2024-01-01", 366)
        for _ in range(2)
    ]
    rows += [(date, -amount) for date, amount in rows[100:130]]
    with duckdb.connect(str(folder / "ledger.duckdb")) as database:
        database.execute("CREATE TABLE entries (booked_on DATE, amount DOUBLE)")
        database.executemany("INSERT INTO entries VALUES (?, ?)", rows)


def _months(folder: Path) -> Any:
    with duckdb.connect(str(folder / "ledger.duckdb"), read_only=True) as database:
        rows = database.execute(
            "SELECT strftime(booked_on, '%Y-%m'), SUM(amount) FROM entries GROUP BY 1 ORDER BY 1"
        ).fetchall()
    return pd.Series(dict(rows)).pct_change() * 100


def _growth(folder: Path) -> float:
    return float(_months(folder).max())


def right(folder: Path) -> Delivered:
    return said(f"In {_months(folder).idxmax()}, by {_growth(folder):.1f} %.")


def wrong(folder: Path) -> Delivered:
    return said("In December, by 12.0 %.")
