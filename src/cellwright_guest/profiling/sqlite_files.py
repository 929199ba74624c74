"""SQLite files become tables. Only selecting is possible on the connection, for a bounded time."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from time import monotonic
from typing import Any, Final
from urllib.parse import quote

from cellwright_guest.profiling.csv_names import unique_names
from cellwright_guest.profiling.databases import Found, database_table, quoted, read_each, until
from cellwright_guest.profiling.raw import RawTable
from cellwright_guest.profiling.sampling import starting_stride
from cellwright_guest.profiling.sources import Allowance, NotReadable, Source, example
from cellwright_guest.profiling.typed_values import typed_columns

_LONGEST_VALUE: Final = 4 << 20
_MOST_CELLS: Final = 3_000_000
_ALLOWED: Final = frozenset({
    sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE,
})  # fmt: skip


def read_sqlite(source: Source, allowance: Allowance) -> Found:
    """The tables and views of an SQLite file; raises `NotReadable`."""
    try:
        return _read(source, allowance)
    except sqlite3.Error as error:
        raise NotReadable(f"it cannot be opened as an SQLite file: {example(str(error))}") from error


def _read(source: Source, allowance: Allowance) -> Found:
    address = f"file:{quote(str(source.path.absolute()))}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True, timeout=0.1)) as connection:
        _lock_down(connection)
        listed = connection.execute(
            "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*' "
            "ORDER BY type, name"
        ).fetchall()

        def read(name: str, is_view: bool) -> RawTable:
            return _table(source, connection, name, allowance, until(allowance, is_view))

        found = read_each(source, [(str(name), kind == "view") for name, kind in listed], read, sqlite3.Error)
    log = source.path.with_name(source.path.name + "-wal")
    if log.exists() and log.stat().st_size:
        found[2].append(f"{source.shown!r} has changes in a log beside it (-wal) that are not in what was read.")
    return found


def _lock_down(connection: sqlite3.Connection) -> None:
    """Nothing but selecting: no attaching, no writing, no functions that a schema calls behind one's back."""
    connection.text_factory = _decoded
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA cache_size = -16384")
    connection.execute("PRAGMA temp_store = FILE")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _table(
    source: Source, connection: sqlite3.Connection, name: str, allowance: Allowance, deadline: float
) -> RawTable:
    connection.set_progress_handler(lambda: 1 if monotonic() > deadline else 0, 50_000)
    try:
        total = connection.execute(f"SELECT count(*) FROM {quoted(name)}").fetchone()[0]
        cursor = connection.execute(f"SELECT * FROM {quoted(name)}")
        names = [str(described[0]) for described in cursor.description][: allowance.most_columns]
        most = max(1, min(allowance.most_rows, _MOST_CELLS // max(1, len(names))))
        stride, rows, is_over = starting_stride(total, most), list[tuple[Any, ...]](), False
        kept_bytes = 0
        for position, row in enumerate(cursor):
            if position % stride == 0:
                rows.append(row)
                kept_bytes += sum(len(value) for value in row if isinstance(value, (str, bytes)))
            if kept_bytes > allowance.most_bytes or (position % 10_000 == 0 and position and allowance.is_spent):
                is_over = True
                break
    finally:
        connection.set_progress_handler(None, 0)
    columns, odd = typed_columns(unique_names(names), rows)
    seen = len(rows) * stride
    return database_table(source, "sqlite", name, columns, (total, seen, stride, is_over), odd)
