"""Statements for the rows of one table, whatever it and its columns are called. Pure.

Names are always quoted: an unquoted `user` is no column, and says so nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import expressions as exp

from cellwright.data.catalogue import CatalogueTable
from cellwright.data.dialects import Dialect
from cellwright.notebook.source_text import quoted_names

_SAMPLED: Final[dict[Dialect, str]] = {
    "postgres": "tablesample system ({percent:.4f}) repeatable (1)",
    "duckdb": "tablesample system ({percent:.4f} percent) repeatable (1)",
}
"""Whole blocks by chance, the same each time: the server reads no more than it gives."""
_SPARE: Final = 0.9
"""Blocks are not equally full: a sample aims a little below what is wanted."""
_LEAST: Final = 10_000
"""Of fewer rows, blocks would be too few to stand for the table."""


def quote_mark(dialect: Dialect) -> str:
    """What stands around a name."""
    return exp.to_identifier("a", quoted=True).sql(dialect=dialect)[0]


def all_rows(table: CatalogueTable, columns: Sequence[str], dialect: Dialect) -> str:
    """Every row of a table, with these columns."""
    return f"select {quoted_names(columns, quote_mark(dialect))} from {_place(table, dialect)}"


def sampled_rows(table: CatalogueTable, columns: Sequence[str], rows: int, dialect: Dialect) -> str | None:
    """About so many rows from all over a table, for what reading them costs; None where the source cannot do that."""
    if dialect not in _SAMPLED or table.kind != "table" or rows < _LEAST or (table.rows or 0) <= rows:
        return None
    percent = 100 * _SPARE * rows / (table.rows or 1)
    return f"{all_rows(table, columns, dialect)} {_SAMPLED[dialect].format(percent=percent)}"


def counted_rows(table: CatalogueTable, dialect: Dialect) -> str:
    """How many rows a table has."""
    return f"select count(*) from {_place(table, dialect)}"


def _place(table: CatalogueTable, dialect: Dialect) -> str:
    return exp.table_(table.name, db=table.schema or None, quoted=True).sql(dialect=dialect)
