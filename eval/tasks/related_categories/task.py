"""Pieces of three machines, one of which spoils more."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.writing import write_csv


def make(folder: Path) -> None:
    chance = random.Random(16)
    rates = {"M1": 0.06, "M2": 0.08, "M3": 0.30}
    rows = [
        (number, machine, chance.choice(["early", "late"]), "yes" if chance.random() < rates[machine] else "no")
        for number, machine in enumerate(chance.choices(list(rates), k=600))
    ]
    write_csv(folder / "pieces.csv", ["piece", "machine", "shift", "defect"], rows)


def right(folder: Path) -> Delivered:
    return said("Yes: defect goes with machine, most with M3 (chi-square).")


def wrong(folder: Path) -> Delivered:
    return said("No: defect and machine are not related (chi-square).")
