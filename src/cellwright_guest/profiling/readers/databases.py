"""Databases in a file: one table of each table and view, a view with little time. SQLite is read here.

Only selecting is possible on its connection, for a bounded time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from time import monotonic
from typing import Any, Final
from urllib.parse import quote

import pyarrow as pa

from cellwright_guest.profiling.raw import NotReadable, RawTable, ReadBudget, SourceFile, example
from cellwright_guest.profiling.readers import reader_columns
from cellwright_guest.profiling.records import ReadOptions, SkippedFile

Found = tuple[list[RawTable], list[SkippedFile], list[str]]
_MOST_TABLES: Final = 40
_VIEW_SECONDS: Final = 5.0


def read_each(
    source: SourceFile,
    parts: Sequence[tuple[str, bool]],
    read: Callable[[str, bool], RawTable],
    broken: type[Exception],
) -> Found:
    """All of `parts` (a name, and whether it is a view); one that cannot be read is told."""
    tables, skipped, notes = list[RawTable](), list[SkippedFile](), list[str]()
    if not parts:
        raise NotReadable("it is a database without tables")
    for name, is_view in parts[:_MOST_TABLES]:
        try:
            table = read(name, is_view)
        except (broken, NotReadable, pa.ArrowException, ValueError) as error:
            why = str(error) if isinstance(error, NotReadable) else _why(error, is_view)
            skipped.append(SkippedFile(path=f"{source.shown} ({example(name)})", why=why))
            continue
        tables.append(table)
    if len(parts) > _MOST_TABLES:
        notes.append(f"Only the first {_MOST_TABLES} of {len(parts):,} tables of {source.shown!r} were read.")
    return tables, skipped, notes


def _why(error: Exception, is_view: bool) -> str:
    what = "the view" if is_view else "the table"
    if "interrupt" in str(error).lower():
        return f"{what} takes too long"
    return f"{what} cannot be read: {example(str(error))}"


def until(budget: ReadBudget, is_view: bool) -> float:
    """A view can be any program: it gets little time."""
    return min(budget.until, monotonic() + _VIEW_SECONDS) if is_view else budget.until + _VIEW_SECONDS


def quoted(name: str) -> str:
    """A name as SQL wants it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


_LONGEST_VALUE: Final = 4 << 20
_MOST_CELLS: Final = 3_000_000
_ALLOWED: Final = frozenset({
    sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE,
})  # fmt: skip


def read_sqlite(source: SourceFile, budget: ReadBudget) -> Found:
    """The tables and views of an SQLite file; raises `NotReadable`."""
    try:
        return _read(source, budget)
    except sqlite3.Error as error:
        raise NotReadable(f"it cannot be opened as an SQLite file: {example(str(error))}") from error


def _read(source: SourceFile, budget: ReadBudget) -> Found:
    address = f"file:{quote(str(source.path.absolute()))}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True, timeout=0.1)) as connection:
        _lock_down(connection)
        listed = connection.execute(
            "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*' "
            "ORDER BY type, name"
        ).fetchall()

        def read(name: str, is_view: bool) -> RawTable:
            return _table(source, connection, name, budget, until(budget, is_view))

        found = read_each(source, [(str(name), kind == "view") for name, kind in listed], read, sqlite3.Error)
    log = source.path.with_name(source.path.name + "-wal")
    if log.exists() and log.stat().st_size:
        found[2].append(f"{source.shown!r} has changes in a log beside it (-wal) that are not in what was read.")
    return found


def _lock_down(connection: sqlite3.Connection) -> None:
    """Nothing but selecting: no attaching, no writing, no functions that a schema calls behind one's back."""
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA cache_size = -16384")
    connection.execute("PRAGMA temp_store = FILE")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY)


def _table(
    source: SourceFile, connection: sqlite3.Connection, name: str, budget: ReadBudget, deadline: float
) -> RawTable:
    connection.set_progress_handler(lambda: 1 if monotonic() > deadline else 0, 50_000)
    try:
        total = connection.execute(f"SELECT count(*) FROM {quoted(name)}").fetchone()[0]
        cursor = connection.execute(f"SELECT * FROM {quoted(name)}")
        names = [str(described[0]) for described in cursor.description][: budget.most_columns]
        most = max(1, min(budget.most_rows, _MOST_CELLS // max(1, len(names))))
        stride, rows, is_over = reader_columns.starting_stride(total, most), list[tuple[Any, ...]](), False
        kept_bytes = 0
        for position, row in enumerate(cursor):
            if position % stride == 0:
                rows.append(row)
                kept_bytes += sum(len(value) for value in row if isinstance(value, (str, bytes)))
            if kept_bytes > budget.most_bytes or (position % 10_000 == 0 and position and budget.is_spent):
                is_over = True
                break
    finally:
        connection.set_progress_handler(None, 0)
    columns, odd = reader_columns.typed_columns(reader_columns.unique_names(names), rows)
    seen = len(rows) * stride
    reading = ReadOptions(path=source.shown, format="sqlite", part=name)
    return reader_columns.raw_table(
        source, reading, columns, odd, rows=total, seen=seen, stride=stride, is_whole=not is_over, is_counted=True
    )
