"""DuckDB files become tables, read only, with other files and all extensions switched off."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from time import monotonic
from typing import Any, Final

import duckdb

from cellwright_guest.profiling.raw import NotReadable, RawTable, ReadBudget, SourceFile, example
from cellwright_guest.profiling.readers import reader_columns
from cellwright_guest.profiling.readers.databases import Found, quoted, read_each, until
from cellwright_guest.profiling.records import ReadOptions

_BATCH_ROWS: Final = 2_048
_SETTINGS: Final[dict[str, str | bool | int | float | list[str]]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "memory_limit": "256MB",
    "max_temp_directory_size": "0KB",
    "threads": "1",
    "lock_configuration": "true",
}


def read_duckdb(source: SourceFile, budget: ReadBudget) -> Found:
    """The tables and views of a DuckDB file; raises `NotReadable` or `duckdb.Error`."""
    try:
        opened = duckdb.connect(str(source.path), read_only=True, config=_SETTINGS)
    except duckdb.Error as error:
        raise NotReadable(f"it cannot be opened as a DuckDB file: {example(str(error))}") from error
    with closing(opened) as connection:
        listed = connection.execute(
            "SELECT table_schema, table_name, table_type FROM information_schema.tables ORDER BY 3, 1, 2"
        ).fetchall()
        schemas = {schema for schema, _, _ in listed}
        addresses = {
            (f"{schema}.{name}" if len(schemas) > 1 else name): f"{quoted(schema)}.{quoted(name)}"
            for schema, name, _ in listed
        }
        views = {address for address, (_, _, kind) in zip(addresses, listed, strict=False) if kind == "VIEW"}

        def read(name: str, is_view: bool) -> RawTable:
            with closing(connection.cursor()) as cursor:
                return _table(source, cursor, (name, addresses[name]), budget, until(budget, is_view))

        return read_each(source, [(name, name in views) for name in addresses], read, duckdb.Error)


def _table(
    source: SourceFile,
    connection: duckdb.DuckDBPyConnection,
    named: tuple[str, str],
    budget: ReadBudget,
    deadline: float,
) -> RawTable:
    name, address = named
    reading = ReadOptions(path=source.shown, format="duckdb", part=name)
    with _interrupted_at(connection, deadline):
        counted = connection.execute(f"SELECT count(*) FROM {address}").fetchall()
        total = int(counted[0][0]) if counted else 0
        sample = reader_columns.RowSample(budget=budget, stride=reader_columns.starting_stride(total, budget.most_rows))
        reader: Any = connection.sql(f"SELECT * FROM {address}").to_arrow_reader(_BATCH_ROWS)
        return reader_columns.sampled_table(source, reading, reader.schema, reader, sample, total)


@contextmanager
def _interrupted_at(connection: duckdb.DuckDBPyConnection, deadline: float) -> Generator[None]:
    """DuckDB has no other way to end a query than from another thread."""
    timer = threading.Timer(max(0.05, deadline - monotonic()), connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
