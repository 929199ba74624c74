"""Which columns of a catalogue nobody may see, and which tables show them under another name. Pure.

A pattern is `table.column` or `schema.table.column`, `*` for any name; letters' case does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cellwright.data.catalogue import Catalogue, CatalogueColumn, CatalogueTable


class MaskedColumns:
    """The masks of a connection over its catalogue."""

    def __init__(self, catalogue: Catalogue, masked: Sequence[str]) -> None:
        self._patterns = [_pattern(each) for each in masked]
        self._without_schema = [_pattern(".".join(each.split(".")[-2:])) for each in masked]
        self._own_names = [_pattern(each.rpartition(".")[0]) for each in masked if "*" not in each.rpartition(".")[0]]
        self._split = [(_pattern(table), _pattern(column)) for table, _, column in (m.rpartition(".") for m in masked)]
        self._tables = {table.qualified.casefold(): table for table in catalogue.tables}
        self._kin = _kin(catalogue)

    def of(self, table: CatalogueTable) -> frozenset[str]:
        """The names of its masked columns: those a pattern names here, in a part of it or in what it is part of."""
        kin = self._kin.get(table.qualified.casefold(), (table,))
        named = {name.casefold() for each in kin for name in self._named(each)}
        return frozenset(column.name for column in table.columns if column.name.casefold() in named)

    def why_hidden(self, table: CatalogueTable) -> str:
        """Why nothing of it can be shown; empty: it can. A view is shown if its own columns were named in a pattern."""
        if not (table.reads or table.kind == "view") or self._is_named(table):
            return ""
        if not table.reads:
            return f"It is not known what {table.qualified} reads, and columns of this connection are masked."
        return self._why_behind(table, {table.qualified.casefold()})

    def _why_behind(self, table: CatalogueTable, seen: set[str]) -> str:
        for name in table.reads:
            behind = self._tables.get(name.casefold())
            if behind is None:
                return f"{table.qualified} reads {name}, of which nothing is known, and columns are masked."
            if self.of(behind):
                return f"{table.qualified} reads {name}, which has masked columns; ask for what you need of {name}."
            if name.casefold() not in seen and (why := self._why_behind(behind, seen | {name.casefold()})):
                return why
        return ""

    def _named(self, table: CatalogueTable) -> Iterator[str]:
        # Where a source has no schemas, a pattern that names one still means the table.
        patterns = self._patterns if table.schema else [*self._patterns, *self._without_schema]
        for column in table.columns:
            names = (f"{table.name}.{column.name}", f"{table.qualified}.{column.name}")
            if any(pattern.fullmatch(name.casefold()) for pattern in patterns for name in names):
                yield column.name
        # Partitions are no tables of the catalogue: what a pattern says of one holds for the whole.
        parts = [name.casefold() for part in table.parts for name in (part, part.partition(".")[2])]
        for of_part, of_column in self._split if parts else ():
            if any(map(of_part.fullmatch, parts)):
                yield from (column.name for column in table.columns if of_column.fullmatch(column.name.casefold()))

    def _is_named(self, table: CatalogueTable) -> bool:
        names = (table.name.casefold(), table.qualified.casefold())
        return bool(self.of(table)) and any(own.fullmatch(name) for own in self._own_names for name in names)


def mark_masked(catalogue: Catalogue, masked: Sequence[str]) -> Catalogue:
    """The catalogue as it is shown: masked columns say so, and have no samples."""
    if not masked:
        return catalogue
    columns = MaskedColumns(catalogue, masked)
    return replace(catalogue, tables=tuple(_marked(table, columns) for table in catalogue.tables))


def idle_masks(catalogue: Catalogue, masked: Sequence[str]) -> tuple[str, ...]:
    """Those that name no column there is."""
    return tuple(
        each for each in masked if not any(MaskedColumns(catalogue, [each]).of(table) for table in catalogue.tables)
    )


def _marked(table: CatalogueTable, masked: MaskedColumns) -> CatalogueTable:
    names = masked.of(table)
    # What shows masked columns under other names is not asked, and what was sampled from it is not told either.
    is_hidden = bool(masked.why_hidden(table))
    if not names and not is_hidden:
        return table
    return replace(table, columns=tuple(_shown(column, column.name in names, is_hidden) for column in table.columns))


def _shown(column: CatalogueColumn, is_masked: bool, is_hidden: bool) -> CatalogueColumn:
    return replace(column, is_masked=is_masked, samples=()) if is_masked or is_hidden else column


def _pattern(text: str) -> re.Pattern[str]:
    # Names may have dots in them: a * that covers more masks more.
    return re.compile(".*".join(re.escape(part) for part in text.casefold().split("*")), re.DOTALL)


def _kin(catalogue: Catalogue) -> dict[str, tuple[CatalogueTable, ...]]:
    """Of each table with parts, or that is one: all that share rows with it."""
    if not any(table.part_of for table in catalogue.tables):
        return {}
    groups: dict[str, set[str]] = {}
    for table in catalogue.tables:
        names = {table.qualified.casefold(), *(name.casefold() for name in table.part_of)}
        if len(names) > 1:
            whole = names.union(*(groups.get(name, set()) for name in names))
            groups |= dict.fromkeys(whole, whole)
    tables = {table.qualified.casefold(): table for table in catalogue.tables}
    return {name: tuple(tables[each] for each in sorted(group) if each in tables) for name, group in groups.items()}
