"""Parcels, with five days on which nobody wrote anything down."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import days, write_csv


def make(folder: Path) -> None:
    chance = random.Random(26)
    rows = [
        (day, chance.choice(["left", "right"]))
        for day in days("2025-06-01", 30)
        if not 9 <= day.day <= 13
        for _ in range(chance.randrange(8, 30))
    ]
    write_csv(folder / "parcels.csv", ["date", "door"], rows)


def _mean(folder: Path) -> float:
    return float(pd.read_csv(folder / "parcels.csv").groupby("date").size().mean())


def right(folder: Path) -> Delivered:
    return said(f"{_mean(folder):.1f} a day; 2025-06-09 to 2025-06-13 are missing.")


def wrong(folder: Path) -> Delivered:
    return said(f"{len(pd.read_csv(folder / 'parcels.csv')) / 30:.1f} a day; no day is missing.")
