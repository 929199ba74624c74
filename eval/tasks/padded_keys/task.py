"""Sales and stores, whose numbers have leading zeros in one of the two files."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import write_csv


def make(folder: Path) -> None:
    chance = random.Random(8)
    stores = [
        (f"{number:04d}", chance.choice(["North", "East"]) if number < 100 else "West") for number in range(80, 130)
    ]
    sales = [(chance.choice(range(80, 130)), round(chance.uniform(5, 120), 2)) for _ in range(700)]
    write_csv(folder / "stores.csv", ["store", "region"], stores)
    write_csv(folder / "sales.csv", ["store", "revenue"], sales)


def _regions(folder: Path) -> Any:
    sales, stores = pd.read_csv(folder / "sales.csv"), pd.read_csv(folder / "stores.csv")
    return sales.merge(stores, on="store", validate="many_to_one").groupby("region")["revenue"].sum()


def _west(folder: Path) -> float:
    return float(_regions(folder)["West"])


def right(folder: Path) -> Delivered:
    return said(f"West, with {_west(folder):,.2f}.")


def wrong(folder: Path) -> Delivered:
    sales, stores = (
        pd.read_csv(folder / "sales.csv", dtype={"store": str}),
        pd.read_csv(folder / "stores.csv", dtype=str),
    )
    joined = sales.merge(stores, on="store")
    best = joined.groupby("region")["revenue"].sum().sort_values()
    return said(f"{best.index[-1]}, with {best.iloc[-1]:,.2f}." if len(best) else "No store matches.")
