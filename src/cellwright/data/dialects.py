"""Which SQL a source speaks: a word of its own, for what need not load a parser."""

from __future__ import annotations

from typing import Literal

Dialect = Literal[
    "postgres", "redshift", "mysql", "duckdb", "sqlite", "clickhouse", "snowflake", "bigquery", "databricks", "trino"
]
