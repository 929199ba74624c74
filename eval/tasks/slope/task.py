"""Flats, some of which have an area of 0 because nobody measured it."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import write_csv


def make(folder: Path) -> None:
    chance = random.Random(36)
    rows: list[tuple[int, int, int]] = []
    for number in range(240):
        area = round(chance.uniform(30, 140))
        rows.append((number, 0 if chance.random() < 0.1 else area, round(300 + 11.5 * area + chance.gauss(0, 60))))
    write_csv(folder / "flats.csv", ["flat", "area_m2", "rent_eur"], rows)


def _slope(folder: Path, least: int = 1) -> float:
    table = pd.read_csv(folder / "flats.csv")
    known = table[table["area_m2"] >= least]
    return float(np.polyfit(known["area_m2"].to_numpy(float), known["rent_eur"].to_numpy(float), 1)[0])


def right(folder: Path) -> Delivered:
    return said(f"One more square metre costs {_slope(folder):.1f} euros.")


def wrong(folder: Path) -> Delivered:
    return said(f"One more square metre costs {_slope(folder, least=0):.1f} euros.")
