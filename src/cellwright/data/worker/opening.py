"""Which source a kind of connection has, and which package its driver is in. A driver loads when it is used."""

from __future__ import annotations

from typing import assert_never, cast

from cellwright.data.source_kinds import SOURCE_TRAITS, SourceKind
from cellwright.data.worker.source import Source, SourceFailed, SourceLogin


def open_source(kind: SourceKind, login: SourceLogin) -> Source:
    """A session. Raises `SourceFailed`. Blocking."""
    try:
        return cast("Source", _open(kind, login))
    except ImportError as problem:
        # What lacks something of ours is broken, not without its driver.
        if (problem.name or "").startswith("cellwright"):
            raise
        raise SourceFailed(
            "driver",
            f"The driver for {kind} is not installed here.",
            hint=f"pip install 'cellwright[{SOURCE_TRAITS[kind].extra}]'",
        ) from None


def _open(kind: SourceKind, login: SourceLogin) -> object:
    match kind:
        case "postgres" | "redshift":
            from cellwright.data.worker.postgres import PostgresSource

            return PostgresSource(login, kind)
        case "mysql":
            from cellwright.data.worker.mysql import MysqlSource

            return MysqlSource(login)
        case "clickhouse":
            from cellwright.data.worker.clickhouse import ClickhouseSource

            return ClickhouseSource(login)
        case "snowflake":
            from cellwright.data.worker.snowflake import open_snowflake

            return open_snowflake(login)
        case "bigquery":
            from cellwright.data.worker.bigquery import open_bigquery

            return open_bigquery(login)
        case "databricks":
            from cellwright.data.worker.databricks import open_databricks

            return open_databricks(login)
        case "trino":
            from cellwright.data.worker.trino import open_trino

            return open_trino(login)
        case "sqlite" | "duckdb":
            raise SourceFailed("other", "A file is read in a cage, never by a worker.")
        case "s3" | "api" | "http" | "webdav" | "sftp" | "smb" | "gcs" | "azure":
            raise SourceFailed("other", "It takes no SQL: its worker is another one.")
        case other:
            assert_never(other)
