"""Databricks by its own connector. The secret is an access token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
from databricks import sql
from databricks.sql.exc import Error

from cellwright.data.worker.source import SourceLogin
from cellwright.data.worker.warehouse import Warehouse, WarehouseDialect, warehouse_failure

_BATCH_ROWS: Final = 50_000
_COLUMNS: Final = """
    SELECT c.table_schema, c.table_name, c.column_name, c.full_data_type, c.is_nullable, c.comment,
           t.table_type = 'VIEW' AS is_view
    FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
    WHERE c.table_schema <> 'information_schema' ORDER BY c.table_schema, c.table_name, c.ordinal_position
"""
_FUNCTIONS: Final = "SELECT DISTINCT routine_name AS name FROM information_schema.routines"


class DatabricksDriver:
    """See `WarehouseDriver`."""

    problems: tuple[type[Exception], ...] = (Error, OSError)

    def __init__(self, login: SourceLogin) -> None:
        self._connection: Any = sql.connect(
            server_hostname=login.options["host"],
            http_path=login.options["http_path"],
            access_token=login.secret,
            catalog=login.options.get("catalog"),
            schema=login.options.get("schema"),
            session_configuration={"STATEMENT_TIMEOUT": str(max(1, round(login.seconds)))},
            user_agent_entry="cellwright",
            enable_telemetry=False,
        )
        self._cursor: Any = None

    def start(self, statement: str, seconds: float) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """See `WarehouseDriver`."""
        self._cursor = self._connection.cursor()
        self._cursor.execute(statement)
        first = self._cursor.fetchmany_arrow(_BATCH_ROWS)
        return first.schema, self._batches(first)

    def _batches(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        schema = table.schema
        while table.num_rows:
            yield from table.cast(schema).to_batches()
            table = self._cursor.fetchmany_arrow(_BATCH_ROWS)

    def cancel(self) -> None:
        """See `WarehouseDriver`."""
        if self._cursor is not None:
            self._cursor.cancel()

    def finish(self) -> None:
        """See `WarehouseDriver`."""
        cursor, self._cursor = self._cursor, None
        cursor.close()

    def close(self) -> None:
        """See `WarehouseDriver`."""
        self._connection.close()


def open_databricks(login: SourceLogin) -> Warehouse:
    """A session. Raises `SourceFailed`."""
    try:
        driver = DatabricksDriver(login)
    except DatabricksDriver.problems as problem:
        raise warehouse_failure(problem, opening=True) from None
    schema = login.options.get("schema", "default")
    return Warehouse(
        driver, WarehouseDialect(columns=_COLUMNS, functions=_FUNCTIONS, default_schema=schema), "Databricks"
    )
