"""Joins by two columns at once: the pair that names each row of one table, and columns called so in another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any, Final

import numpy as np
from pandas.core.util.hashing import hash_array

from cellwright_guest.profiling.columns import StudiedColumn
from cellwright_guest.profiling.joins import Hashes
from cellwright_guest.profiling.records import PairJoin
from cellwright_guest.profiling.typed_column import NULL, TypedColumn

_LEAST_COVERAGE: Final = 0.2
_MOST_JOINS: Final = 20
_MOST_COMPARED: Final = 60
"""Among many tables whose columns have the same names, so many pairs are tried."""
_MIXING: Final = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedTable:
    """A table's columns, and what names its rows."""

    name: str
    columns: Sequence[StudiedColumn]
    keys: Sequence[tuple[str, ...]]
    hashes: dict[str, Hashes] = field(default_factory=dict[str, Hashes])
    """Of columns that were compared already."""

    def called(self, name: str) -> StudiedColumn | None:
        """The column of that name, however it is written."""
        folded = name.casefold()
        return next((each for each in self.columns if each.column.name.casefold() == folded), None)

    def rows(self, pair: Sequence[StudiedColumn]) -> Hashes:
        """One number for the two values of each row that has both."""
        first, second = (each.typed for each in pair)
        there = (first.codes != NULL) & (second.codes != NULL)
        return self._of(first)[first.codes[there]] * _MIXING + self._of(second)[second.codes[there]]

    def _of(self, column: TypedColumn) -> Hashes:
        if column.name not in self.hashes:
            self.hashes[column.name] = _hashes(column)
        return self.hashes[column.name]

    def shape(self) -> list[str]:
        """The names of its columns."""
        return [each.column.name for each in self.columns]


def find_pair_joins(tables: Sequence[KeyedTable]) -> tuple[PairJoin, ...]:
    """For each two tables the first pair that joins them; the table whose rows it names stands on the right."""
    found: dict[frozenset[str], PairJoin] = {}
    for left, right, pairs in islice(_candidates(tables), _MOST_COMPARED):
        both = frozenset((left.name, right.name))
        if both not in found and (join := _join(left, right, pairs)):
            found[both] = join
    return tuple(sorted(found.values(), key=lambda join: -join.left_coverage)[:_MOST_JOINS])


Pairs = Sequence[tuple[StudiedColumn, StudiedColumn]]
"""Columns of the left table, each with its namesake on the right."""


def _candidates(tables: Sequence[KeyedTable]) -> Iterator[tuple[KeyedTable, KeyedTable, Pairs]]:
    keyed = [table for table in tables if any(len(key) == 2 for key in table.keys)]
    for left, right in product(tables, keyed):
        # Tables of one shape are stacked, not joined.
        if left is right or left.shape() == right.shape():
            continue
        for key in right.keys:
            named = [(left.called(name), right.called(name)) for name in key]
            pairs = [(one, other) for one, other in named if one and other and one.column.kind == other.column.kind]
            if len(pairs) == len(key) == 2:
                yield left, right, pairs


def _join(left: KeyedTable, right: KeyedTable, pairs: Pairs) -> PairJoin | None:
    many = left.rows([one for one, _ in pairs])
    there, back = np.unique(many), np.unique(right.rows([other for _, other in pairs]))
    coverage = float(np.isin(there, back).mean()) if len(there) else 0.0
    if coverage < _LEAST_COVERAGE:
        return None
    (first, second), (namesake, other) = pairs
    return PairJoin(
        left=left.name,
        left_columns=(first.column.name, namesake.column.name),
        right=right.name,
        right_columns=(second.column.name, other.column.name),
        left_coverage=round(coverage, 6),
        right_coverage=round(float(np.isin(back, there).mean()), 6),
        relation="one-to-one" if len(there) == len(many) else "many-to-one",
    )


def _hashes(column: TypedColumn) -> Hashes:
    """One number for each different value: what it means where that is known, else how it is written."""
    values: Any = column.values
    held = np.array(column.texts.to_pylist(), dtype=object) if values is None else values
    return hash_array(held, categorize=False)
