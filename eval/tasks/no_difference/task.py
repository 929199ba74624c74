"""Scores that have nothing to do with the class."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.writing import write_csv


def make(folder: Path) -> None:
    chance = random.Random(13)
    rows = [
        (f"p{number:03d}", chance.choice(["red", "green", "blue"]), round(chance.gauss(62, 11), 1))
        for number in range(150)
    ]
    write_csv(folder / "scores.csv", ["pupil", "class", "score"], rows)


def right(folder: Path) -> Delivered:
    return said("No: the scores of the classes do not differ more than by chance (Kruskal-Wallis).")


def wrong(folder: Path) -> Delivered:
    return said("The score is highest in green, which is significantly better than red.")
