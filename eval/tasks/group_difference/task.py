"""Plots of a field, one fertiliser of which helps."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import write_csv


def make(folder: Path) -> None:
    chance = random.Random(12)
    usual = {"compost": 7.4, "mineral": 6.1, "none": 6.0}
    rows = [
        (number, name, chance.choice(["clay", "sand"]), round(chance.gauss(usual[name], 0.8), 2))
        for number, name in enumerate(chance.choices(list(usual), k=180))
    ]
    write_csv(folder / "plots.csv", ["plot", "fertiliser", "soil", "yield_t"], rows)


def right(folder: Path) -> Delivered:
    medians = pd.read_csv(folder / "plots.csv").groupby("fertiliser", dropna=False)["yield_t"].median()
    return said(f"The yield is highest with {medians.idxmax()} (Kruskal-Wallis, p < 0.001).", charts=1)


def wrong(folder: Path) -> Delivered:
    return said("The yield is highest with mineral fertiliser (Kruskal-Wallis).", charts=1)
