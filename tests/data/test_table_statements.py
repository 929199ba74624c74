"""Statements for the rows of a table, whatever it is called; a sample only where the source takes one cheaply."""

from __future__ import annotations

import pytest

from cellwright.data.catalogue import CatalogueTable
from cellwright.data.dialects import Dialect
from cellwright.data.statements import SqlStatement, read_statement
from cellwright.data.table_statements import all_rows, counted_rows, sampled_rows

ORDERS = CatalogueTable(schema="public", name="orders", rows=1_000_000)
ODD = CatalogueTable(schema="my shop", name='from"where', rows=10)


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "duckdb", "sqlite", "clickhouse", "bigquery", "snowflake"])
def test_names_that_mean_something_else_are_read_as_names(dialect: Dialect) -> None:
    names = ["user", "order", "a b", "Grüße"]
    for table in (ORDERS, ODD) if dialect != "bigquery" else (ORDERS,):
        for statement in (all_rows(table, names, dialect), counted_rows(table, dialect)):
            read = read_statement(statement, dialect)
            assert isinstance(read, SqlStatement), (statement, read)
            assert (read.access, read.tables) == ("read", (table.qualified,))


def test_a_large_table_is_sampled_by_blocks_and_always_the_same_ones() -> None:
    assert sampled_rows(ORDERS, ["id"], 200_000, "postgres") == (
        'select "id" from "public"."orders" tablesample system (18.0000) repeatable (1)'
    )
    assert isinstance(read_statement(sampled_rows(ORDERS, ["id"], 200_000, "duckdb") or "", "duckdb"), SqlStatement)


@pytest.mark.parametrize(
    ("table", "rows", "dialect"),
    [
        (ORDERS, 1_000_000, "postgres"),
        (ORDERS, 9_999, "postgres"),
        (ORDERS, 200_000, "mysql"),
        (CatalogueTable(schema="public", name="seen", kind="view", rows=1_000_000), 200_000, "postgres"),
        (CatalogueTable(schema="public", name="unknown"), 200_000, "postgres"),
    ],
)
def test_what_is_small_or_cannot_be_sampled_is_not(table: CatalogueTable, rows: int, dialect: Dialect) -> None:
    assert sampled_rows(table, ["id"], rows, dialect) is None
