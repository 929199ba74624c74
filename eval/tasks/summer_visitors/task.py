"""Four years of a park that is full in summer."""

from __future__ import annotations

import math
import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.writing import days, write_csv


def make(folder: Path) -> None:
    chance = random.Random(22)
    rows = [
        (
            day,
            max(
                0, round(300 - 160 * math.cos((day.timetuple().tm_yday - 15) / 365 * 2 * math.pi) + chance.gauss(0, 40))
            ),
        )
        for day in days("2021-01-01", 1461)
    ]
    write_csv(folder / "park.csv", ["date", "visitors"], rows)


def right(folder: Path) -> Delivered:
    return said("Yes: most come in July, fewest in January.", charts=1)


def wrong(folder: Path) -> Delivered:
    return said("There is no season.", charts=1)
