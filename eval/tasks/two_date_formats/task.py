"""Visits whose dates two programs wrote in two ways."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import days, write_csv


def make(folder: Path) -> None:
    chance = random.Random(5)
    rows: list[tuple[str, str]] = []
    for day in days("2025-01-01", 365):
        for _ in range(chance.randrange(1, 4) + 3 * (day.month == 9)):
            is_new = day.month >= 7 and chance.random() < 0.8
            rows.append(
                (day.strftime("%d/%m/%Y") if is_new else day.isoformat(), chance.choice(["north gate", "south gate"]))
            )
    write_csv(folder / "visits.csv", ["date", "gate"], rows)


def _months(folder: Path) -> Any:
    text = pd.read_csv(folder / "visits.csv")["date"]
    dates = pd.to_datetime(text, format="%Y-%m-%d", errors="coerce").fillna(
        pd.to_datetime(text, format="%d/%m/%Y", errors="coerce")
    )
    return dates.dt.month.value_counts()


def _visits(folder: Path) -> int:
    return int(_months(folder)[9])


def right(folder: Path) -> Delivered:
    return said(f"September, with {_visits(folder)} visits.")


def wrong(folder: Path) -> Delivered:
    text = pd.read_csv(folder / "visits.csv")["date"]
    counts = pd.to_datetime(text, format="%Y-%m-%d", errors="coerce").dt.month_name().value_counts()
    return said(f"{counts.index[0]}, with {counts.iloc[0]} visits.")
