"""A file a month of three branches, one of which takes more."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.writing import days, write_csv


def make(folder: Path) -> None:
    chance = random.Random(41)
    usual = {"harbour": 500.0, "market": 520.0, "station": 690.0}
    for month in range(1, 7):
        rows = [
            (day, branch, round(chance.gauss(usual[branch], 70), 2))
            for day in days(f"2025-{month:02d}-01", 28)
            for branch in usual
        ]
        write_csv(folder / f"branches/sales_2025-{month:02d}.csv", ["date", "branch", "revenue_eur"], rows)


def right(folder: Path) -> Delivered:
    return said("The branch at the station takes most.", charts=1)


def wrong(folder: Path) -> Delivered:
    return said("The market takes most.", charts=1)
