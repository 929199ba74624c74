"""Tables and views of an SQLite file, in plain values. Nothing of a person's statement runs here."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from contextlib import suppress
from typing import Any, Final

_SCHEMA: Final = "main"
_MOST_TABLES: Final = 20_000
_MOST_NAME: Final = 256
_COLUMNS: Final = """
SELECT t.name, t.type, c.name, c.type, c."notnull", c.pk
FROM sqlite_master AS t, pragma_table_xinfo(t.name) AS c
WHERE t.type IN ('table', 'view') AND t.name NOT GLOB 'sqlite_*' AND c.hidden <> 1
ORDER BY t.name, c.cid
"""
_KEYS: Final = """
SELECT t.name, k.id, k."table", k."from", k."to"
FROM sqlite_master AS t, pragma_foreign_key_list(t.name) AS k
WHERE t.type = 'table' ORDER BY t.name, k.id, k.seq
"""
_NAMES: Final = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
_Column = tuple[str, str, str, str, int, int]


def read_sqlite_catalogue(connection: sqlite3.Connection) -> dict[str, Any]:
    """All of it. Raises `sqlite3.Error` for a file that cannot be read."""
    tables = dict[str, dict[str, Any]]()
    is_cut = False
    for name, kind, column, type_, is_required, key in _columns(connection):
        if (len(tables) >= _MOST_TABLES and name not in tables) or max(len(name), len(column)) > _MOST_NAME:
            is_cut = True
            continue
        table = tables.setdefault(name, {"schema": _SCHEMA, "name": name, "kind": kind, "columns": []})
        table["columns"].append(
            {"name": column, "type": type_[:_MOST_NAME], "is_nullable": not is_required, "is_key": key > 0}
        )
    for name, keys in _foreign_keys(connection, tables).items():
        tables[name]["foreign_keys"] = keys
    for name, table in tables.items():
        if table["kind"] == "view":
            table["reads"] = _read_by(connection, name, tables)
        else:
            table["rows"] = _rows(connection, name)
    return {
        "tables": list(tables.values()),
        "default_schema": _SCHEMA,
        "server": f"SQLite {sqlite3.sqlite_version}",
        "is_cut": is_cut,
    }


def _columns(connection: sqlite3.Connection) -> list[_Column]:
    try:
        return connection.execute(_COLUMNS).fetchall()
    except sqlite3.OperationalError as problem:
        if problem.sqlite_errorname != "SQLITE_ERROR":
            raise
    # A view of a table that is gone, or a virtual table of an extension: one by one, without those.
    columns = list[_Column]()
    for (name,) in connection.execute(_NAMES).fetchall():
        with suppress(sqlite3.OperationalError):
            columns += connection.execute(_COLUMNS.replace("WHERE", "WHERE t.name = ? AND"), (name,)).fetchall()
    return columns


def _foreign_keys(connection: sqlite3.Connection, tables: dict[str, dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    folded = {name.casefold(): name for name in tables}
    pairs = defaultdict[tuple[str, int], list[tuple[str, str, str]]](list)
    for name, number, target, source, aim in connection.execute(_KEYS):
        if name in tables and target.casefold() in folded:
            target = folded[target.casefold()]
            pairs[name, number].append((target, source, aim or _key_of(tables[target])))
    found = defaultdict[str, list[dict[str, Any]]](list)
    for (name, _), columns in pairs.items():
        found[name].append(
            {
                "columns": [source for _, source, _ in columns],
                "table": f"{_SCHEMA}.{columns[0][0]}",
                "target": [aim for _, _, aim in columns],
            }
        )
    return found


def _key_of(table: dict[str, Any]) -> str:
    """What a foreign key means that names no column."""
    return next((column["name"] for column in table["columns"] if column["is_key"]), "rowid")


def _rows(connection: sqlite3.Connection, name: str) -> int | None:
    """About: what the last row is numbered; one step down the tree, however many there are."""
    with suppress(sqlite3.OperationalError):
        found = connection.execute(f"SELECT max(rowid) FROM {_quoted(name)}").fetchone()[0]
        return found if isinstance(found, int) and found >= 0 else 0 if found is None else None
    return None


def _read_by(connection: sqlite3.Connection, view: str, tables: dict[str, dict[str, Any]]) -> list[str]:
    """The tables a view reads, also through others: SQLite asks about each before it runs anything."""
    read = set[str]()

    def note(action: int, table: str | None, *_: object) -> int:
        if action == sqlite3.SQLITE_READ and table in tables and table != view:
            read.add(f"{_SCHEMA}.{table}")
        return sqlite3.SQLITE_OK

    connection.set_authorizer(note)
    try:
        with suppress(sqlite3.OperationalError):
            connection.execute(f"EXPLAIN SELECT * FROM {_quoted(view)}").fetchone()
    finally:
        connection.set_authorizer(None)
    return sorted(read)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
