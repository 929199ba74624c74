"""What a database has: tables, columns, keys. Read in bulk by a worker, kept by the broker, shown to people and agents.

Names, comments and samples are a stranger's: bounded here, fenced where a model reads them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import TypeAdapter

MAX_TABLES: Final = 20_000
MAX_COLUMNS: Final = 400_000
MAX_NAME: Final = 256
MAX_COMMENT: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueColumn:
    """One column."""

    name: str
    type: str
    """As the server calls it."""
    is_nullable: bool = True
    is_key: bool = False
    """Part of the primary key."""
    comment: str = ""
    is_masked: bool = False
    """Nobody sees its values: no samples either."""
    samples: tuple[str, ...] = ()
    """A few values, where they are few and short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKey:
    """Columns that mean a row of another table."""

    columns: tuple[str, ...]
    table: str
    """Qualified as `CatalogueTable.qualified`."""
    target: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueTable:
    """One table or view."""

    schema: str
    """Empty where the source has none."""
    name: str
    kind: Literal["table", "view"] = "table"
    columns: tuple[CatalogueColumn, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    rows: int | None = None
    """As the server believes; None: it does not say."""
    comment: str = ""
    reads: tuple[str, ...] = ()
    """Of a view: the tables behind it, qualified, as far as the server says."""
    part_of: tuple[str, ...] = ()
    """Of a partition or an inheriting table: the tables that show its rows as their own, qualified."""
    parts: tuple[str, ...] = ()
    """The partitions that hold its rows, qualified: they are no tables of the catalogue."""

    @property
    def qualified(self) -> str:
        """As statements name it."""
        return f"{self.schema}.{self.name}" if self.schema else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Everything a connection shows."""

    tables: tuple[CatalogueTable, ...] = ()
    default_schema: str = ""
    """Where a name without a schema is looked up."""
    server: str = ""
    """What it says it is: "PostgreSQL 18.4"."""
    is_cut: bool = False
    """There is more than we keep."""
    read_at: str = ""
    """ISO time."""
    shadowing: tuple[str, ...] = ()
    """Functions and operators that somebody made here and that are called like the server's own, which may win."""

    def table(self, name: str) -> CatalogueTable | None:
        """The table of this name, qualified or in the default schema; letters' case does not count if one fits."""
        wanted = {name, f"{self.default_schema}.{name}"}
        exact = next((table for table in self.tables if table.qualified in wanted), None)
        if exact is not None:
            return exact
        folded = {each.casefold() for each in wanted}
        return next((table for table in self.tables if table.qualified.casefold() in folded), None)


CATALOGUE_JSON: Final = TypeAdapter(Catalogue)


def bounded(tables: Iterable[CatalogueTable]) -> tuple[tuple[CatalogueTable, ...], bool]:
    """As many as are kept, and whether there were more."""
    kept, columns = list[CatalogueTable](), 0
    for table in tables:
        columns += len(table.columns)
        if len(kept) >= MAX_TABLES or columns > MAX_COLUMNS:
            return tuple(kept), True
        kept.append(table)
    return tuple(kept), False
