"""Tables as reading would hand them over, made by hand; and short ways to ask what a profile says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa

from cellwright_guest.profiling.profiler import profile_tables
from cellwright_guest.profiling.raw import RawColumn, RawTable
from cellwright_guest.profiling.records import ColumnProfile, Oddity, Profile, ReadOptions, TableProfile

TODAY = date(2026, 1, 1)


def raw_table(
    columns: Mapping[str, Any],
    *,
    name: str = "sales",
    is_text: bool = True,
    sampling: str = "",
) -> RawTable:
    made = [
        RawColumn(
            name=title,
            values=values if isinstance(values, pa.Array) else pa.array(values, pa.string()),
            is_text_format=is_text,
        )
        for title, values in columns.items()
    ]
    rows = len(made[0].values) if made else 0
    reading = ReadOptions(path=f"{name}.csv", format="csv" if is_text else "parquet")
    return RawTable(name=name, reading=reading, columns=made, rows=rows, looked_at=rows, sampling=sampling)


def profile(*tables: RawTable) -> Profile:
    return profile_tables(tables, [], [], today=TODAY)


def profiled(columns: Mapping[str, Any], *, is_text: bool = True, sampling: str = "") -> TableProfile:
    return profile(raw_table(columns, is_text=is_text, sampling=sampling)).tables[0]


def column_of(values: Any, *, name: str = "value", is_text: bool = True) -> ColumnProfile:
    return profiled({name: values}, is_text=is_text).columns[0]


def odd(table: TableProfile, kind: str, column: str | None = None) -> list[Oddity]:
    return [oddity for oddity in table.oddities if oddity.kind == kind and column in (None, oddity.column)]


def oddities_of(values: Any, kind: str, *, name: str = "value", is_text: bool = True) -> list[Oddity]:
    return odd(profiled({name: values}, is_text=is_text), kind)


def written(numbers: Any, places: int = 2) -> list[str | None]:
    return [f"{number:.{places}f}" for number in numbers]


def normal(count: int, *, mean: float = 100.0, deviation: float = 10.0, seed: int = 1) -> list[str | None]:
    return written(np.random.default_rng(seed).normal(mean, deviation, count))


def picked(labels: Sequence[str], count: int, *, seed: int = 1) -> list[str | None]:
    chosen = np.random.default_rng(seed).integers(0, len(labels), count)
    return [labels[int(place)] for place in chosen]


def days(count: int, *, first: str = "2024-01-01") -> list[str | None]:
    return [str(np.datetime64(first) + np.timedelta64(place, "D")) for place in range(count)]
