"""What a ClickHouse server shows to this user, by a statement for each kind of thing."""

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
    bounded,
)
from cellwright.data.table_references import tables_of_view

Rows = Callable[[str], list[dict[str, Any]]]
_WINDOWS: Final = frozenset({"Distributed", "Merge", "Buffer", "Dictionary", "Alias", "Loop"})
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


def _shows_others(engine: str, name: str) -> bool:
    """Whether its rows are another table's: a view, what stands for tables elsewhere, what a view keeps its rows in."""
    return engine.endswith("View") or engine in _WINDOWS or name.startswith(".inner")


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
            kind="view" if _shows_others(row["engine"], row["name"]) else "table",
            columns=tuple(columns[row["database"], row["name"]]),
            rows=None if row["total_rows"] is None else int(row["total_rows"]),
            comment=row["comment"],
            reads=tables_of_view(row["definition"], "clickhouse", row["database"])
            if row["engine"].endswith("View")
            else (),
        )
        for row in tables
    )
    default = str(rows("SELECT currentDatabase() AS it")[0]["it"])
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Catalogue(tables=kept, default_schema=default, server=server, is_cut=is_cut, read_at=now)
