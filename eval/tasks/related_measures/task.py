"""Rain and growth go together; the number of sheep goes with nothing."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.writing import write_csv


def make(folder: Path) -> None:
    chance = random.Random(15)
    rows: list[tuple[object, ...]] = []
    for number in range(160):
        rain = max(0.0, chance.gauss(30, 9))
        rows.append(
            (f"m{number:03d}", round(rain, 1), round(4 + 0.3 * rain + chance.gauss(0, 2), 1), chance.randrange(5, 60))
        )
    write_csv(folder / "meadow.csv", ["meadow", "rain_mm", "growth_cm", "sheep"], rows)


def right(folder: Path) -> Delivered:
    return said("The more rain, the more growth (Spearman's correlation 0.8).", charts=1)


def wrong(folder: Path) -> Delivered:
    return said("The two are unrelated (Spearman's coefficient 0.02).", charts=1)
