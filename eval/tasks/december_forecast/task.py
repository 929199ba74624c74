"""Four years of months with a rise and a peak in December."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import write_csv


def make(folder: Path) -> None:
    chance = random.Random(38)
    rows = [
        (
            f"{2021 + month // 12}-{month % 12 + 1:02d}",
            round(300 + 2.4 * month + (200 if month % 12 == 11 else 0) + chance.gauss(0, 8)),
        )
        for month in range(48)
    ]
    write_csv(folder / "demand.csv", ["month", "demand"], rows)


def right(folder: Path) -> Delivered:
    table = pd.read_csv(folder / "demand.csv")
    peaks = table[table["month"].str.endswith("-12")]["demand"]
    return said(f"December 2025: about {peaks.iloc[-1] + peaks.diff().mean():.0f}.")


def wrong(folder: Path) -> Delivered:
    return said(f"December 2025: about {pd.read_csv(folder / 'demand.csv')['demand'].mean():.0f}.")
