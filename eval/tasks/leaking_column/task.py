"""Bookings whose refund is known only once they are cancelled."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.writing import write_csv


def make(folder: Path) -> None:
    chance = random.Random(37)
    rows: list[tuple[object, ...]] = []
    for number in range(800):
        lead = chance.randrange(1, 200)
        is_cancelled = chance.random() < 0.15 + 0.5 * (lead > 90)
        rows.append(
            (
                number,
                lead,
                chance.choice(["web", "desk"]),
                chance.randrange(1, 8),
                round(chance.uniform(20, 90), 2) if is_cancelled else 0,
                "yes" if is_cancelled else "no",
            )
        )
    write_csv(folder / "bookings.csv", ["booking", "lead_days", "channel", "nights", "refund_eur", "cancelled"], rows)


def right(folder: Path) -> Delivered:
    return said("Without refund_eur, which is known only afterwards, it is right in 76 % of unseen bookings.")


def wrong(folder: Path) -> Delivered:
    return said("It is right in 100 % of unseen bookings, thanks to refund_eur.")
