"""A file a site, from three programs: commas, semicolons with decimal commas, tabs."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import days, write_csv

SITES = {"brook": (7.1, ","), "lagoon": (7.9, ";"), "spring": (7.3, "\t"), "weir": (7.4, ",")}


def make(folder: Path) -> None:
    chance = random.Random(40)
    for site, (usual, delimiter) in SITES.items():
        rows = [
            (day, f"{chance.gauss(usual, 0.2):.2f}".replace(".", "," if delimiter == ";" else "."))
            for day in days("2025-04-01", 30)
        ]
        write_csv(folder / f"sites/{site}.csv", ["date", "ph"], rows, delimiter=delimiter)


def _means(folder: Path) -> dict[str, float]:
    return {
        site: float(
            pd.read_csv(folder / f"sites/{site}.csv", sep=delimiter, decimal="," if delimiter == ";" else ".")[
                "ph"
            ].mean()
        )
        for site, (_, delimiter) in SITES.items()
    }


def _highest(folder: Path) -> float:
    return max(_means(folder).values())


def right(folder: Path) -> Delivered:
    return said(f"The lagoon, with {_highest(folder):.2f}.")


def wrong(folder: Path) -> Delivered:
    return said(f"The weir, with {_means(folder)['weir']:.2f}.")
