"""Two exports pasted together: the header again, totals, footnotes."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.writing import write_csv

COLUMNS = ["article", "department", "pieces", "turnover"]


def make(folder: Path) -> None:
    chance = random.Random(7)
    rows: list[list[object]] = []
    for half in range(2):
        part: list[list[object]] = [
            [
                f"A{half}{number:03d}",
                chance.choice(["toys", "books", "tools"]),
                chance.randrange(1, 40),
                round(chance.uniform(20, 900), 2),
            ]
            for number in range(90)
        ]
        rows.extend(part)
        rows.append(
            ["Total", "", sum(int(str(row[2])) for row in part), round(sum(float(str(row[3])) for row in part), 2)]
        )
        if half == 0:
            rows.append(list(COLUMNS))
    rows.append(["* turnover in euros, tax included"])
    rows.append(["Source: till, made on 2 May 2025"])
    write_csv(folder / "export.csv", COLUMNS, rows)


def right(folder: Path) -> Delivered:
    return said(
        "No: the header is there again in the middle, a total stands below each half, and two footnotes at the end."
    )


def wrong(folder: Path) -> Delivered:
    return said("Yes: there are no missing values and no duplicates.")
