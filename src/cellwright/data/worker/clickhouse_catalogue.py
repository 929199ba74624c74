"""What a ClickHouse server shows to this user, by a statement for each kind of thing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import sqlglot
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

from cellwright.data.catalogue import (
    MAX_COLUMNS,
    MAX_COMMENT,
    MAX_NAME,
    MAX_TABLES,
    Catalogue,
    CatalogueColumn,
    CatalogueTable,
    bounded,
)

Rows = Callable[[str], list[dict[str, Any]]]
_OURS: Final = "database NOT IN ('system', 'information_schema', 'INFORMATION_SCHEMA')"
_TABLES: Final = f"""
    SELECT database, name, engine, total_rows, substringUTF8(comment, 1, {MAX_COMMENT}) AS comment,
           substringUTF8(as_select, 1, 20000) AS definition
    FROM system.tables WHERE {_OURS} AND NOT is_temporary ORDER BY database, name LIMIT {MAX_TABLES + 1}
"""
_COLUMNS: Final = f"""
    SELECT database, table, name, substringUTF8(type, 1, {MAX_NAME}) AS type, is_in_primary_key AS is_key,
           substringUTF8(comment, 1, {MAX_COMMENT}) AS comment
    FROM system.columns WHERE {_OURS} ORDER BY database, table, position LIMIT {MAX_COLUMNS}
"""


def clickhouse_catalogue(rows: Rows, server: str) -> Catalogue:
    """Everything of it, in three statements. There are no foreign keys."""
    columns = defaultdict[tuple[str, str], list[CatalogueColumn]](list)
    tables = rows(_TABLES)
    for row in rows(_COLUMNS):
        columns[row["database"], row["table"]].append(
            CatalogueColumn(
                name=row["name"][:MAX_NAME],
                type=row["type"],
                is_nullable="Nullable(" in row["type"],
                is_key=bool(row["is_key"]),
                comment=row["comment"],
            )
        )
    kept, is_cut = bounded(
        CatalogueTable(
            schema=row["database"],
            name=row["name"],
            kind="view" if row["engine"].endswith("View") else "table",
            columns=tuple(columns[row["database"], row["name"]]),
            rows=None if row["total_rows"] is None else int(row["total_rows"]),
            comment=row["comment"],
            reads=_read_by(row["definition"], row["database"]) if row["engine"].endswith("View") else (),
        )
        for row in tables
    )
    default = str(rows("SELECT currentDatabase() AS it")[0]["it"])
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Catalogue(tables=kept, default_schema=default, server=server, is_cut=is_cut, read_at=now)


def _read_by(definition: str, database: str) -> tuple[str, ...]:
    """The tables in a view's text; none where it cannot be read."""
    try:
        tree = sqlglot.parse_one(definition, dialect="clickhouse")
    except (SqlglotError, RecursionError):
        return ()
    common = {cte.alias_or_name for cte in tree.find_all(exp.CTE)}
    found = {(table.db or database, table.name) for table in tree.find_all(exp.Table) if table.name not in common}
    return tuple(sorted(f"{of}.{name}" for of, name in found if name))
