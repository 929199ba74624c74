"""Applications: women are admitted more in each department, men overall."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import write_csv

CHANCES = {
    ("Law", "women"): (400, 0.30),
    ("Law", "men"): (100, 0.22),
    ("Physics", "women"): (100, 0.78),
    ("Physics", "men"): (400, 0.70),
}


def make(folder: Path) -> None:
    chance = random.Random(14)
    rows = [
        (department, sex, "yes" if number < count * rate else "no")
        for (department, sex), (count, rate) in CHANCES.items()
        for number in range(count)
    ]
    chance.shuffle(rows)
    write_csv(folder / "applications.csv", ["department", "sex", "admitted"], rows)


def _law(folder: Path) -> float:
    table = pd.read_csv(folder / "applications.csv")
    law = table[(table["department"] == "Law") & (table["sex"] == "women")]
    return float(law["admitted"].eq("yes").mean() * 100)


def right(folder: Path) -> Delivered:
    return said(f"Women, in both departments; in Law {_law(folder):.0f} % of them.")


def wrong(folder: Path) -> Delivered:
    table = pd.read_csv(folder / "applications.csv")
    rates = table.assign(admitted=table["admitted"].eq("yes")).groupby("sex")["admitted"].mean()
    return said(f"Men are admitted more often: {rates['men']:.0%} against {rates['women']:.0%}.")
