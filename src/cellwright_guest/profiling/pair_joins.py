"""Joins by two columns at once: the pair that names each row of one table, and columns called so in another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Final

import numpy as np
from pandas.core.util.hashing import hash_array

from cellwright_guest.profiling.columns import StudiedColumn
from cellwright_guest.profiling.joins import Hashes
from cellwright_guest.profiling.records import PairJoin
from cellwright_guest.profiling.typed_column import NULL, TypedColumn

_LEAST_COVERAGE: Final = 0.2
_MOST_JOINS: Final = 20
_MIXING: Final = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedTable:
    """A table's columns, and what names its rows."""

    name: str
    columns: Sequence[StudiedColumn]
    keys: Sequence[tuple[str, ...]]

    def called(self, name: str) -> StudiedColumn | None:
        """The column of that name, however it is written."""
        folded = name.casefold()
        return next((each for each in self.columns if each.column.name.casefold() == folded), None)

    def shape(self) -> list[str]:
        """The names of its columns."""
        return [each.column.name for each in self.columns]


def find_pair_joins(tables: Sequence[KeyedTable]) -> tuple[PairJoin, ...]:
    """For each two tables the first pair that joins them; the table whose rows it names stands on the right."""
    found: dict[frozenset[str], PairJoin] = {}
    for left, right in permutations(tables, 2):
        both = frozenset((left.name, right.name))
        # Tables of one shape are stacked, not joined.
        if both not in found and left.shape() != right.shape() and (join := next(_between(left, right), None)):
            found[both] = join
    return tuple(sorted(found.values(), key=lambda join: -join.left_coverage)[:_MOST_JOINS])


def _between(left: KeyedTable, right: KeyedTable) -> Iterator[PairJoin]:
    for key in right.keys:
        own = [right.called(name) for name in key]
        others = [left.called(name) for name in key]
        pairs = [(one, other) for one, other in zip(others, own, strict=True) if one and other]
        if len(key) != 2 or len(pairs) < 2 or any(one.column.kind != other.column.kind for one, other in pairs):
            continue
        many, few = _rows([one.typed for one, _ in pairs]), _rows([other.typed for _, other in pairs])
        there, back = np.unique(many), np.unique(few)
        if not len(there) or not len(back):
            continue
        coverage = float(np.isin(there, back).mean())
        if coverage >= _LEAST_COVERAGE:
            yield PairJoin(
                left=left.name,
                left_columns=(pairs[0][0].column.name, pairs[1][0].column.name),
                right=right.name,
                right_columns=(pairs[0][1].column.name, pairs[1][1].column.name),
                left_coverage=round(coverage, 6),
                right_coverage=round(float(np.isin(back, there).mean()), 6),
                relation="one-to-one" if len(there) == len(many) else "many-to-one",
            )


def _rows(pair: Sequence[TypedColumn]) -> Hashes:
    """One number for the two values of each row that has both."""
    first, second = pair
    there = (first.codes != NULL) & (second.codes != NULL)
    return _hashes(first)[first.codes[there]] * _MIXING + _hashes(second)[second.codes[there]]


def _hashes(column: TypedColumn) -> Hashes:
    """One number for each different value: what it means where that is known, else how it is written."""
    values: Any = column.values
    held = np.array(column.texts.to_pylist(), dtype=object) if values is None else values
    return hash_array(held, categorize=False)
