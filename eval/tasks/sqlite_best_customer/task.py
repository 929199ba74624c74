"""A small shop in SQLite; whoever bought most gave most back."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

from eval.delivered import Delivered, said

_SCHEMA = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE sales (id INTEGER PRIMARY KEY, customer INTEGER, amount REAL);
CREATE TABLE refunds (sale INTEGER);
"""
_KEPT = "LEFT JOIN refunds r ON r.sale = s.id WHERE r.sale IS NULL"


def make(folder: Path) -> None:
    chance = random.Random(30)
    names = ["Arun", "Bela", "Ines", "Jo", "Mila"]
    with closing(sqlite3.connect(folder / "shop.db")) as database, database:
        database.executescript(_SCHEMA)
        database.executemany("INSERT INTO customers VALUES (?, ?)", list(enumerate(names, start=1)))
        for sale in range(1, 301):
            who = chance.choices(range(1, 6), weights=[3, 3, 5, 3, 6])[0]
            database.execute("INSERT INTO sales VALUES (?, ?, ?)", (sale, who, round(chance.uniform(5, 50), 2)))
            if who == 5 and chance.random() < 0.45:
                database.execute("INSERT INTO refunds VALUES (?)", (sale,))


def _best(folder: Path, kept: str = _KEPT) -> tuple[str, float]:
    joined = f"sales s JOIN customers c ON c.id = s.customer {kept}"
    query = f"SELECT c.name, SUM(s.amount) FROM {joined} GROUP BY c.name ORDER BY 2 DESC"
    with closing(sqlite3.connect(folder / "shop.db")) as database:
        name, amount = database.execute(query).fetchone()
    return str(name), float(amount)


def right(folder: Path) -> Delivered:
    name, amount = _best(folder)
    return said(f"{name} spent {amount:.2f}.")


def wrong(folder: Path) -> Delivered:
    name, amount = _best(folder, kept="")
    return said(f"{name} spent {amount:.2f}.")
