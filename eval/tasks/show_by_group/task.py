"""Trees of three varieties, one of which grows tall."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.writing import write_csv


def make(folder: Path) -> None:
    chance = random.Random(27)
    usual = {"alder": 240, "birch": 205, "cedar": 200}
    rows = [
        (number, name, round(chance.gauss(usual[name], 18)), round(chance.gauss(11, 2), 1))
        for number, name in enumerate(chance.choices(list(usual), k=210))
    ]
    write_csv(folder / "trees.csv", ["tree", "variety", "height_cm", "trunk_cm"], rows)


def right(folder: Path) -> Delivered:
    return said("Alder is tallest.", charts=1)


def wrong(folder: Path) -> Delivered:
    return said("Alder is tallest.")
