"""Money in and out, written as amounts with a direction beside them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import days, write_csv


def make(folder: Path) -> None:
    chance = random.Random(29)
    rows = [
        (day, direction, round(chance.uniform(50, 150) * (1.8 if day.month == 11 and direction == "out" else 1), 2))
        for day in days("2024-01-01", 366)
        for direction in ("in", "out")
    ]
    write_csv(folder / "flows.csv", ["date", "direction", "amount"], rows)


def _gaps(folder: Path) -> Any:
    table = pd.read_csv(folder / "flows.csv")
    months = table.groupby([table["date"].str[:7], "direction"])["amount"].sum().unstack()
    return months["out"] - months["in"]


def _gap(folder: Path) -> float:
    return float(_gaps(folder).max())


def right(folder: Path) -> Delivered:
    return said(f"In {_gaps(folder).idxmax()}, by {_gap(folder):.2f}.", charts=1)


def wrong(folder: Path) -> Delivered:
    return said(f"In {_gaps(folder).idxmin()}, by {-_gaps(folder).min():.2f}.", charts=1)
