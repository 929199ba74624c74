"""Calls in SQLite; one desk takes longer."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

from eval.delivered import Delivered, said


def make(folder: Path) -> None:
    chance = random.Random(31)
    usual = {"day": 6.0, "evening": 6.2, "night": 9.5}
    with closing(sqlite3.connect(folder / "desk.db")) as database, database:
        database.execute("CREATE TABLE calls (call_id INTEGER PRIMARY KEY, desk TEXT, minutes REAL, is_repeat TEXT)")
        for call in range(1, 361):
            desk = chance.choice(list(usual))
            row = (call, desk, round(max(0.5, chance.gauss(usual[desk], 2)), 1), chance.choice(["yes", "no"]))
            database.execute("INSERT INTO calls VALUES (?, ?, ?, ?)", row)


def right(folder: Path) -> Delivered:
    return said("Calls take longest at the night desk.", charts=1)


def wrong(folder: Path) -> Delivered:
    return said("Calls take longest at the evening desk.", charts=1)
