"""Tables and views of a DuckDB file, in plain values. Nothing of a person's statement runs here."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any, Final

import duckdb

_SCHEMA: Final = "main"
_MOST_TABLES: Final = 20_000
_MOST_NAME: Final = 256
_MOST_COMMENT: Final = 400
_TABLES: Final = """
SELECT schema_name, table_name, 'table', estimated_size, comment, '' FROM duckdb_tables()
WHERE NOT internal AND NOT temporary
UNION ALL
SELECT schema_name, view_name, 'view', NULL, comment, sql FROM duckdb_views() WHERE NOT internal AND NOT temporary
ORDER BY 1, 2
"""
_COLUMNS: Final = """
SELECT schema_name, table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns() WHERE NOT internal
ORDER BY schema_name, table_name, column_index
"""
_CONSTRAINTS: Final = """
SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names
FROM duckdb_constraints() WHERE constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY')
ORDER BY schema_name, table_name, constraint_index
"""
_SHADOWING: Final = """
SELECT DISTINCT own.function_name FROM duckdb_functions() own JOIN duckdb_functions() known
ON lower(own.function_name) = lower(known.function_name) AND known.internal WHERE NOT own.internal ORDER BY 1
"""
_NAME: Final = r'(?:"(?:[^"]|"")*"|[^\s."(]+)'
_CREATE_VIEW: Final = re.compile(rf"CREATE VIEW {_NAME}(?:\.{_NAME})*\s*(?:\([^)]*\)\s*)?AS ", re.IGNORECASE)
_ALIAS: Final = re.compile(rf"\s+AS\s+{_NAME}$", re.IGNORECASE)
_Table = dict[str, Any]


def read_duckdb_catalogue(connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """All of it. Raises `duckdb.Error` for a file that cannot be read."""
    tables = dict[tuple[str, str], _Table]()
    views = dict[tuple[str, str], str]()
    found = connection.execute(_TABLES).fetchall()
    for schema, name, kind, rows, comment, text in found[:_MOST_TABLES]:
        if max(len(schema), len(name)) > _MOST_NAME:
            continue
        tables[schema, name] = {
            "schema": schema, "name": name, "kind": kind, "rows": rows, "comment": (comment or "")[:_MOST_COMMENT],
            "columns": [],
        }  # fmt: skip
        if kind == "view":
            views[schema, name] = text
    for schema, name, column, type_, is_nullable, comment in connection.execute(_COLUMNS).fetchall():
        if (schema, name) in tables and len(column) <= _MOST_NAME:
            tables[schema, name]["columns"].append({
                "name": column, "type": type_[:_MOST_NAME], "is_nullable": is_nullable,
                "comment": (comment or "")[:_MOST_COMMENT],
            })  # fmt: skip
    _add_keys(connection, tables)
    _add_reads(connection, tables, views)
    return {
        "tables": list(tables.values()),
        "default_schema": _SCHEMA,
        "server": f"DuckDB {duckdb.__version__}",
        "is_cut": len(tables) < len(found),
        "shadowing": [name[:_MOST_NAME] for (name,) in connection.execute(_SHADOWING).fetchall()[:_MOST_TABLES]],
    }


def _add_keys(connection: duckdb.DuckDBPyConnection, tables: dict[tuple[str, str], _Table]) -> None:
    for schema, name, kind, columns, target, aims in connection.execute(_CONSTRAINTS).fetchall():
        table = tables.get((schema, name))
        if table is not None and kind == "PRIMARY KEY":
            for column in table["columns"]:
                column["is_key"] = column["name"] in columns
        elif table is not None:
            key = {"columns": columns, "table": f"{schema}.{target}", "target": aims}
            table.setdefault("foreign_keys", []).append(key)


def _add_reads(
    connection: duckdb.DuckDBPyConnection, tables: dict[tuple[str, str], _Table], views: dict[tuple[str, str], str]
) -> None:
    """What each view reads, also through others."""
    direct = {view: _named_in(connection, text, view[0], tables) for view, text in views.items()}
    for view in views:
        reached, waiting = set[tuple[str, str]](), [*direct[view]]
        while waiting:
            one = waiting.pop()
            if one not in reached:
                reached.add(one)
                waiting += direct.get(one, ())
        tables[view]["reads"] = sorted(f"{schema}.{name}" for schema, name in reached)


def _named_in(
    connection: duckdb.DuckDBPyConnection, text: str, home: str, tables: dict[tuple[str, str], _Table]
) -> list[tuple[str, str]]:
    begin = _CREATE_VIEW.match(text)
    names = set[str]()
    with suppress(duckdb.Error):
        names = connection.get_table_names(text[begin.end() :] if begin else text, qualified=True)
    folded = {(schema.casefold(), name.casefold()): (schema, name) for schema, name in tables}
    found = list[tuple[str, str]]()
    for name in names:
        # DuckDB follows views itself, and tells aliases along. Which schema a name without one is of it does not tell.
        parts = [part.strip('"').replace('""', '"') for part in re.findall(_NAME, _ALIAS.sub("", name))]
        schemas = [parts[-2]] if len(parts) > 1 else [home, _SCHEMA]
        known = [folded.get((schema.casefold(), parts[-1].casefold())) for schema in schemas]
        found += [one for one in known if one is not None]
    return found
