"""Trips whose durations stand there as people write them: 1h 20m, 45 min, 1:05."""

from __future__ import annotations

import random
import re
from pathlib import Path

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import write_csv


def make(folder: Path) -> None:
    chance = random.Random(35)
    rows: list[tuple[int, str]] = []
    for number in range(200):
        hours, minutes = chance.randrange(3), chance.randrange(1, 60)
        rows.append(
            (number, chance.choice([f"{hours}h {minutes}m", f"{hours}:{minutes:02d}", f"{hours * 60 + minutes} min"]))
        )
    write_csv(folder / "trips.csv", ["trip", "duration"], rows)


def _minutes(text: str) -> float:
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    return numbers[0] if "min" in text else numbers[0] * 60 + numbers[1]


def _mean(folder: Path) -> float:
    return float(pd.read_csv(folder / "trips.csv")["duration"].map(_minutes).mean())


def right(folder: Path) -> Delivered:
    return said(f"{_mean(folder):.1f} minutes.")


def wrong(folder: Path) -> Delivered:
    text = pd.read_csv(folder / "trips.csv")["duration"]
    return said(f"{text[text.str.contains('min')].map(_minutes).mean():.1f} minutes.")
