"""A connection's schema as ADBC tells it, for libraries that ask that way. Pure."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from cellwright_cells.replies import ConnectionFailed

if TYPE_CHECKING:
    import pyarrow as pa

Depth = Literal["all", "catalogs", "db_schemas", "tables", "columns"]
_TYPES: Final = (
    (r"^(big|small|tiny|medium|u?)?int(eger)?\d*\b|^(big|small)?serial|^long$", "int64"),
    (r"^(real|float|double)", "float64"),
    (r"^(numeric|decimal|number|money)", "float64"),
    (r"^bool", "bool"),
    (r"^(timestamp|datetime)", "timestamp[us]"),
    (r"^date", "date32"),
    (r"^time", "time64[us]"),
    (r"^(bytea|blob|binary|varbinary|bytes)", "binary"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectFilter:
    """Patterns of SQL's `like`; None: all."""

    catalog: str | None = None
    schema: str | None = None
    table: str | None = None
    types: Sequence[str] | None = None
    column: str | None = None


def objects_of(schema: dict[str, Any], depth: Depth, wanted: ObjectFilter) -> pa.RecordBatchReader:
    """One catalog without a name, and in it what is wanted, as deep as it is asked for."""
    import pyarrow as pa

    schemas = None if depth == "catalogs" else list(_schemas(schema, depth, wanted))
    catalogs = [{"catalog_name": "", "catalog_db_schemas": schemas}] if _fits("", wanted.catalog) else []
    return pa.Table.from_pylist(catalogs, schema=_objects_schema()).to_reader()


def table_schema_of(schema: dict[str, Any], name: str, within: str | None) -> pa.Schema:
    """The columns of one table. Raises `ConnectionFailed` if there is none of that name."""
    import pyarrow as pa

    homes = (within,) if within else (schema.get("default_schema", ""), None)
    for home in homes:
        for table in schema.get("tables", ()):
            if table["name"] == name and home in (None, table["schema"]):
                fields = [(column["name"], _arrow_type(column["type"])) for column in table["columns"]]
                return pa.schema([pa.field(each, pa.type_for_alias(kind)) for each, kind in fields])
    raise ConnectionFailed(f"There is no table {name!r}.")


def _schemas(schema: dict[str, Any], depth: Depth, wanted: ObjectFilter) -> Iterator[dict[str, Any]]:
    tables = schema.get("tables", ())
    for home in dict.fromkeys(str(table["schema"]) for table in tables):
        if _fits(home, wanted.schema):
            inside = [table for table in tables if table["schema"] == home]
            is_deep = depth != "db_schemas"
            yield {
                "db_schema_name": home,
                "db_schema_tables": list(_tables(inside, depth, wanted)) if is_deep else None,
            }


def _tables(tables: Iterable[dict[str, Any]], depth: Depth, wanted: ObjectFilter) -> Iterator[dict[str, Any]]:
    for table in tables:
        kind = str(table["kind"]).upper()
        if not _fits(table["name"], wanted.table) or (wanted.types is not None and kind not in wanted.types):
            continue
        is_deep = depth != "tables"
        yield {
            "table_name": table["name"],
            "table_type": kind,
            "table_columns": list(_columns(table, wanted)) if is_deep else None,
            "table_constraints": list(_keys(table)) if is_deep else None,
        }


def _columns(table: dict[str, Any], wanted: ObjectFilter) -> Iterator[dict[str, Any]]:
    for place, column in enumerate(table["columns"], 1):
        if _fits(column["name"], wanted.column):
            yield {
                "column_name": column["name"],
                "ordinal_position": place,
                "remarks": column.get("comment") or None,
                "xdbc_type_name": column["type"],
                "xdbc_is_nullable": "YES" if column.get("is_nullable", True) else "NO",
            }


def _keys(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if key := [column["name"] for column in table["columns"] if column.get("is_key")]:
        yield {"constraint_name": None, "constraint_type": "PRIMARY KEY", "constraint_column_names": key}


def _objects_schema() -> pa.Schema:
    import pyarrow as pa

    text = pa.string()
    column = pa.struct(
        [
            ("column_name", text),
            ("ordinal_position", pa.int32()),
            ("remarks", text),
            ("xdbc_type_name", text),
            ("xdbc_is_nullable", text),
        ]
    )
    key = pa.struct([("constraint_name", text), ("constraint_type", text), ("constraint_column_names", pa.list_(text))])
    table = pa.struct(
        [
            ("table_name", text),
            ("table_type", text),
            ("table_columns", pa.list_(column)),
            ("table_constraints", pa.list_(key)),
        ]
    )
    schema = pa.struct([("db_schema_name", text), ("db_schema_tables", pa.list_(table))])
    return pa.schema([("catalog_name", text), ("catalog_db_schemas", pa.list_(schema))])


def _arrow_type(name: str) -> str:
    return next((kind for pattern, kind in _TYPES if re.search(pattern, name.lower())), "string")


def _fits(name: str, pattern: str | None) -> bool:
    """Whether a name is like the pattern, in SQL's sense."""
    if pattern is None or name == pattern:
        return True
    escaped = re.sub(r"([*?\[])", r"[\1]", pattern)
    return fnmatch.fnmatchcase(name, escaped.replace("%", "*").replace("_", "?"))
