"""Connections that a notebook names: an object with a name, and nothing else.

Whoever answers has the credentials. No socket, thread or file stays open between two queries, so a kernel with
connections forks, and a connection in a pickle is its name.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from cellwright_cells import adbc_views
from cellwright_cells.cursors import ConnectionCursor
from cellwright_cells.data_requests import ask
from cellwright_cells.replies import read_object

if TYPE_CHECKING:
    import pyarrow as pa

_schemas: dict[str, dict[str, Any]] = {}
"""What each connection last said of its tables."""


def connection(name: str) -> Connection:
    """The connection of this name. Nobody is asked whether there is one before the first query."""
    if not isinstance(name, str) or not name:
        raise TypeError("A connection has a name: the one under which a person added it.")
    return Connection(name)


class Connection:
    """A database, by the name a person gave it. Shaped as a connection of ADBC's, which libraries know."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def sql(
        self,
        statement: str,
        *parameters: Any,
        fresh: bool = False,
        rows: int | None = None,
        megabytes: int | None = None,
        seconds: float | None = None,
    ) -> pa.Table:
        """What a query gives, as an Arrow table. Raises `ConnectionFailed`.

        `parameters` stand for the places in the statement, in their order. A result that was given before may be
        given again, unless it must be `fresh`; the others only ever lower the limits that hold anyway.
        """
        limits = {"rows": rows, "megabytes": megabytes, "seconds": seconds}
        options = {key: value for key, value in limits.items() if value is not None} | {"fresh": fresh}
        with ConnectionCursor(self.name, **options) as cursor:
            return cursor.execute(statement, parameters).fetch_arrow_table()

    def schema(self, *tables: str, fresh: bool = False) -> dict[str, Any]:
        """Dialect, server and tables with their columns and keys; all tables, or these. Raises `ConnectionFailed`.

        All tables are asked for once and kept, until they must be `fresh`.
        """
        if not tables and not fresh and self.name in _schemas:
            return _schemas[self.name]
        reply = ask({"kind": "schema", "connection": self.name, "tables": list(tables) or None, "fresh": fresh})
        body = reply.body
        for descriptor in reply.descriptors:
            # More than a message may say: the same object, in a file.
            with os.fdopen(descriptor, "rb") as file:
                body = read_object(file.read())
        if not tables:
            _schemas[self.name] = body
        return body

    # ── as libraries know it ──

    def cursor(self) -> ConnectionCursor:
        """For one statement after the other. Asks nobody: marimo makes one for every variable after every cell."""
        _tell_polars()
        return ConnectionCursor(self.name)

    def commit(self) -> None:
        """Nothing is ever open."""

    def rollback(self) -> None:
        """Nothing is ever open."""

    def close(self) -> None:
        """Nothing is ever open."""

    def adbc_get_info(self) -> dict[str | int, Any]:
        """Which SQL it speaks, as marimo reads it. Raises `ConnectionFailed`."""
        schema = self.schema()
        server = str(schema.get("server", ""))
        return {"vendor_name": schema.get("dialect", ""), "vendor_version": server, "driver_name": "cellwright"}

    def adbc_get_objects(
        self,
        *,
        depth: adbc_views.Depth = "all",
        catalog_filter: str | None = None,
        db_schema_filter: str | None = None,
        table_name_filter: str | None = None,
        table_types_filter: Sequence[str] | None = None,
        column_name_filter: str | None = None,
    ) -> pa.RecordBatchReader:
        """Schemas, tables, columns and keys, as ADBC tells them. Raises `ConnectionFailed`."""
        # pandas asks first whether a whole statement is the name of a table.
        schema = {} if table_name_filter and any(map(str.isspace, table_name_filter)) else self.schema()
        wanted = adbc_views.ObjectFilter(
            catalog=catalog_filter,
            schema=db_schema_filter,
            table=table_name_filter,
            types=table_types_filter,
            column=column_name_filter,
        )
        return adbc_views.objects_of(schema, depth, wanted)

    def adbc_get_table_schema(
        self, table_name: str, *, catalog_filter: str | None = None, db_schema_filter: str | None = None
    ) -> pa.Schema:
        """A table's columns, with types as near as their names tell. Raises `ConnectionFailed`."""
        return adbc_views.table_schema_of(self.schema(), table_name, db_schema_filter)

    @property
    def __class__(self) -> type[Any]:
        """pandas reads Arrow instead of rows from what says that it is a connection of ADBC's driver manager."""
        manager: Any = sys.modules.get("adbc_driver_manager.dbapi")
        return type(self) if manager is None else manager.Connection

    # ── as a value ──

    def __reduce__(self) -> tuple[Any, ...]:
        return connection, (self.name,)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.name == self.name

    def __hash__(self) -> int:
        return hash((Connection, self.name))

    def __repr__(self) -> str:
        return f"connection({json.dumps(self.name)})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _tell_polars() -> None:
    """polars reads Arrow from the drivers it has listed; it makes a cursor before it looks there."""
    registry: Any = getattr(sys.modules.get("polars.io.database._arrow_registry"), "ARROW_DRIVER_REGISTRY", None)
    if isinstance(registry, dict):
        registry.setdefault(
            "cellwright_cells",
            [
                {
                    "fetch_all": "fetch_arrow_table",
                    "fetch_batches": "fetch_record_batch",
                    "exact_batch_size": True,
                    "repeat_batch_calls": False,
                    "minimum_version": None,
                }
            ],
        )
