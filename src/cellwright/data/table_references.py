"""Which table of a catalogue, or which name of a WITH, a statement means where it names one. Pure.

Where servers differ, nothing rests on a guess: whoever rewrites a statement writes out in full what was found here.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import sqlglot
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

from cellwright.data.catalogue import Catalogue, CatalogueTable
from cellwright.data.dialects import Dialect
from cellwright.data.known_functions import known_functions

_ALWAYS_RECURSIVE: Final = frozenset({"sqlite", "snowflake"})
"""Where RECURSIVE needs not be said."""
_DEEP_SCHEMAS: Final = frozenset({"bigquery", "snowflake", "databricks", "trino"})
_SYSTEM_SCHEMAS: Final = frozenset(
    {"information_schema", "pg_catalog", "pg_toast", "mysql", "sys", "performance_schema", "system", "account_usage"}
)
_HARMLESS: Final = frozenset(
    {
        *(
            f"information_schema.{name}"
            for name in (
                "tables", "columns", "views", "schemata", "key_column_usage", "table_constraints", "routines",
                "referential_constraints", "constraint_column_usage", "constraint_table_usage", "check_constraints",
                "sequences", "domains", "parameters", "view_table_usage", "view_column_usage", "element_types",
            )
        ),
        *(
            f"pg_catalog.{name}"
            for name in (
                "pg_class", "pg_namespace", "pg_attribute", "pg_type", "pg_index", "pg_constraint", "pg_tables",
                "pg_views", "pg_matviews", "pg_indexes", "pg_description", "pg_enum", "pg_inherits", "pg_proc",
                "pg_depend", "pg_sequences", "pg_collation", "pg_extension", "pg_database",
            )
        ),
        "system.one", "system.numbers", "system.tables", "system.columns", "system.databases",
    }
)  # fmt: skip
"""Say how tables are made, and nothing of what is in them: no statistics, and no statements of others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemTable:
    """A table of the server's own that tells nothing of what is in others."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownTable:
    """No table that could be told apart."""

    why: str


FoundTable = CatalogueTable | SystemTable | UnknownTable


class TableNames:
    """The tables of a catalogue by name."""

    def __init__(self, catalogue: Catalogue, dialect: Dialect) -> None:
        self._dialect: Dialect = dialect
        self._default = catalogue.default_schema.casefold()
        self._by_name: dict[str, list[CatalogueTable]] = {}
        self._parts: dict[str, str] = {}
        for table in catalogue.tables:
            self._by_name.setdefault(table.name.casefold(), []).append(table)
            self._parts |= {part.rpartition(".")[2].casefold(): table.qualified for part in table.parts}

    def find(self, node: exp.Table) -> FoundTable:
        """What a name means that is none of a WITH."""
        parts = node.parts
        if not parts or not all(isinstance(part, exp.Identifier) for part in parts):
            return UnknownTable(why="It reads something that is no table by name.")
        words = [part.name for part in parts]
        told = ".".join(words)
        if (system := self._system(words)) is not None:
            if system in _HARMLESS:
                return SystemTable(name=system)
            return UnknownTable(why=f"{told} may tell what is in tables with masked columns.")
        fitting = self._fitting(words[-1], ".".join(words[:-1]))
        if len(fitting) > 1:
            fitting = [table for table in fitting if self._is_spelled(table, parts)]
            if len(fitting) != 1:
                return UnknownTable(why=f"{told} may be one of several tables; write its name in full, as it is.")
        if not fitting and (whole := self._parts.get(words[-1].casefold())):
            return UnknownTable(why=f"{told} is a partition of {whole}, and columns are masked; ask {whole}.")
        if not fitting:
            near = difflib.get_close_matches(words[-1].casefold(), list(self._by_name), n=2, cutoff=0.6)
            meant = " or ".join(table.qualified for name in near for table in self._by_name[name][:1])
            why = f"The catalogue has no table {told}, and columns of this connection are masked."
            return UnknownTable(why=f"{why} Did you mean {meant}?" if meant else why)
        return fitting[0]

    def has(self, name: str) -> bool:
        """Whether a table is called so, in any schema."""
        return name.casefold() in self._by_name

    def _system(self, words: list[str]) -> str | None:
        schema = words[-2].casefold() if len(words) > 1 else ""
        name = words[-1].casefold()
        if not schema and self._dialect in {"postgres", "redshift"} and name.startswith("pg_"):
            schema = "pg_catalog"
        return f"{schema}.{name}" if schema in _SYSTEM_SCHEMAS or schema.startswith("pg_temp") else None

    def _fitting(self, name: str, schema: str) -> list[CatalogueTable]:
        called = self._by_name.get(name.casefold(), [])
        if not schema:
            return [table for table in called if table.schema.casefold() == self._default] or called
        wanted = {schema.casefold()}
        if self._dialect == "sqlite" and wanted == {"main"}:
            wanted.add("")
        return [table for table in called if table.schema.casefold() in wanted]

    def _is_spelled(self, table: CatalogueTable, parts: list[exp.Expr]) -> bool:
        words = [self._folded(part) for part in parts]
        return table.name == words[-1] and (len(words) == 1 or table.schema == ".".join(words[:-1]))

    def _folded(self, part: exp.Expr) -> str:
        if part.args.get("quoted"):
            return part.name
        if self._dialect in {"postgres", "redshift"}:
            return part.name.lower()
        return part.name.upper() if self._dialect == "snowflake" else part.name


def full_name(table: CatalogueTable, dialect: Dialect) -> dict[str, exp.Identifier | None]:
    """The parts of a name that means this table and no other, whatever is looked up first."""
    schema = table.schema.split(".") if dialect in _DEEP_SCHEMAS else [table.schema]
    parts = [exp.to_identifier(part, quoted=True) if part else None for part in ("", "", *schema, table.name)[-3:]]
    return dict(zip(("catalog", "db", "this"), parts, strict=True))


def common_table(node: exp.Table, dialect: Dialect) -> exp.CTE | None:
    """The part of a WITH that this name means, if it means one."""
    if node.args.get("db") or not isinstance(node.this, exp.Identifier):
        return None
    for visible in _visible(node, dialect):
        exact = next((cte for cte in visible if cte.alias == node.name), None)
        if found := exact or next((cte for cte in visible if cte.alias.casefold() == node.name.casefold()), None):
            return found
    return None


def tables_of_view(definition: str, dialect: Dialect, schema: str) -> tuple[str, ...]:
    """The tables in a view's text, qualified; none where not all that it reads can be told."""
    try:
        tree = sqlglot.parse_one(definition, dialect=dialect)
    except (SqlglotError, RecursionError, ValueError):
        return ()
    known = known_functions(dialect)
    calls = [node.name.casefold() for node in tree.find_all(exp.Anonymous)]
    tables = list(tree.find_all(exp.Table))
    if any(not isinstance(node.this, exp.Identifier) for node in tables) or (known and not known.issuperset(calls)):
        return ()
    found = {f"{node.db or schema}.{node.name}" for node in tables if common_table(node, dialect) is None}
    return tuple(sorted(found))


def _visible(node: exp.Expr, dialect: Dialect) -> Iterator[list[exp.CTE]]:
    """The parts of each WITH around it, from within outwards, that can be named there."""
    inside: exp.Expr = node
    own: exp.CTE | None = None
    while (around := inside.parent) is not None:
        if isinstance(inside, exp.CTE):
            own = inside
        if isinstance(around, exp.With):
            inside = around
            continue
        if (words := around.args.get("with_")) is not None:
            parts = [cte for cte in words.expressions if not cte.args.get("scalar")]
            is_recursive = words.args.get("recursive") or dialect in _ALWAYS_RECURSIVE
            if inside is words and own is not None and not is_recursive:
                before = words.expressions.index(own)
                parts = [cte for cte in words.expressions[:before] if not cte.args.get("scalar")]
            yield parts
        inside = around
