"""Trino by its own client, which gives rows: they become Arrow here. The secret is a password; there may be none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import requests
from trino import auth, dbapi, exceptions

from cellwright.data.worker.rows import row_batches
from cellwright.data.worker.source import SourceLogin
from cellwright.data.worker.warehouse import Warehouse, WarehouseDialect
from cellwright.data.worker.warehouse_plans import trino_estimate

_COLUMNS: Final = """
    SELECT c.table_schema, c.table_name, c.column_name, c.data_type, c.is_nullable, '' AS comment,
           t.table_type = 'VIEW' AS is_view
    FROM information_schema.columns c JOIN information_schema.tables t
      ON t.table_schema = c.table_schema AND t.table_name = c.table_name
    WHERE c.table_schema <> 'information_schema' ORDER BY c.table_schema, c.table_name, c.ordinal_position
"""


class TrinoDriver:
    """See `WarehouseDriver`."""

    problems: tuple[type[Exception], ...] = (exceptions.Error, exceptions.HttpError, requests.RequestException, OSError)

    def __init__(self, login: SourceLogin) -> None:
        options, tls = login.options, login.options.get("tls", "prefer")
        secure = tls in {"require", "verify"} or (tls == "prefer" and bool(login.secret))
        self._connection: Any = dbapi.connect(
            host=options["host"],
            port=int(options.get("port", "8080")),
            user=login.user,
            auth=auth.BasicAuthentication(login.user, login.secret) if login.secret else None,
            catalog=options["catalog"],
            schema=options.get("schema"),
            http_scheme="https" if secure else "http",
            verify=(options.get("tls_ca") or True) if tls != "require" else False,
            session_properties={"query_max_execution_time": f"{max(1, round(login.seconds))}s"},
            source="cellwright",
            max_attempts=1,
        )
        self._cursor: Any = None

    def start(self, statement: str, seconds: float) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """See `WarehouseDriver`."""
        self._cursor = cursor = self._connection.cursor()
        cursor.execute(statement)
        names = [column.name for column in cursor.description or ()]
        return row_batches(names, cursor.fetchmany)

    def cancel(self) -> None:
        """See `WarehouseDriver`."""
        if self._cursor is not None:
            self._cursor.cancel()

    def finish(self) -> None:
        """See `WarehouseDriver`."""
        self._cursor = None

    def close(self) -> None:
        """See `WarehouseDriver`."""
        self._connection.close()


def open_trino(login: SourceLogin) -> Warehouse:
    """A session. Raises `SourceFailed`."""
    schema, plan = login.options.get("schema", "default"), "EXPLAIN (TYPE IO, FORMAT JSON)"
    dialect = WarehouseDialect(columns=_COLUMNS, default_schema=schema, plan=plan, read_plan=trino_estimate)
    source = Warehouse(TrinoDriver(login), dialect, "Trino")
    # Nothing is sent before the first statement.
    with source.stream("SELECT 1", (), 30) as stream:
        list(stream.batches)
    return source
