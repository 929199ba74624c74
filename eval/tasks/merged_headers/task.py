"""A workbook with a title, two header rows with merged cells, and a total at the bottom."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from openpyxl import Workbook

from eval.delivered import Delivered, said
from eval.frames import pd


def make(folder: Path) -> None:
    chance = random.Random(42)
    book = Workbook()
    sheet = book.worksheets[0]
    sheet.append(["Energy of our plants, 2025"])
    sheet.append([])
    sheet.append(["month", "North", None, "South", None])
    sheet.append([None, "energy_kwh", "hours", "energy_kwh", "hours"])
    sheet.merge_cells("B3:C3")
    sheet.merge_cells("D3:E3")
    rows = [
        [
            chance.randrange(900, 1500),
            chance.randrange(300, 500),
            chance.randrange(1500, 2500),
            chance.randrange(300, 500),
        ]
        for _ in range(12)
    ]
    for month, row in enumerate(rows, start=1):
        sheet.append([month, *row])
    sheet.append(["Total", *(sum(row[place] for row in rows) for place in range(4))])
    book.save(folder / "plants.xlsx")


def _columns(folder: Path) -> Any:
    return pd.read_excel(folder / "plants.xlsx", skiprows=4, header=None)


def _south(folder: Path) -> float:
    return float(_columns(folder).iloc[:12, 3].sum())


def right(folder: Path) -> Delivered:
    return said(f"{_south(folder):,.0f} kWh.")


def wrong(folder: Path) -> Delivered:
    return said(f"{_columns(folder).iloc[:, 3].sum():,.0f} kWh.")
