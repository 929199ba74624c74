"""Files of one shape become one table: `sales_2024-01.csv`, `sales_2024-02.csv` …"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa

from cellwright_guest.profiling.arrow import Array, DataType
from cellwright_guest.profiling.raw import RawColumn, RawTable
from cellwright_guest.profiling.records import Oddity
from cellwright_guest.profiling.sources import example, unused_name

_VARYING: Final = re.compile(r"\d+|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*", re.IGNORECASE)


def gather(tables: Sequence[RawTable], most_rows: int) -> list[RawTable]:
    """Tables of one shape in one folder with like names are one; those that nearly fit say so and stay apart."""
    groups: dict[tuple[object, ...], list[RawTable]] = {}
    for table in tables:
        groups.setdefault(_shape(table), []).append(table)
    gathered = [_one(group, most_rows) if len(group) > 1 else group[0] for group in groups.values()]
    _note_near_fits(gathered)
    return gathered


def _shape(table: RawTable) -> tuple[object, ...]:
    """What files must share to be one table: the folder, the pattern of the name, how they are read, the columns."""
    reading = msgspec.structs.replace(table.reading, path="", width=0)
    if table.reading.format not in ("csv", "parquet", "feather", "json", "jsonl"):
        return (table.reading.path, table.reading.part, id(table))
    return (*_series(table), reading, tuple(column.name for column in table.columns))


def _series(table: RawTable) -> tuple[str, str]:
    path = Path(table.reading.path)
    return str(path.parent), _VARYING.sub("*", path.name)


def _one(group: Sequence[RawTable], most_rows: int) -> RawTable:
    """One table of several files, its rows evenly of all of them."""
    first, looked_at = group[0], sum(table.looked_at for table in group)
    stride = max(1, -(-looked_at // max(1, most_rows)))
    columns = [_stacked(group, at, stride) for at in range(len(first.columns))]
    files = tuple(table.reading.path for table in group)
    rows = sum(table.rows for table in group)
    kept = len(columns[0].values) if columns else 0
    width = max(table.reading.width for table in group)
    name = re.sub(r"[-_. ]*\*[-_. ]*", "_", _VARYING.sub("*", first.name)).strip("_") or first.name
    return replace(
        first,
        name=name,
        reading=msgspec.structs.replace(first.reading, width=width),
        columns=columns,
        rows=rows,
        is_counted=all(table.is_counted for table in group),
        looked_at=kept,
        sampling=""
        if kept == rows
        else f"one in {max(2, round(rows / max(1, kept))):,} of {rows:,} rows in {len(group):,} files",
        bytes=sum(table.bytes for table in group),
        oddities=_all_oddities(group),
        files=files,
    )


def _stacked(group: Sequence[RawTable], at: int, stride: int) -> RawColumn:
    column = group[0].columns[at]
    arrays = [chunk for table in group for chunk in _chunks(table.columns[at].values)]
    kinds = {array.type for array in arrays if not pa.types.is_null(array.type)}
    if len(kinds) > 1:
        numbers = all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds)
        arrays = [_cast(array, pa.float64() if numbers else pa.string()) for array in arrays]
    elif kinds:
        arrays = [array.cast(next(iter(kinds))) if pa.types.is_null(array.type) else array for array in arrays]
    values = pa.chunked_array(arrays)
    if stride > 1:
        values = values.take(pa.array(range(0, len(values), stride), type=pa.int64()))
    return RawColumn(name=column.name, values=values, is_text_format=column.is_text_format)


def _chunks(values: Array) -> list[Array]:
    return values.chunks if isinstance(values, pa.ChunkedArray) else [values]


def _cast(array: Array, kind: DataType) -> Array:
    try:
        return array.cast(kind)
    except pa.ArrowException:
        return pa.array([None if value is None else str(value) for value in array.to_pylist()], type=pa.string())


def _all_oddities(group: Sequence[RawTable]) -> list[Oddity]:
    """What was noticed in any of the files, with the rows counted through all of them."""
    found: dict[tuple[str, str], Oddity] = {}
    before = 0
    for table in group:
        for odd in table.oddities:
            name = Path(table.reading.path).name
            moved = msgspec.structs.replace(
                odd, rows=tuple(row + before for row in odd.rows), says=f"{odd.says.rstrip('.')} (in {name})."
            )
            known = found.get((odd.kind, odd.column))
            found[odd.kind, odd.column] = moved if known is None else _together(known, moved)
        before += table.rows
    return list(found.values())


def _together(known: Oddity, more: Oddity) -> Oddity:
    return msgspec.structs.replace(
        known,
        count=known.count + more.count,
        rows=(*known.rows, *more.rows)[:20],
        examples=(*known.examples, *more.examples)[:5],
        says=known.says if known.says.endswith("and others).") else known.says.removesuffix(").") + " and others).",
    )


def _note_near_fits(tables: Sequence[RawTable]) -> None:
    """A table whose file belongs to a series by its name but has a few other columns says which."""
    for table in tables:
        series = [other for other in tables if other.files and _series(other) == _series(table)]
        if table.files or not series or table.reading.format != series[0].reading.format:
            continue
        main = max(series, key=lambda other: len(other.files))
        mine, theirs = {column.name for column in table.columns}, {column.name for column in main.columns}
        if len(mine & theirs) < 0.5 * len(theirs):
            continue
        lacks, has = sorted(theirs - mine), sorted(mine - theirs)
        told = [f"lacks {_listed(lacks)}"] if lacks else []
        told += [f"has also {_listed(has)}"] if has else []
        why = " and ".join(told) or "is written differently"
        says = f"It looks like one more file of {main.name!r} but {why}; it is kept apart."
        table.oddities.append(Oddity(kind="not-read", says=says, count=len(lacks) + len(has)))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(example(name)) for name in names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3:,} more"


def name_apart(tables: Sequence[RawTable]) -> list[RawTable]:
    """The same tables, no two with one name."""
    taken = list[str]()
    for table in tables:
        table.name = unused_name(example(table.name) or "table", taken)
        taken.append(table.name)
    return list(tables)
