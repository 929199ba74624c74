"""People weighed twice; the heavy ones often did not come back."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import write_csv


def make(folder: Path) -> None:
    chance = random.Random(19)
    before = [(f"p{number:03d}", round(chance.gauss(80, 12), 1)) for number in range(200)]
    after = [
        (name, round(weight - chance.gauss(1.4, 1), 1))
        for name, weight in before
        if weight < 85 or chance.random() < 0.4
    ]
    chance.shuffle(after)
    write_csv(folder / "before.csv", ["person", "kg"], before)
    write_csv(folder / "after.csv", ["person", "kg"], after)


def _change(folder: Path) -> float:
    both = pd.read_csv(folder / "before.csv").merge(pd.read_csv(folder / "after.csv"), on="person")
    return float((both["kg_y"] - both["kg_x"]).mean())


def right(folder: Path) -> Delivered:
    return said(f"By {_change(folder):.2f} kg.")


def wrong(folder: Path) -> Delivered:
    return said(
        f"By {pd.read_csv(folder / 'after.csv')['kg'].mean() - pd.read_csv(folder / 'before.csv')['kg'].mean():.2f} kg."
    )
