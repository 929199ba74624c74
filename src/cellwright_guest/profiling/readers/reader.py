"""Files become tables, whatever is in them: the interface of reading.

Files of one shape (`sales_2024-01.csv` …) are one table.
Nothing that a file holds raises: what cannot be read is told with its reason.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Final

import msgspec
import pyarrow as pa

from cellwright_guest.profiling import raw
from cellwright_guest.profiling.readers.csv_file import read_text
from cellwright_guest.profiling.readers.formats import HEAD_BYTES, recognise
from cellwright_guest.profiling.readers.json_file import read_json, read_json_lines
from cellwright_guest.profiling.readers.reader_columns import Array, DataType
from cellwright_guest.profiling.records import Oddity, ProfileRequest, SkippedFile
from cellwright_guest.profiling.shared_rows import note_shared_rows


def list_sources(paths: Sequence[str], most_files: int) -> tuple[list[raw.SourceFile], list[SkippedFile], list[str]]:
    """The files that `paths` name; what is no file is told."""
    sources, skipped, notes = dict[Path, raw.SourceFile](), list[SkippedFile](), list[str]()
    for asked in dict.fromkeys(paths):
        path = Path(asked)
        try:
            status = path.stat()
        except (OSError, ValueError):
            skipped.append(SkippedFile(path=raw.example(asked), why="it cannot be opened"))
            continue
        if stat.S_ISREG(status.st_mode):
            sources.setdefault(path.absolute(), raw.SourceFile(path=path, shown=asked, size_bytes=status.st_size))
        else:
            skipped.append(SkippedFile(path=raw.example(asked), why="it is no file"))
    if len(sources) > most_files:
        notes.append(f"Only the first {most_files:,} of {len(sources):,} files were read.")
    return list(sources.values())[:most_files], skipped, notes


_VARYING: Final = re.compile(r"\d+|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*", re.IGNORECASE)


def gather(tables: Sequence[raw.RawTable], most_rows: int) -> list[raw.RawTable]:
    """Tables of one shape in one folder with like names are one; those that nearly fit say so and stay apart."""
    groups: dict[tuple[object, ...], list[raw.RawTable]] = {}
    for table in tables:
        groups.setdefault(_shape(table), []).append(table)
    gathered = [_one(group, most_rows) if len(group) > 1 else group[0] for group in groups.values()]
    _note_near_fits(gathered)
    return gathered


def _shape(table: raw.RawTable) -> tuple[object, ...]:
    """What files must share to be one table: the folder, the pattern of the name, how they are read, the columns."""
    reading = msgspec.structs.replace(table.reading, path="", width=0)
    if table.reading.format not in ("csv", "parquet", "feather", "json", "jsonl"):
        return (table.reading.path, table.reading.part, id(table))
    return (*_series(table), reading, tuple(column.name for column in table.columns))


def _series(table: raw.RawTable) -> tuple[str, str]:
    path = Path(table.reading.path)
    return str(path.parent), _VARYING.sub("*", path.name)


def _one(group: Sequence[raw.RawTable], most_rows: int) -> raw.RawTable:
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
        shared=tuple(shared for table in group for shared in table.shared),
    )


def _stacked(group: Sequence[raw.RawTable], at: int, stride: int) -> raw.RawColumn:
    column = group[0].columns[at]
    held = [table.columns[at].values for table in group]
    arrays = [chunk for each in held for chunk in (each.chunks if isinstance(each, pa.ChunkedArray) else [each])]
    kinds = {array.type for array in arrays if not pa.types.is_null(array.type)}
    if len(kinds) > 1:
        numbers = all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds)
        arrays = [_cast(array, pa.float64() if numbers else pa.string()) for array in arrays]
    elif kinds:
        arrays = [array.cast(next(iter(kinds))) if pa.types.is_null(array.type) else array for array in arrays]
    values = pa.chunked_array(arrays)
    if stride > 1:
        values = values.take(pa.array(range(0, len(values), stride), type=pa.int64()))
    return raw.RawColumn(name=column.name, values=values, is_text_format=column.is_text_format)


def _cast(array: Array, kind: DataType) -> Array:
    try:
        return array.cast(kind)
    except pa.ArrowException:
        return pa.array([None if value is None else str(value) for value in array.to_pylist()], type=pa.string())


def _all_oddities(group: Sequence[raw.RawTable]) -> list[Oddity]:
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


def _note_near_fits(tables: Sequence[raw.RawTable]) -> None:
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
    shown = ", ".join(repr(raw.example(name)) for name in names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3:,} more"


def name_apart(tables: Sequence[raw.RawTable]) -> list[raw.RawTable]:
    """The same tables, no two with one name."""
    taken = list[str]()
    for table in tables:
        table.name = raw.unused_name(raw.example(table.name) or "table", taken)
        taken.append(table.name)
    return list(tables)


_GZIP: Final = b"\x1f\x8b"
_SHARE_OF_TIME: Final = 0.7
_LEAST_SECONDS: Final = 0.5

# What the libraries raise for bytes that are not what they should be.
_BROKEN: Final = (
    OSError, EOFError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError,
    AssertionError, SyntaxError, csv.Error, zlib.error, struct.error, zipfile.BadZipFile, zipfile.LargeZipFile,
    pa.ArrowException,
)  # fmt: skip

Found = tuple[list[raw.RawTable], list[SkippedFile], list[str]]


def read_tables(question: ProfileRequest) -> Found:
    """The tables in the files asked for, what could not be read, and remarks.

    Blocks for about `question.seconds` at most; never raises for what a file holds.
    """
    started = monotonic()
    sources, skipped, notes = list_sources(question.paths, question.most_files)
    in_all = max(1, sum(source.size_bytes for source in sources))
    found: dict[Path, Found] = {}
    # The small ones first: what they leave of their time is the large ones'.
    for number, source in enumerate(sorted(sources, key=lambda source: source.size_bytes)):
        left = started + question.seconds * _SHARE_OF_TIME - monotonic()
        seconds = max(_LEAST_SECONDS, left / (len(sources) - number))
        there = replace(source, groups=question.groups.get(source.shown))
        budget = _budget_for(question, seconds, len(sources), source.size_bytes / in_all)
        found[source.path] = read_source(there, budget)
    tables = [table for source in sources for table in found[source.path][0]]
    skipped += [refused for source in sources for refused in found[source.path][1]]
    notes += [remark for source in sources for remark in found[source.path][2]]
    note_shared_rows(tables)
    return name_apart(gather(tables, question.most_rows)), skipped, notes


def _budget_for(question: ProfileRequest, seconds: float, files: int, part: float) -> raw.ReadBudget:
    """What one of some files may cost, the larger the more: `part` is its size in that of all."""
    whole = raw.ReadBudget(
        most_rows=question.most_rows, most_columns=question.most_columns, until=monotonic() + seconds
    )
    if files == 1:
        return whole
    most_rows = max(min(question.most_rows, 20_000), 2 * question.most_rows // files, int(question.most_rows * part))
    most_bytes = max(whole.most_bytes // files, 8 << 20, int(whole.most_bytes * part / 2))
    return replace(whole, most_rows=most_rows, most_bytes=most_bytes)


def read_source(source: raw.SourceFile, budget: raw.ReadBudget) -> Found:
    """One file, within its budget; never raises for what it holds."""
    try:
        return _by_format(source, budget)
    except raw.NotReadable as error:
        why = str(error)
    except MemoryError:
        why = "it needs more memory than there is"
    except (PermissionError, FileNotFoundError):
        why = "it cannot be opened"
    except _BROKEN as error:
        why = f"it is broken, or not what it seems to be: {raw.example(str(error)) or type(error).__name__}"
    return [], [SkippedFile(path=source.shown, why=why)], []


def _by_format(source: raw.SourceFile, budget: raw.ReadBudget) -> Found:
    with source.path.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
    compression = ""
    if head.startswith(_GZIP):
        compression = "gzip"
        with gzip.open(source.path, "rb") as packed:
            head = packed.read(HEAD_BYTES)
    match recognise(source, head):
        case "text":
            return [read_text(source, budget, head=head, compression=compression)], [], []
        case "json":
            return read_json(source, budget, head=head, compression=compression), [], []
        case "jsonl":
            return [read_json_lines(source, budget, head=head, compression=compression)], [], []
        case kind if compression:
            raise raw.NotReadable(f"it is a packed {kind} file; unpack it first")
        case kind:
            return _by_library(source, budget, kind)


_LIBRARIES: Final = {
    "parquet": ("parquet", "read_parquet"),
    "feather": ("parquet", "read_feather"),
    "excel": ("excel", "read_workbook"),
    "sqlite": ("databases", "read_sqlite"),
    "duckdb": ("duckdb_file", "read_duckdb"),
}
"""Readers whose library is loaded only when a file needs it: each takes a good part of a second."""


def _by_library(source: raw.SourceFile, budget: raw.ReadBudget, kind: str) -> Found:
    module, name = _LIBRARIES[kind]
    read = getattr(importlib.import_module(f"cellwright_guest.profiling.readers.{module}"), name)
    found: raw.RawTable | Found = read(source, budget)
    return ([found], [], []) if isinstance(found, raw.RawTable) else found
