"""A log of faults as JSON lines, with a date; faults of the gear take longest."""

from __future__ import annotations

import json
import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.writing import days


def make(folder: Path) -> None:
    chance = random.Random(41)
    rows = [
        {
            "id": number,
            "date": chance.choice(days("2025-01-01", 180)).isoformat(),
            "kind": chance.choice(["pitch", "gear", "grid", "ice"]),
        }
        for number in range(1, 161)
    ]
    lines = [
        json.dumps({**row, "minutes": 1 + round(chance.expovariate(1 / (90 if row["kind"] == "gear" else 25)))})
        for row in rows
    ]
    (folder / "faults.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def right(folder: Path) -> Delivered:
    return said("Faults of the gear take longest: the median is 52 minutes, of the others below 20.")


def wrong(folder: Path) -> Delivered:
    return said("Minutes is highest where kind is gear (median 10.4) and lowest where it is ice (median -24.7).")
