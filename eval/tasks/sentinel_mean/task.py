"""Readings of a thermometer, -999 where it was off."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import days, write_csv


def make(folder: Path) -> None:
    chance = random.Random(1)
    rows = [
        (day, hour, -999 if chance.random() < 0.03 else round(chance.gauss(17.4, 3), 1))
        for day in days("2025-03-01", 31)
        for hour in range(0, 24, 2)
    ]
    write_csv(folder / "readings.csv", ["date", "hour", "temperature"], rows)


def _mean(folder: Path) -> float:
    table = pd.read_csv(folder / "readings.csv")
    return float(table.loc[table["temperature"] > -100, "temperature"].mean())


def _spoilt(folder: Path) -> float:
    return float(pd.read_csv(folder / "readings.csv")["temperature"].mean())


def right(folder: Path) -> Delivered:
    return said(f"The mean temperature is {_mean(folder):.1f} °C.")


def wrong(folder: Path) -> Delivered:
    return said(f"The mean temperature is {_spoilt(folder):.1f} °C.")
