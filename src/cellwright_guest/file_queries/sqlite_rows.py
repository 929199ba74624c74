"""Rows of SQLite as Arrow. A column there has no type: each value has its own, so they are looked at."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterable, Sequence
from itertools import chain
from typing import Any, Final

import pyarrow as pa

from cellwright_guest.file_queries.arrow_frames import unique_names

_FIRST_ROWS: Final = 64
_MOST_ROWS: Final = 32_768
_BATCH_BYTES: Final = 8 << 20
_NOTHING: Final = type(None)
_Seen = frozenset[type]
_TYPES: Final[dict[_Seen, pa.DataType]] = {
    frozenset(): pa.null(),
    frozenset({int}): pa.int64(),
    frozenset({float}): pa.float64(),
    frozenset({int, float}): pa.float64(),
    frozenset({str}): pa.string(),
    frozenset({bytes}): pa.binary(),
}
"""Any others together become text."""
_FITTING: Final[dict[pa.DataType, _Seen]] = {
    pa.null(): frozenset(),
    pa.int64(): frozenset({int}),
    pa.float64(): frozenset({int, float}),
    pa.binary(): frozenset({bytes}),
}


class TypesDiffer(Exception):
    """A value is of another kind than its column was said to be."""


class SqliteRows:
    """What a query gives. It may be asked more than once: all of it is one transaction."""

    def __init__(self, execute: Callable[[], sqlite3.Cursor]) -> None:
        self._execute = execute
        self._seen: list[_Seen] | None = None
        self.mixed: list[str] = []
        """Columns whose values are of several kinds: they became text."""

    def batches(self) -> tuple[pa.Schema, Generator[pa.RecordBatch]]:
        """Their types, by the first rows unless all were looked at, and the rows. Raises `TypesDiffer` on the way."""
        cursor = self._execute()
        names = unique_names([str(described[0]) for described in cursor.description])
        pieces = _pieces(cursor)
        first = next(pieces, [])
        seen = self._seen or _seen_in(first, len(names))
        schema = pa.schema([(name, _TYPES.get(kinds, pa.string())) for name, kinds in zip(names, seen, strict=True)])
        self.mixed = [name for name, kinds in zip(names, seen, strict=True) if kinds not in _TYPES]
        return schema, _converted(schema, chain([first], pieces))

    def look_at_all(self, *, most_rows: int) -> None:
        """Find out of what kinds the values of all rows are."""
        cursor = self._execute()
        width, count = len(cursor.description), 0
        seen = [_Seen()] * width
        for rows in _pieces(cursor):
            seen = [before | now for before, now in zip(seen, _seen_in(rows, width), strict=True)]
            count += len(rows)
            if count >= most_rows:
                break
        self._seen = seen


def _converted(schema: pa.Schema, pieces: Iterable[list[tuple[Any, ...]]]) -> Generator[pa.RecordBatch]:
    for rows in pieces:
        columns = zip(*rows, strict=True) if rows else [()] * len(schema)
        arrays = [_array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _pieces(cursor: sqlite3.Cursor) -> Generator[list[tuple[Any, ...]]]:
    """Rows together, about as many as make a batch of a good size."""
    count = _FIRST_ROWS
    while rows := cursor.fetchmany(count):
        yield rows
        size = sum(len(value) if isinstance(value, (str, bytes)) else 8 for row in rows[:_FIRST_ROWS] for value in row)
        per_row = max(1, size // min(len(rows), _FIRST_ROWS))
        count = max(1, min(_MOST_ROWS, count * 16, _BATCH_BYTES // per_row))


def _seen_in(rows: Sequence[tuple[Any, ...]], width: int) -> list[_Seen]:
    columns = list(zip(*rows, strict=True)) or [()] * width
    return [frozenset(map(type, column)) - {_NOTHING} for column in columns]


def _array(column: Sequence[Any], type_: pa.DataType) -> pa.Array:
    kinds = frozenset(map(type, column)) - {_NOTHING}
    fitting = _FITTING.get(type_)
    if fitting is None:
        return pa.array(column if kinds <= {str} else [_text(value) for value in column], pa.string())
    if not kinds <= fitting:
        raise TypesDiffer
    if type_ == pa.float64() and int in kinds:
        column = [None if value is None else float(value) for value in column]
    return pa.array(column, type_)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.hex()
    return repr(value)
