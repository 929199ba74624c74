"""Which columns a statement reads, as far as text and catalogue say: for the audit, not for a decision. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlglot
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope

from cellwright.data.catalogue import Catalogue, CatalogueTable
from cellwright.data.dialects import Dialect
from cellwright.data.statements import SqlStatement, split_plan
from cellwright.data.table_references import TableNames, common_table, full_name


def columns_read(statement: SqlStatement, dialect: Dialect, catalogue: Catalogue) -> tuple[str, ...]:
    """`schema.table.column` of each, sorted; only the table where its columns cannot be told."""
    try:
        tree = sqlglot.parse_one(split_plan(statement.text)[1], dialect=dialect)
    except (SqlglotError, RecursionError):
        return statement.tables
    names = TableNames(catalogue, dialect)
    unknown = {name for name in statement.tables if not names.has(name.rpartition(".")[2])}
    tables = _named_in_full(tree, dialect, names)
    if not tables:
        return statement.tables
    try:
        qualified = qualify(
            tree,
            dialect=dialect,
            schema=_schema(tables),
            validate_qualify_columns=False,
            quote_identifiers=False,
        )
        read = set(_read(qualified, tables))
        told = {name.rpartition(".")[0] for name in read} | read
        silent = {table.qualified for table in tables.values()} - told
        return tuple(sorted(read | silent | unknown))
    except (SqlglotError, RecursionError, ValueError, AttributeError, KeyError):
        # Optimizers give up on what they do not know; then tables are all that can be said.
        return tuple(sorted({table.qualified for table in tables.values()} | unknown))


def _named_in_full(tree: exp.Expr, dialect: Dialect, names: TableNames) -> dict[tuple[str, ...], CatalogueTable]:
    """The tables it names, by the names they have in it from now on."""
    found: dict[tuple[str, ...], CatalogueTable] = {}
    for node in list(tree.find_all(exp.Table)):
        if isinstance(node.this, exp.Func) or common_table(node, dialect) is not None:
            continue
        table = names.find(node)
        if isinstance(table, CatalogueTable):
            if not node.alias:
                node.set("alias", exp.TableAlias(this=node.this.copy()))
            for key, part in full_name(table, dialect).items():
                node.set(key, part)
            found[tuple(part.name for part in node.parts)] = table
    return found


def _schema(tables: dict[tuple[str, ...], CatalogueTable]) -> dict[str, Any]:
    depth = max(len(parts) for parts in tables)
    schema: dict[str, Any] = {}
    for parts, table in tables.items():
        if len(parts) == depth:
            level: dict[str, Any] = schema
            for part in parts[:-1]:
                level = level.setdefault(part, {})
            level[parts[-1]] = {column.name: column.type for column in table.columns}
    return schema


def _read(tree: exp.Expr, tables: dict[tuple[str, ...], CatalogueTable]) -> Iterator[str]:
    for scope in traverse_scope(tree):
        for name, source in scope.sources.items():
            if isinstance(source, exp.Table) and (table := tables.get(tuple(part.name for part in source.parts))):
                yield from _of(scope, name, table)


def _of(scope: Scope, name: str, table: CatalogueTable) -> Iterator[str]:
    known = {column.name.casefold(): column.name for column in table.columns}
    rows = [*scope.find_all(exp.TableColumn), *(column for column in scope.columns if not column.table)]
    if any(row.name.casefold() == name.casefold() for row in rows):
        yield from (f"{table.qualified}.{each}" for each in known.values())
    for column in scope.columns:
        if column.table == name and (own := known.get(column.name.casefold())) is not None:
            yield f"{table.qualified}.{own}"
