"""Cursors of the database API (PEP 249) with ADBC's ways to Arrow: what pandas, polars and marimo ask for."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from cellwright_cells.arrow_results import read_table, rows_of
from cellwright_cells.data_requests import ask, close_all, plain_parameter
from cellwright_cells.replies import ConnectionFailed

if TYPE_CHECKING:
    import pyarrow as pa


class ConnectionCursor:
    """One statement after the other, each with its whole result. Making one asks nobody."""

    arraysize = 1
    """How many rows `fetchmany` gives by itself."""

    def __init__(self, name: str, **options: Any) -> None:
        self._name = name
        self._options = options
        self._table: pa.Table | None = None
        self._next = 0
        self.description: list[tuple[Any, ...]] | None = None
        """Name and type of each column, as the server calls it."""
        self.notices: tuple[str, ...] = ()
        """What was said of the result: that it was cut, for one."""

    def execute(self, statement: str, parameters: Sequence[Any] | None = None) -> Self:
        """Run one statement. Raises `ConnectionFailed`."""
        if not isinstance(statement, str):
            raise TypeError(f"A statement is a text, and this is a {type(statement).__name__}.")
        if isinstance(parameters, str | bytes) or hasattr(parameters, "keys"):
            raise ConnectionFailed("Parameters are a list of values, in the order of their places in the statement.")
        self.close()
        request = {
            "kind": "query",
            "connection": self._name,
            # Plain: a text of ibis or sqlglot may be a subclass.
            "statement": str(statement),
            "parameters": [plain_parameter(each) for each in parameters or ()],
            "fresh": False,
        } | self._options
        reply = ask(request)
        if len(reply.descriptors) != 1:
            close_all(reply.descriptors)
            raise ConnectionFailed(f"The connection {self._name!r} answered without a result.")
        self._table = read_table(reply.descriptors[0])
        types = dict(enumerate(reply.body.get("columns") or ()))
        self.description = [
            (field.name, types[place][1] if place in types else str(field.type), None, None, None, None, field.nullable)
            for place, field in enumerate(self._table.schema)
        ]
        self.notices = _notices(reply.body)
        for notice in self.notices:
            sys.stderr.write(f"{notice}\n")
        return self

    @property
    def rowcount(self) -> int:
        """How many rows there are; -1 before a statement."""
        return -1 if self._table is None else self._table.num_rows

    def fetch_arrow_table(self) -> pa.Table:
        """The whole result."""
        if self._table is None:
            raise ConnectionFailed("No statement was executed yet.")
        return self._table

    def fetch_arrow(self) -> pa.Table:
        """The same: a table is what Arrow's capsule interface takes."""
        return self.fetch_arrow_table()

    def fetch_record_batch(self, size: int | None = None) -> pa.RecordBatchReader:
        """The whole result in batches, of at most so many rows."""
        return self.fetch_arrow_table().to_reader(max_chunksize=size)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows that were not fetched yet."""
        return self.fetchmany(self.rowcount)

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next so many rows."""
        table, start = self.fetch_arrow_table(), self._next
        self._next = min(start + (self.arraysize if size is None else size), table.num_rows)
        return rows_of(table, start, self._next)

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, if there is one."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def close(self) -> None:
        """Forget the result."""
        self._table, self._next, self.description, self.notices = None, 0, None, ()

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _notices(body: dict[str, Any]) -> tuple[str, ...]:
    told = tuple(str(each) for each in body.get("notices") or ())
    if body.get("cut") and not told:
        told = (f"Only the first {body.get('rows', 0):,} rows are here: the result was cut at its limit.",)
    return told
