"""Small tables on their way into files. Only for making a task's data."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from pathlib import Path


def write_csv(
    path: Path,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    delimiter: str = ",",
    encoding: str = "utf-8",
) -> None:
    """A delimited file with a header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def days(first: str, count: int) -> list[date]:
    """So many days in a row."""
    begins = date.fromisoformat(first)
    return [begins + timedelta(days=number) for number in range(count)]


def with_misses(chance: random.Random, value: object, share: float) -> object:
    """The value, or an empty field now and then."""
    return "" if chance.random() < share else value
