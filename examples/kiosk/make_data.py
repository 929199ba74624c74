"""Writes kiosk.db beside itself: an invented kiosk's till as SQLite, three tables, the same each time."""

import random
import sqlite3
from datetime import date, timedelta
from pathlib import Path

PRODUCTS = [  # name, category, price
    ("Espresso", "drinks", 2.2), ("Tea", "drinks", 2.0), ("Lemonade", "drinks", 2.8), ("Croissant", "bakery", 1.9),
    ("Pretzel", "bakery", 1.4), ("Roll", "bakery", 0.9), ("Daily", "papers", 2.6), ("Weekly", "papers", 5.4),
]  # fmt: skip
STAFF = ["Noor", "Pia", "Sam"]
SCHEMA = """
CREATE TABLE products (product_id INTEGER PRIMARY KEY, name TEXT NOT NULL, category TEXT NOT NULL, price REAL NOT NULL);
CREATE TABLE sales (sale_id INTEGER PRIMARY KEY, sold_on TEXT NOT NULL, product_id INTEGER, staff TEXT, pieces INTEGER, paid REAL);
CREATE TABLE refunds (sale_id INTEGER, reason TEXT);
"""


def sales(chance):
    number = 0
    for day in range(120):
        when = date(2025, 3, 1) + timedelta(days=day)
        is_weekend = when.weekday() >= 5
        for _ in range(round(chance.gauss(26 if is_weekend else 14, 3))):
            number += 1
            product = chance.randrange(len(PRODUCTS))
            pieces = chance.choices([1, 2, 3], weights=[6, 3, 1])[0]
            paid = round(PRODUCTS[product][2] * pieces, 2)
            is_known = chance.random() > 0.01
            yield (number, when.isoformat(), product + 1 if is_known else 99, chance.choice(STAFF), pieces, paid)


def main():
    chance = random.Random(23)
    path = Path(__file__).parent / "kiosk.db"
    path.unlink(missing_ok=True)
    rows = list(sales(chance))
    with sqlite3.connect(path) as database:
        database.executescript(SCHEMA)
        database.executemany(
            "INSERT INTO products VALUES (?, ?, ?, ?)", [(number, *one) for number, one in enumerate(PRODUCTS, start=1)]
        )
        database.executemany("INSERT INTO sales VALUES (?, ?, ?, ?, ?, ?)", rows)
        refunded = sorted(chance.sample(range(1, len(rows) + 1), 40))
        database.executemany(
            "INSERT INTO refunds VALUES (?, ?)", [(sale, chance.choice(["stale", "wrong change", ""])) for sale in refunded]
        )
    database.close()


if __name__ == "__main__":
    main()
