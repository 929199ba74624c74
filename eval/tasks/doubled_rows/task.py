"""Bookings, some of them exported twice, once in capitals."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import write_csv


def make(folder: Path) -> None:
    chance = random.Random(3)
    rows = [(f"bk-{number:04d}", chance.choice(["single", "double"]), chance.randrange(1, 9)) for number in range(410)]
    again = [(name.upper(), room, nights) for name, room, nights in chance.sample(rows, 37)]
    write_csv(folder / "bookings.csv", ["booking", "room", "nights"], [*rows, *again, *rows[40:55]])


def _once(folder: Path) -> Any:
    table = pd.read_csv(folder / "bookings.csv")
    return table.assign(booking=table["booking"].str.lower()).drop_duplicates("booking")


def _bookings(folder: Path) -> int:
    return len(_once(folder))


def _nights(folder: Path) -> int:
    return int(_once(folder)["nights"].sum())


def right(folder: Path) -> Delivered:
    return said(f"There are {_bookings(folder)} bookings with {_nights(folder)} nights.")


def wrong(folder: Path) -> Delivered:
    table = pd.read_csv(folder / "bookings.csv").drop_duplicates()
    return said(f"There are {len(table)} bookings with {table['nights'].sum()} nights.")
