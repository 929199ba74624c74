"""Comments of guests; some praise that it is quiet with the very words of those who complain."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import write_csv

COMPLAINTS = [
    "So noisy at night!",
    "The NOISE from the street kept us awake.",
    "Loud neighbours.",
    "Breakfast fine, room far too loud",
]
OTHERS = [
    "No noise at all, lovely.",
    "Not loud, even near the station.",
    "Clean room.",
    "Friendly staff.",
    "Bed too soft.",
    "Never noisy, we slept well.",
]


def make(folder: Path) -> None:
    chance = random.Random(33)
    write_csv(
        folder / "comments.csv",
        ["guest", "comment"],
        [(number, chance.choice(COMPLAINTS + OTHERS)) for number in range(300)],
    )


def _count(folder: Path) -> int:
    return int(pd.read_csv(folder / "comments.csv")["comment"].isin(COMPLAINTS).sum())


def right(folder: Path) -> Delivered:
    return said(f"{_count(folder)} comments.")


def wrong(folder: Path) -> Delivered:
    count = pd.read_csv(folder / "comments.csv")["comment"].str.contains("nois|loud", case=False).sum()
    return said(f"{count} comments.")
