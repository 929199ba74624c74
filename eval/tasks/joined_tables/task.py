"""Sales and products in SQLite; a handful of sales are of a product that is not listed."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

from eval.delivered import Delivered, said

_SCHEMA = """
CREATE TABLE products (product_id INTEGER PRIMARY KEY, name TEXT, category TEXT);
CREATE TABLE sales (sale_id INTEGER PRIMARY KEY, product_id INTEGER, pieces INTEGER, paid REAL);
"""
_PRODUCTS = [
    ("Espresso", "drinks", 2.2),
    ("Tea", "drinks", 2.0),
    ("Lemonade", "drinks", 2.8),
    ("Croissant", "bakery", 1.9),
    ("Pretzel", "bakery", 1.4),
    ("Roll", "bakery", 0.9),
    ("Daily", "papers", 3.6),
    ("Weekly", "papers", 5.4),
]


def make(folder: Path) -> None:
    chance = random.Random(46)
    with closing(sqlite3.connect(folder / "kiosk.db")) as database, database:
        database.executescript(_SCHEMA)
        for number, (name, category, _) in enumerate(_PRODUCTS, start=1):
            database.execute("INSERT INTO products VALUES (?, ?, ?)", (number, name, category))
        for sale in range(1, 601):
            product, pieces = chance.randrange(len(_PRODUCTS)), chance.choices([1, 2, 3], weights=[6, 3, 1])[0]
            known = product + 1 if chance.random() > 0.01 else 99
            database.execute(
                "INSERT INTO sales VALUES (?, ?, ?, ?)", (sale, known, pieces, round(_PRODUCTS[product][2] * pieces, 2))
            )


def right(folder: Path) -> Delivered:
    return said("Most is paid for papers, where the median is highest.")


def wrong(folder: Path) -> Delivered:
    return said("Paid rises as pieces rises.")
