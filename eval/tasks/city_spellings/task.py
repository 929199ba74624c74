"""Members of a club, whose cities were typed by many people."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import write_csv

SPELLINGS = ["Zürich", "Zurich", "zürich", "ZÜRICH", "Zuerich", " Zürich", "Zürich "]


def make(folder: Path) -> None:
    chance = random.Random(4)
    cities = ["Basel", "Bern", "Genf", "Zug", *SPELLINGS]
    rows = [(number, chance.choice(cities), chance.randrange(18, 90)) for number in range(1, 501)]
    write_csv(folder / "members.csv", ["member", "city", "age"], rows, encoding="cp1252")


def _members(folder: Path) -> int:
    cities = pd.read_csv(folder / "members.csv", encoding="cp1252")["city"].str.strip().str.lower()
    return int(cities.str.replace("ue", "ü").str.replace("zurich", "zürich").eq("zürich").sum())


def right(folder: Path) -> Delivered:
    return said(f"{_members(folder)} members live in Zurich.")


def wrong(folder: Path) -> Delivered:
    count = pd.read_csv(folder / "members.csv", encoding="cp1252")["city"].eq("Zürich").sum()
    return said(f"{count} members live in Zurich.")
