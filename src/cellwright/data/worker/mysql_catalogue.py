"""What a MySQL or MariaDB server shows to this user, by a statement for each kind of thing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from cellwright.data.catalogue import (
    MAX_COLUMNS,
    MAX_COMMENT,
    MAX_NAME,
    MAX_TABLES,
    Catalogue,
    CatalogueColumn,
    CatalogueTable,
    ForeignKey,
    bounded,
)
from cellwright.data.table_references import tables_of_view

Rows = Callable[[str], list[dict[str, Any]]]
Name = tuple[str, str]
_OURS: Final = "table_schema NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')"
_TABLES: Final = f"""
    SELECT table_schema AS s, table_name AS n, table_type AS kind, CAST(table_rows AS SIGNED) AS counted,
           left(table_comment, {MAX_COMMENT}) AS comment
    FROM information_schema.tables WHERE {_OURS} ORDER BY table_schema, table_name LIMIT {MAX_TABLES + 1}
"""
_COLUMNS: Final = f"""
    SELECT table_schema AS s, table_name AS n, column_name AS name, left(column_type, {MAX_NAME}) AS type,
           is_nullable = 'YES' AS is_nullable, column_key = 'PRI' AS is_key,
           left(column_comment, {MAX_COMMENT}) AS comment
    FROM information_schema.columns WHERE {_OURS}
    ORDER BY table_schema, table_name, ordinal_position LIMIT {MAX_COLUMNS}
"""
_KEYS: Final = f"""
    SELECT table_schema AS s, table_name AS n, constraint_name AS called, column_name AS name,
           referenced_table_schema AS ts, referenced_table_name AS tn, referenced_column_name AS target
    FROM information_schema.key_column_usage WHERE {_OURS} AND referenced_table_name IS NOT NULL
    ORDER BY table_schema, table_name, constraint_name, ordinal_position LIMIT {MAX_COLUMNS}
"""
_VIEWS: Final = f"""
    SELECT table_schema AS s, table_name AS n, left(view_definition, 20000) AS definition
    FROM information_schema.views WHERE {_OURS} LIMIT {MAX_TABLES}
"""


def mysql_catalogue(rows: Rows, server: str, database: str) -> Catalogue:
    """Everything of it, in four statements."""
    columns = defaultdict[Name, list[CatalogueColumn]](list)
    tables = rows(_TABLES)
    for row in rows(_COLUMNS):
        columns[row["s"], row["n"]].append(
            CatalogueColumn(
                name=row["name"],
                type=row["type"],
                is_nullable=bool(row["is_nullable"]),
                is_key=bool(row["is_key"]),
                comment=row["comment"] or "",
            )
        )
    keys = _foreign_keys(rows(_KEYS))
    reads = {(row["s"], row["n"]): tables_of_view(row["definition"] or "", "mysql", row["s"]) for row in rows(_VIEWS)}
    kept, is_cut = bounded(
        CatalogueTable(
            schema=row["s"],
            name=row["n"],
            kind="view" if row["kind"].endswith("VIEW") else "table",
            columns=tuple(columns[row["s"], row["n"]]),
            foreign_keys=keys.get((row["s"], row["n"]), ()),
            rows=row["counted"],
            comment="" if row["comment"] == "VIEW" else row["comment"] or "",
            reads=reads.get((row["s"], row["n"]), ()),
        )
        for row in tables
    )
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Catalogue(tables=kept, default_schema=database, server=server, is_cut=is_cut, read_at=now)


def _foreign_keys(rows: list[dict[str, Any]]) -> dict[Name, tuple[ForeignKey, ...]]:
    parts = defaultdict[tuple[str, str, str], list[dict[str, Any]]](list)
    for row in rows:
        parts[row["s"], row["n"], row["called"]].append(row)
    keys = defaultdict[Name, list[ForeignKey]](list)
    for (schema, name, _called), members in parts.items():
        columns, target = tuple(row["name"] for row in members), tuple(row["target"] for row in members)
        table = f"{members[0]['ts']}.{members[0]['tn']}"
        keys[schema, name].append(ForeignKey(columns=columns, table=table, target=target))
    return {table: tuple(found) for table, found in keys.items()}
