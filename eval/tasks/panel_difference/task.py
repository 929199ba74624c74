"""A row a day for each of three branches, one of which was rebuilt in summer: plain panel data."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.writing import days, write_csv


def make(folder: Path) -> None:
    chance = random.Random(44)
    usual = {"harbour": 520.0, "market": 410.0, "station": 690.0}
    rows = [
        (day, branch, round(chance.gauss(level * (1.25 if branch == "market" and day.month >= 7 else 1), 60), 2))
        for day in days("2025-01-01", 300)
        for branch, level in usual.items()
    ]
    write_csv(folder / "year.csv", ["date", "branch", "revenue_eur"], rows)


def right(folder: Path) -> Delivered:
    return said("Revenue is highest at the station.")


def wrong(folder: Path) -> Delivered:
    return said("Revenue by branch: nothing that could be told from chance; the station is not higher.")
