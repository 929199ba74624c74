"""A gauge that wanders: neighbouring days are alike, and there is no trend."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.writing import days, write_csv


def make(folder: Path) -> None:
    chance = random.Random(21)
    level, rows = 0.0, list[tuple[object, float]]()
    for day in days("2024-01-01", 400):
        level = 0.93 * level + chance.gauss(0, 1)
        rows.append((day, round(100 + 3 * level, 1)))
    write_csv(folder / "gauge.csv", ["date", "level"], rows)


def right(folder: Path) -> Delivered:
    return said("No: the level wanders, but there is no trend beyond chance.")


def wrong(folder: Path) -> Delivered:
    return said("Yes: the level falls over time (p < 0.001).")
