"""A file a month; one is there twice, one has its columns renamed, one belongs to another year."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import days, write_csv


def make(folder: Path) -> None:
    chance = random.Random(39)
    for month in range(1, 7):
        rows = [(day, round(chance.uniform(100, 900), 2)) for day in days(f"2025-{month:02d}-01", 28)]
        names = ["day", "turnover"] if month == 5 else ["date", "revenue"]
        write_csv(folder / f"monthly/sales-{month:02d}.csv", names, rows)
        if month == 3:
            write_csv(folder / "monthly/sales-03 copy.csv", names, rows)
    write_csv(folder / "monthly/sales-12-old.csv", ["date", "revenue"], [(day, 500) for day in days("2024-12-01", 28)])
    (folder / "monthly/todo.txt").write_text("ask Kim about July\n", encoding="utf-8")


def _total(folder: Path) -> float:
    tables = [
        pd.read_csv(path).set_axis(["date", "revenue"], axis=1) for path in sorted((folder / "monthly").glob("*.csv"))
    ]
    whole = pd.concat(tables).drop_duplicates()
    return float(whole.loc[whole["date"].str.startswith("2025"), "revenue"].sum())


def right(folder: Path) -> Delivered:
    return said(f"The total is {_total(folder):,.2f} euros.")


def wrong(folder: Path) -> Delivered:
    tables = [pd.read_csv(path) for path in sorted((folder / "monthly").glob("*.csv"))]
    return said(f"The total is {pd.concat(tables)['revenue'].sum():,.2f} euros.")
