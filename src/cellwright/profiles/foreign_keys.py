"""Joins that a database's own foreign keys say, beside those that were found by looking at values. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec.structs import replace

from cellwright.notebook.source_text import literal
from cellwright.profiles.profile import ColumnProfile, Join, Profile, TableProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPair:
    """A column whose values name rows of another table. Tables by their names in the profile."""

    table: str
    column: str
    target: str
    target_column: str


def with_foreign_keys(profile: Profile, pairs: Iterable[KeyPair]) -> Profile:
    """The profile with these joins first: where a key joins two tables, nothing that merely looks alike does.

    What was seen of a join in all of the rows stays as it was seen.
    """
    seen = {(join.left, join.left_column, join.right, join.right_column): join for join in profile.joins}
    tables = {table.name: table for table in profile.tables}
    joins: list[Join] = []
    for pair in dict.fromkeys(pairs):
        left, right = tables.get(pair.table), tables.get(pair.target)
        if left is None or right is None or left is right:
            continue
        found = seen.get((pair.table, pair.column, pair.target, pair.target_column))
        is_whole = not left.sampling and not right.sampling
        made = found if found is not None and is_whole else _said(pair, left, right)
        joins += [made] if made is not None else []
    joined = {frozenset((join.left, join.right)) for join in joins}
    others = [join for join in profile.joins if frozenset((join.left, join.right)) not in joined]
    return replace(profile, joins=(*joins, *others))


def _said(pair: KeyPair, left: TableProfile, right: TableProfile) -> Join | None:
    """What the key promises: every value that is there is found; each names one row."""
    one, other = _column(left, pair.column), _column(right, pair.target_column)
    if one is None or other is None:
        return None
    back = min(1.0, one.distinct / other.distinct) if other.distinct else 0.0
    names = f"{literal(pair.table)}.{literal(pair.column)}", f"{literal(pair.target)}.{literal(pair.target_column)}"
    return Join(
        left=pair.table,
        left_column=pair.column,
        right=pair.target,
        right_column=pair.target_column,
        left_coverage=1.0,
        right_coverage=round(back, 6),
        relation="one-to-one" if one.is_unique and not left.sampling else "many-to-one",
        says=f"By a foreign key of the database every value of {names[0]} is in {names[1]}.",
    )


def _column(table: TableProfile, name: str) -> ColumnProfile | None:
    return next((column for column in table.columns if column.name == name), None)
