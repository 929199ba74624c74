"""Power every quarter of an hour: a sum of kilowatts is no energy."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import days, write_csv


def make(folder: Path) -> None:
    chance = random.Random(25)
    rows = [
        (
            f"{day} {quarter // 4:02d}:{quarter % 4 * 15:02d}",
            round(abs(chance.gauss(2.5 if day.day == 17 else 1.8, 0.5)), 3),
        )
        for day in days("2025-05-01", 31)
        for quarter in range(96)
    ]
    write_csv(folder / "meter.csv", ["time", "power_kw"], rows)


def _daily(folder: Path) -> Any:
    table = pd.read_csv(folder / "meter.csv", parse_dates=["time"])
    return table.groupby(table["time"].dt.date)["power_kw"].sum()


def _energy(folder: Path) -> float:
    return float(_daily(folder).max() / 4)


def right(folder: Path) -> Delivered:
    return said(f"On {_daily(folder).idxmax()}, {_energy(folder):.1f} kWh.")


def wrong(folder: Path) -> Delivered:
    return said(f"On {_daily(folder).idxmax()}, {_daily(folder).max():.1f} kWh.")
