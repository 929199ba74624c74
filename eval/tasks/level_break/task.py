"""A pump whose pressure fell for good in May."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.writing import days, write_csv


def make(folder: Path) -> None:
    chance = random.Random(23)
    rows = [
        (day, round(chance.gauss(5.2 if day.isoformat() < "2025-05-12" else 4.6, 0.15), 2))
        for day in days("2025-01-01", 270)
    ]
    write_csv(folder / "pump.csv", ["date", "pressure_bar"], rows)


def right(folder: Path) -> Delivered:
    return said("It fell by 0.6 bar around 12 May 2025.", charts=1)


def wrong(folder: Path) -> Delivered:
    return said("It fell slowly all year.", charts=1)
