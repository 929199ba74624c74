"""Purchases in one file, what kind of client made them in another."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import days, write_csv


def make(folder: Path) -> None:
    chance = random.Random(11)
    clients = {f"Q{number:03d}": chance.choice(["Business", "Private"]) for number in range(150)}
    write_csv(folder / "clients.csv", ["client_id", "segment"], list(clients.items()))
    rows: list[tuple[object, ...]] = []
    for number in range(900):
        client = chance.choice(list(clients))
        usual = 70 if clients[client] == "Business" else 40
        rows.append(
            (f"N{number:04d}", chance.choice(days("2025-01-01", 180)), client, round(chance.gauss(usual, 15), 2))
        )
    write_csv(folder / "purchases.csv", ["purchase_id", "bought_on", "client_id", "amount"], rows)


def right(folder: Path) -> Delivered:
    joined = pd.read_csv(folder / "purchases.csv").merge(pd.read_csv(folder / "clients.csv"), on="client_id")
    means = joined.groupby("segment")["amount"].mean()
    return said(f"{means.idxmax()} clients spend more: {means.max():.0f} against {means.min():.0f}.", charts=1)


def wrong(folder: Path) -> Delivered:
    return said("There is no column segment in the purchases.", charts=1)
