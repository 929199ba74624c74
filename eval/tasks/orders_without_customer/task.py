"""Orders, some of customers nobody knows; some keys differ in case only and do belong."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import write_csv


def make(folder: Path) -> None:
    chance = random.Random(9)
    known = [f"K{number:03d}" for number in range(120)]
    write_csv(folder / "customers.csv", ["customer", "segment"], [(name, chance.choice(["A", "B"])) for name in known])
    rows: list[tuple[int, str, float]] = []
    for number in range(600):
        name = chance.choice(known) if chance.random() > 0.06 else f"K{chance.randrange(200, 230)}"
        rows.append((number, name.lower() if chance.random() < 0.1 else name, round(chance.uniform(3, 90), 2)))
    write_csv(folder / "orders.csv", ["order", "customer", "amount"], rows)


def _lost(folder: Path, *, is_careful: bool = True) -> Any:
    orders, customers = pd.read_csv(folder / "orders.csv"), pd.read_csv(folder / "customers.csv")
    names = orders["customer"].str.upper() if is_careful else orders["customer"]
    return orders[~names.isin(customers["customer"])]


def _count(folder: Path) -> int:
    return len(_lost(folder))


def _amount(folder: Path) -> float:
    return float(_lost(folder)["amount"].sum())


def right(folder: Path) -> Delivered:
    return said(f"{_count(folder)} orders with {_amount(folder):.2f} in total.")


def wrong(folder: Path) -> Delivered:
    lost = _lost(folder, is_careful=False)
    return said(f"{len(lost)} orders with {lost['amount'].sum():.2f} in total.")
