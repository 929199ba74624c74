"""Waiting times in seconds, with a long tail."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import write_csv


def make(folder: Path) -> None:
    chance = random.Random(28)
    write_csv(
        folder / "waiting.csv",
        ["caller", "waited_seconds"],
        [(number, round(chance.lognormvariate(5.2, 0.8))) for number in range(700)],
    )


def _median(folder: Path) -> float:
    return float(pd.read_csv(folder / "waiting.csv")["waited_seconds"].median() / 60)


def right(folder: Path) -> Delivered:
    return said(f"The median is {_median(folder):.1f} minutes.", charts=1)


def wrong(folder: Path) -> Delivered:
    return said(f"The median is {_median(folder) * 60:.1f} minutes.", charts=1)
