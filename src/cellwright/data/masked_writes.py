"""Writes where columns are masked: what only sets values is sent, what would read a masked one is not. Pure."""

from __future__ import annotations

from typing import Final

from sqlglot import expressions as exp

from cellwright.data.catalogue import CatalogueTable
from cellwright.data.dialects import Dialect
from cellwright.data.masked_columns import MaskedColumns
from cellwright.data.table_references import SystemTable, TableNames, UnknownTable, common_table

_SETTING: Final = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.TruncateTable)
_MADE: Final = frozenset({"TABLE", "VIEW", "SCHEMA", "DATABASE", "INDEX", "SEQUENCE", "TYPE"})
_ROWS_OF_A_CHANGE: Final = frozenset({"old", "new", "inserted", "deleted"})


def why_not_written(tree: exp.Expr, dialect: Dialect, names: TableNames, masked: MaskedColumns) -> str:
    """Why this write could tell what is in a masked column; empty: it cannot."""
    if isinstance(tree, exp.Create) and str(tree.kind).upper() not in _MADE:
        return f"CREATE {tree.kind} may read masked columns whenever it is used."
    target = _target(tree)
    for node in tree.find_all(exp.Table):
        if isinstance(node.this, exp.Func) or _is_new_name(node, names, dialect):
            continue
        found = names.find(node)
        if isinstance(found, CatalogueTable):
            why = _why_touched(found, node, target, tree, masked)
        elif isinstance(found, UnknownTable) and not (node is target and isinstance(tree, exp.Create)):
            why = found.why
        else:
            why = f"{node.name} is the server's own." if isinstance(found, SystemTable) and node is target else ""
        if why:
            return why
    return ""


def _why_touched(
    table: CatalogueTable, node: exp.Table, target: exp.Table | None, tree: exp.Expr, masked: MaskedColumns
) -> str:
    if why := masked.why_hidden(table):
        return why
    columns = {name.casefold() for name in masked.of(table)}
    if not columns:
        return ""
    if node is not target or not isinstance(tree, _SETTING):
        is_dropped = isinstance(node.parent, exp.Drop)
        return (
            "" if is_dropped else f"A write may not read {table.qualified} or change its form: it has masked columns."
        )
    if read := _read(tree, node, table, columns):
        return f"A write may not read {read} of {table.qualified}: it, or what is in it, is masked."
    return ""


def _read(tree: exp.Expr, target: exp.Table, table: CatalogueTable, masked: set[str]) -> str:
    """What of the table that is written to is read, if that may show something masked."""
    own = {target.name.casefold(), target.alias_or_name.casefold()}
    open_columns = {column.name.casefold() for column in table.columns} - masked
    for node in tree.find_all(exp.Star, exp.Column):
        is_returned = node.find_ancestor(exp.Returning) is not None
        if isinstance(node, exp.Star):
            is_count = isinstance(node.parent, exp.Count)
            if not is_count and (is_returned or node.find_ancestor(exp.Merge)):
                return "all columns"
            continue
        if not isinstance(node, exp.Column) or _is_set(node):
            continue
        name, qualifier = node.name.casefold(), node.table.casefold()
        if is_returned and name not in open_columns:
            return node.name
        if qualifier in own and name not in open_columns:
            return node.name
        if not qualifier and name in masked | own | _ROWS_OF_A_CHANGE:
            return node.name
    return ""


def _is_set(node: exp.Column) -> bool:
    """Whether this is what gets a value."""
    around = node.parent
    if isinstance(around, exp.Tuple | exp.Schema) and isinstance(around.parent, exp.Insert):
        return around.arg_key == "this"
    return (
        isinstance(around, exp.EQ)
        and around.this is node
        and isinstance(around.parent, exp.Update | exp.OnConflict)
        and around.arg_key == "expressions"
    )


def _target(tree: exp.Expr) -> exp.Table | None:
    if isinstance(tree, exp.TruncateTable):
        found = tree.expressions[0] if len(tree.expressions) == 1 else None
    else:
        found = tree.this
        found = found.this if isinstance(found, exp.Schema) else found
    return found if isinstance(found, exp.Table) else None


def _is_new_name(node: exp.Table, names: TableNames, dialect: Dialect) -> bool:
    """A name of a WITH that no table has, or one that a table is to get; where there is doubt, the table is meant."""
    if isinstance(node.parent, exp.AlterRename):
        return True
    return not names.has(node.name) and common_table(node, dialect) is not None
