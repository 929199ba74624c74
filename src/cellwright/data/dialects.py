"""Which SQL a source speaks: a word of its own, for what need not load a parser."""

from __future__ import annotations

from typing import Final, Literal

Dialect = Literal[
    "postgres", "redshift", "mysql", "duckdb", "sqlite", "clickhouse", "snowflake", "bigquery", "databricks", "trino"
]
MAX_CHARACTERS: Final = 100_000
"""Of a statement."""
