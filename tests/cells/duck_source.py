"""Somebody who answers for connections in tests: a real DuckDB database, in the words of the protocol."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.ipc

SHOP = """
create table customers (id integer primary key, name varchar not null);
create table orders (
    id integer primary key, customer integer references customers (id), total decimal(10, 2), ordered date
);
comment on table orders is 'What was bought';
insert into customers values (1, 'Ana'), (2, 'Bo');
insert into orders values (1, 1, 9.50, '2025-01-02'), (2, 1, 0.50, '2025-02-03'), (3, 2, null, '2025-03-04');
create view spent as select customer, sum(total) as total from orders group by customer;
"""
COLUMNS = """
select table_name, column_name, data_type, is_nullable, comment from duckdb_columns() where not internal
order by table_name, column_index
"""
KEYS = (
    "select table_name, unnest(constraint_column_names) from duckdb_constraints() where constraint_type = 'PRIMARY KEY'"
)
TABLES = """
select table_name, 'table', estimated_size, comment from duckdb_tables() where not internal
union all select view_name, 'view', null, comment from duckdb_views() where not internal order by 1
"""


class Refused(Exception):
    """With the sentence that a notebook is told."""


class DuckSource:
    """A database with one connection's name, and what it was asked."""

    def __init__(self, script: str = SHOP, name: str = "shop") -> None:
        self._database = duckdb.connect()
        self._database.execute(script)
        self._name = name
        self.asked: list[dict[str, Any]] = []
        self.most_rows = 1_000_000

    @property
    def kinds(self) -> list[str]:
        return [request["kind"] for request in self.asked]

    @property
    def statements(self) -> list[str]:
        return [request["statement"] for request in self.asked if request["kind"] == "query"]

    def answer(self, request: dict[str, Any]) -> tuple[dict[str, Any], tuple[int, ...]]:
        """The reply and what goes with it. Raises `Refused`."""
        self.asked.append(request)
        match request:
            case {"connection": str(name)} if name != self._name:
                raise Refused(f"No connection is called {name!r}. There is {self._name}.")
            case {"kind": "query", "statement": str(statement), "parameters": list(parameters)}:
                return self._query(statement, parameters, request)
            case {"kind": "schema", "tables": tables}:
                return self._schema(tables), ()
            case _:
                raise Refused("That is no request.")

    def _query(
        self, statement: str, parameters: Sequence[Any], request: Mapping[str, Any]
    ) -> tuple[dict[str, Any], tuple[int, ...]]:
        limit = min(self.most_rows, request.get("rows", self.most_rows))
        try:
            cursor = self._database.cursor()
            found = cursor.sql(statement, params=list(parameters) or None)
            columns = [[name, str(kind)] for name, kind in zip(found.columns, found.types, strict=True)]
            table: pa.Table = found.to_arrow_table()
        except duckdb.Error as problem:
            raise Refused(f"The database said: {str(problem).splitlines()[0]}.") from problem
        cut = "rows" if table.num_rows > limit else ""
        kept = table.slice(0, limit)
        reply = {
            "kind": "result",
            "rows": kept.num_rows,
            "bytes": kept.nbytes,
            "cut": cut,
            "columns": columns,
            "notices": [f"Only the first {limit} rows are here."] if cut else [],
            "descriptors": 1,
        }
        return reply, (sealed(kept),)

    def _schema(self, wanted: Sequence[str] | None) -> dict[str, Any]:
        run = self._database.execute
        keys = set(run(KEYS).fetchall())
        columns: dict[str, list[dict[str, Any]]] = {}
        for table, name, kind, is_nullable, comment in run(COLUMNS).fetchall():
            columns.setdefault(table, []).append(
                {
                    "name": name,
                    "type": kind,
                    "is_nullable": is_nullable,
                    "is_key": (table, name) in keys,
                    "comment": comment or "",
                }
            )
        tables = [
            {
                "schema": "main",
                "name": name,
                "kind": kind,
                "columns": columns[name],
                "foreign_keys": [],
                "rows": rows,
                "comment": comment or "",
            }
            for name, kind, rows, comment in run(TABLES).fetchall()
            if wanted is None or f"main.{name}" in wanted
        ]
        return {
            "kind": "schema",
            "dialect": "duckdb",
            "server": f"DuckDB {duckdb.__version__}",
            "default_schema": "main",
            "tables": tables,
        }


def sealed(table: pa.Table) -> int:
    """The table as an Arrow file that nobody can change, open for reading."""
    made = os.memfd_create("result", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with pyarrow.ipc.new_file(f"/proc/self/fd/{made}", table.schema) as writer:
            writer.write_table(table)
        seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
        fcntl.fcntl(made, fcntl.F_ADD_SEALS, seals)
        return os.open(f"/proc/self/fd/{made}", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(made)
