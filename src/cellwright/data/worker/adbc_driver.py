"""A warehouse's session over ADBC: Snowflake's and BigQuery's drivers have the same shape."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping

import adbc_driver_manager as adbc
import pyarrow as pa


class AdbcDriver:
    """See `WarehouseDriver`."""

    problems: tuple[type[Exception], ...] = (adbc.Error, pa.ArrowException, OSError)

    def __init__(self, database: adbc.AdbcDatabase, options: Mapping[str, str], timeout_option: str = "") -> None:
        self._database, self._options, self._timeout_option = database, dict(options), timeout_option
        self._connection = adbc.AdbcConnection(database)
        self._lock = threading.Lock()
        self._running: adbc.AdbcStatement | None = None

    def start(self, statement: str, seconds: float) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """See `WarehouseDriver`."""
        running = adbc.AdbcStatement(self._connection)
        with self._lock:
            self._running = running
        options = self._options | ({self._timeout_option: f"{seconds:.0f}s"} if self._timeout_option else {})
        if options:
            running.set_options(**options)
        running.set_sql_query(statement)
        handle, _count = running.execute_query()
        reader = pa.RecordBatchReader.from_stream(handle)
        return reader.schema, iter(reader)

    def cancel(self) -> None:
        """See `WarehouseDriver`."""
        with self._lock:
            running = self._running
        if running is not None:
            running.cancel()

    def finish(self) -> None:
        """See `WarehouseDriver`."""
        with self._lock:
            running, self._running = self._running, None
        if running is not None:
            running.close()

    def close(self) -> None:
        """See `WarehouseDriver`."""
        self._connection.close()
        self._database.close()
