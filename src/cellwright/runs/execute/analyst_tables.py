"""Tables of the connections a goal names: which it is about, and which are too large, as are files behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from msgspec.structs import replace as with_fields

from cellwright.analyst.goal.request import UnsupportedGoal
from cellwright.analyst.names import MAX_TABLES
from cellwright.data.catalogue import CatalogueTable
from cellwright.data.messages import ReadSchema
from cellwright.data.table_choice import choose_tables
from cellwright.errors import UserError
from cellwright.kernel.fetched_tables import TableSource
from cellwright.profiles.profile import Profile, SkippedFile, TableProfile, is_remote, one_line, with_remarks

MOST_FETCHED_ROWS: Final = 2_000_000
"""A larger table of a database is not fetched into a notebook."""
_MOST_FETCHED_BYTES: Final = 2 << 30
_MOST_FETCHED_FILES: Final = 200
"""Nor is a table of more files behind a connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalTables:
    """What a goal's connections have for it."""

    tables: Mapping[str, Sequence[CatalogueTable]]
    """By connection; of each those that the goal speaks of, or that are joined with one of those."""
    most_rows: int = MOST_FETCHED_ROWS
    """Larger ones cannot be fetched whole: by us, or by what a person set for the connection."""
    notes: tuple[str, ...] = ()


async def choose_goal_tables(words: str, connections: Sequence[str], source: TableSource) -> GoalTables:
    """The tables that a goal is about. Raises what a database says, and `UserError` where one is empty."""
    tables, notes, most_rows = dict[str, Sequence[CatalogueTable]](), list[str](), MOST_FETCHED_ROWS
    for connection in connections:
        most_rows = min(most_rows, (await source.limits(connection)).rows)
        catalogue = await source.schema(ReadSchema(connection=connection))
        # The rows of a part are shown by the whole.
        whole = replace(catalogue, tables=tuple(table for table in catalogue.tables if not table.part_of))
        if not whole.tables:
            raise UserError(f"The connection {connection!r} shows no tables.", hint="Ask whoever runs the database.")
        choice = choose_tables(whole, words, most=max(1, MAX_TABLES // len(connections)))
        chosen = choice.tables[: choice.fitting or len(choice.tables)]
        tables[connection] = chosen
        if len(chosen) < len(whole.tables):
            notes.append(f"Of the {len(whole.tables):,} tables of {connection} {len(chosen)} were looked at.")
    return GoalTables(tables=tables, most_rows=most_rows, notes=tuple(notes))


def too_large(tables: Iterable[TableProfile], most_rows: int) -> UnsupportedGoal | None:
    """Why a question of these tables is not answered here, and what is nearest to it."""
    table = next((table for table in tables if _is_too_large(table, most_rows)), None)
    if table is None:
        return None
    if is_remote(table.reading):
        why = _too_much(table)
        return UnsupportedGoal(why=f"{one_line(table.name, 120)} {why}. Name fewer files, or copy what you need.")
    name, about = one_line(table.reading.part, 120), "" if table.is_counted else "about "
    summed = f"select …, count(*) from {name} group by 1"
    return UnsupportedGoal(
        why=f"{name} has {about}{table.rows:,} rows, and at most {most_rows:,} are fetched into a notebook. "
        f"Nearest to it, the database itself can sum up: `{summed}`, asked of {table.reading.path}.",
        needs_model=True,
    )


def without_large(profile: Profile, most_rows: int) -> tuple[Profile, UnsupportedGoal | None]:
    """The profile without tables that are too large, which it names; or why nothing is left of it."""
    large = [table for table in profile.tables if _is_too_large(table, most_rows)]
    if large and len(large) == len(profile.tables):
        return profile, too_large(large, most_rows)
    names = {table.name for table in large}
    left = with_fields(
        profile,
        tables=tuple(table for table in profile.tables if table.name not in names),
        joins=tuple(join for join in profile.joins if names.isdisjoint((join.left, join.right))),
    )
    why = f"it has more than the {most_rows:,} rows that are fetched"
    skipped = [
        SkippedFile(path=table.reading.path, why=f"it {_too_much(table)}")
        if is_remote(table.reading)
        else SkippedFile(path=table.reading.part.replace("/", "_"), why=why)
        for table in large
    ]
    return with_remarks(left, skipped=skipped), None


def _too_much(table: TableProfile) -> str:
    """Why a table of files behind a connection is not fetched; empty: it is."""
    files, most = len(table.files), f"at most {_MOST_FETCHED_BYTES >> 30} GB in {_MOST_FETCHED_FILES} files are fetched"
    if files <= _MOST_FETCHED_FILES and table.bytes <= _MOST_FETCHED_BYTES:
        return ""
    return f"has {table.bytes / 1e9:,.1f} GB in {max(1, files):,} files, and {most} into a notebook"


def _is_too_large(table: TableProfile, most_rows: int) -> bool:
    if is_remote(table.reading):
        return bool(_too_much(table))
    return table.reading.format == "connection" and table.rows > most_rows
