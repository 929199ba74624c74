"""Two years of days by product; one product broke away in the third quarter of the second year."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import days, write_csv


def make(folder: Path) -> None:
    chance = random.Random(24)
    rows: list[tuple[object, ...]] = []
    for day in days("2024-01-01", 731):
        for product, usual in (("tents", 420.0), ("boots", 300.0), ("ropes", 150.0)):
            is_low = product == "tents" and "2025-07-01" <= day.isoformat() <= "2025-09-30"
            rows.append((day, product, round(max(0.0, chance.gauss(usual * (0.3 if is_low else 1), 45)), 2)))
    write_csv(folder / "revenue.csv", ["date", "product", "revenue_eur"], rows)


def right(folder: Path) -> Delivered:
    table = pd.read_csv(folder / "revenue.csv", parse_dates=["date"])
    quarters = table.groupby([table["date"].dt.to_period("Q").astype(str), "product"])["revenue_eur"].sum().unstack()
    change = quarters.loc["2025Q3"] - quarters.loc["2025Q2"]
    return said(f"Because of {change.idxmin()}, which fell by {-change.min():,.0f} EUR.", charts=1)


def wrong(folder: Path) -> Delivered:
    return said("It fell because all products fell alike.", charts=1)
