"""Shipments with a sentinel, doubled rows, several spellings and missing values."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.writing import days, with_misses, write_csv


def make(folder: Path) -> None:
    chance = random.Random(6)
    rows = [
        (
            f"S{number:04d}",
            chance.choice(days("2025-02-01", 90)),
            chance.choices(["Express", "Standard", "express", "Standrad"], weights=[40, 50, 6, 4])[0],
            9999 if chance.random() < 0.04 else max(1, round(chance.gauss(5, 2))),
            with_misses(chance, round(chance.lognormvariate(1, 0.5), 2), 0.12),
        )
        for number in range(400)
    ]
    write_csv(
        folder / "shipments.csv", ["shipment", "sent_on", "service", "days", "weight_kg"], [*rows, *rows[100:118]]
    )


def right(folder: Path) -> Delivered:
    return said(
        "Partly: days is 9999 where it is not known, 18 rows are there twice, service is spelt in several ways, "
        "and 12 % of weight_kg is missing."
    )


def wrong(folder: Path) -> Delivered:
    return said("The data looks clean and can be used as it is.")
