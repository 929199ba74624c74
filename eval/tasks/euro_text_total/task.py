"""Invoices as a German till writes them, with a total below each month."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import write_csv


def _euros(amount: float) -> str:
    return f"{amount:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".") + " €"


def make(folder: Path) -> None:
    chance = random.Random(2)
    rows: list[tuple[str, str, str]] = []
    for month in range(1, 7):
        amounts = [round(chance.lognormvariate(6, 1), 2) for _ in range(40)]
        rows += [
            (f"R-{month}{number:02d}", f"{number % 28 + 1:02d}.{month:02d}.2025", _euros(amount))
            for number, amount in enumerate(amounts)
        ]
        rows.append((f"Summe {month:02d}/2025", "", _euros(sum(amounts))))
    write_csv(folder / "invoices.csv", ["number", "date", "amount"], rows, delimiter=";")


def _amounts(folder: Path) -> Any:
    table = pd.read_csv(folder / "invoices.csv", sep=";", dtype=str)
    plain = table["amount"].str.replace(" €", "").str.replace(".", "").str.replace(",", ".")
    return table.assign(amount=plain.astype(float))


def _total(folder: Path) -> float:
    table = _amounts(folder)
    return float(table.loc[table["date"].notna(), "amount"].sum())


def _doubled(folder: Path) -> float:
    return float(_amounts(folder)["amount"].sum())


def right(folder: Path) -> Delivered:
    return said(f"In total {_total(folder):,.2f} euros were invoiced.")


def wrong(folder: Path) -> Delivered:
    return said(f"In total {_doubled(folder):,.2f} euros were invoiced.")
