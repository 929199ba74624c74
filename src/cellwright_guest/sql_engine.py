"""marimo's view of a connection: its panel of tables, its SQL cells, completion, and validation while somebody types.

All of it comes from one answer about all tables, which is kept until the panel is filled anew; nothing is asked per
table. Validation sends the statement behind `EXPLAIN`, as any other: the host judges it, and nothing here does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, Literal

from marimo._data.models import Database, DataTable, DataTableColumn, Schema
from marimo._sql import get_engines
from marimo._sql.engines.types import InferenceConfig, SQLConnection, default_inference_config
from marimo._sql.utils import convert_to_output, sql_type_to_data_type
from marimo._types.ids import VariableName

from cellwright_cells import Connection, ConnectionFailed

_MOST_COLUMNS: Final = 50_000
"""So many are told at once; those of further tables when somebody opens them."""


class ConnectionEngine(SQLConnection[Connection]):
    """What marimo asks of a connection."""

    def __init__(self, connection: Connection, engine_name: VariableName | None = None) -> None:
        super().__init__(connection, engine_name)
        self._answer: dict[str, Any] | None = None

    @staticmethod
    def is_compatible(var: Any) -> bool:
        """Asked of every variable after every cell."""
        return type(var) is Connection

    @property
    def source(self) -> str:
        """Who made it."""
        return "cellwright"

    @property
    def dialect(self) -> str:
        """What statements are written in; marimo wants a word, whatever happens."""
        try:
            return str(self._schema().get("dialect") or "sql")
        except ConnectionFailed:
            return "sql"

    # ── queries ──

    def execute(self, query: str) -> Any:
        """The result, as the notebook's settings want it."""
        table = self._connection.sql(query)

        def to_polars() -> Any:
            import polars

            return polars.from_arrow(table)

        return convert_to_output(
            sql_output_format=self.sql_output_format(),
            to_polars=to_polars,
            to_pandas=table.to_pandas,
            to_native=lambda: table,
        )

    # ── the catalogue ──

    @property
    def inference_config(self) -> InferenceConfig:
        """Everything is there anyway."""
        every = {"auto_discover_schemas": True, "auto_discover_tables": True, "auto_discover_columns": True}
        return replace(default_inference_config(), **every)

    def _is_cheap_discovery(self) -> bool:
        return True

    def get_default_database(self) -> str | None:
        """There is one, called as the connection is; statements do not name it."""
        return self._connection.name

    def get_default_schema(self) -> str | None:
        """Where a name without a schema is looked up. The first that is asked when the panel is filled."""
        return str(self._fresh_schema().get("default_schema") or "")

    def get_databases(
        self,
        *,
        include_schemas: bool | Literal["auto"],
        include_tables: bool | Literal["auto"],
        include_table_details: bool | Literal["auto"],
    ) -> list[Database]:
        """The one there is. The panel is filled with it: what it shows is as of now."""
        self._fresh_schema()
        schemas = self._schemas(bool(include_tables), bool(include_table_details)) if include_schemas else []
        return [
            Database(
                name=self._connection.name,
                dialect=self.dialect,
                schemas=schemas,
                schemas_resolved=bool(include_schemas),
                engine=self._engine_name,
            )
        ]

    def get_schemas(
        self,
        *,
        database: str | None,
        include_tables: bool,
        include_table_details: bool,
        schema_path: list[str] | None = None,
    ) -> list[Schema]:
        """All of them; none lies in another."""
        return [] if schema_path else self._schemas(include_tables, include_table_details)

    def get_tables_in_schema(
        self, *, schema: str, database: str, include_table_details: bool, schema_path: list[str] | None = None
    ) -> list[DataTable]:
        """All tables of one schema."""
        return [self._table(each, include_table_details) for each in self._tables() if each["schema"] == schema]

    def get_table_details(
        self, *, table_name: str, schema_name: str, database_name: str, schema_path: list[str] | None = None
    ) -> DataTable | None:
        """One table with its columns."""
        named = (each for each in self._tables() if (each["schema"], each["name"]) == (schema_name, table_name))
        return next((self._table(each, True) for each in named), None)

    def _schema(self) -> dict[str, Any]:
        return self._connection.schema() if self._answer is None else self._answer

    def _fresh_schema(self) -> dict[str, Any]:
        """marimo makes an engine for each thing it does: one asks once."""
        if self._answer is None:
            self._answer = self._connection.schema(fresh=True)
        return self._answer

    def _tables(self) -> list[dict[str, Any]]:
        return self._schema().get("tables") or []

    def _schemas(self, with_tables: bool, with_columns: bool) -> list[Schema]:
        found: dict[str, list[DataTable]] = {}
        left = _MOST_COLUMNS if with_columns else 0
        for table in self._tables():
            inside = found.setdefault(str(table["schema"]), [])
            if with_tables:
                left -= len(table["columns"])
                inside.append(self._table(table, with_columns and left >= 0))
        return [Schema(name=name, tables=tables, tables_resolved=with_tables) for name, tables in found.items()]

    def _table(self, table: dict[str, Any], with_columns: bool) -> DataTable:
        columns = table["columns"]
        return DataTable(
            source_type="connection",
            source=self.dialect,
            name=table["name"],
            num_rows=table.get("rows"),
            num_columns=len(columns),
            variable_name=None,
            engine=self._engine_name,
            type="view" if table.get("kind") == "view" else "table",
            columns=[_column(each) for each in columns] if with_columns else [],
            primary_keys=[each["name"] for each in columns if each.get("is_key")],
            indexes=[],
        )


def _column(column: dict[str, Any]) -> DataTableColumn:
    kind = str(column["type"])
    return DataTableColumn(name=column["name"], type=sql_type_to_data_type(kind), external_type=kind, sample_values=[])


def offer_engine() -> None:
    """Let marimo know connections, before what it takes for one by its looks."""
    if ConnectionEngine not in get_engines.SUPPORTED_ENGINES:
        get_engines.SUPPORTED_ENGINES.insert(0, ConnectionEngine)
