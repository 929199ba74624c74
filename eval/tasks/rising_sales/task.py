"""Three years of weeks with a steady rise."""

from __future__ import annotations

import random
from datetime import date, timedelta
from pathlib import Path

from eval.delivered import Delivered, said
from eval.writing import write_csv


def make(folder: Path) -> None:
    chance = random.Random(20)
    rows = [
        (date(2022, 1, 3) + timedelta(weeks=week), round(200 + 1.1 * week + chance.gauss(0, 14))) for week in range(156)
    ]
    write_csv(folder / "weekly.csv", ["week", "sales"], rows)


def right(folder: Path) -> Delivered:
    return said("Sales rise by about 1.1 a week.", charts=1)


def wrong(folder: Path) -> Delivered:
    return said("Sales show no trend.", charts=1)
