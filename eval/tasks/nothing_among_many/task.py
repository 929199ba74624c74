"""A trial with twelve measures and no effect: whoever tests each alone finds something."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.writing import write_csv

MEASURES = [
    "pulse",
    "weight_kg",
    "height_cm",
    "sleep_h",
    "steps",
    "calories",
    "glucose",
    "iron",
    "zinc",
    "stress",
    "mood",
    "pain",
]


def make(folder: Path) -> None:
    chance = random.Random(17)
    rows = [
        (
            f"s{number:03d}",
            chance.choice(["treated", "control"]),
            *(round(chance.gauss(50 + 7 * place, 8), 1) for place in range(len(MEASURES))),
        )
        for number in range(120)
    ]
    write_csv(folder / "trial.csv", ["subject", "arm", *MEASURES], rows)


def right(folder: Path) -> Delivered:
    return said("Nothing: of twelve measures none differs once all tests are taken together.")


def wrong(folder: Path) -> Delivered:
    return said("Stress is higher in the treated arm (p = 0.03), which is significantly different.")
