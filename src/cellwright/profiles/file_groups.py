"""The files of a profile by shape, those that speak of a goal first. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from msgspec.structs import replace

from cellwright.profiles.profile import (
    FileShape,
    Join,
    PairJoin,
    Profile,
    ReadOptions,
    ShapeColumn,
    SpokenWords,
    TableProfile,
    goal_words,
    relevant,
    score_files,
    spoken,
)

_FEW_NAMED = 3
"""So few files that a person named are all told at length; of a folder, those that speak of the goal."""
_NEAR = 3
"""So many columns more or less make no other table of a file that is named like the others."""
_LEAST_OF_ONE_SHAPE = 3
"""Two alike are two sides of a comparison more often than parts of one table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileGroup:
    """Files of one shape, or one file."""

    reading: ReadOptions
    """Of the file that stands for them."""
    columns: tuple[ShapeColumn, ...]
    files: tuple[str, ...]
    rows: int
    """In all of them."""
    is_counted: bool
    table: TableProfile | None = None
    """A close look: at all of them if it has their files, else at the one that stands for them."""
    names: frozenset[str] = frozenset()
    """Tables of the profile that are in it."""
    others: tuple[TableProfile, ...] = ()
    """Tables of files that `table` is not about: of its shape, read differently, or with a few other columns."""

    @property
    def paths(self) -> tuple[str, ...]:
        """All files, also those of another shape."""
        return tuple(dict.fromkeys([*self.files, *(path for each in self.others for path in _paths(each))]))

    @property
    def is_one_looked_at(self) -> bool:
        """The figures are of one file among several."""
        return self.table is not None and len(self.files) > max(1, len(self.table.files))


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedGroups:
    """All groups, those that speak most of the goal first."""

    groups: tuple[FileGroup, ...]
    words: tuple[str, ...] = ()
    """What the goal is about."""
    is_relevant: tuple[bool, ...] = ()
    """One for each: it speaks of the goal, or is joined to one that does; none does where nothing is spoken of."""
    is_named: bool = False
    """Those that a person named are the relevant ones, and no other is, however few there are."""


def rank_groups(profile: Profile, goal: str = "", named: Collection[str] = ()) -> RankedGroups:
    """The files of a profile in groups; `named`: files and folders that a person named for the goal."""
    words = goal_words(goal)
    found = [*(_of_shape(shape, profile, words) for shape in profile.shapes), *_of_tables(profile, words)]
    scores = score_files(words, [said for _, said in found])
    # Where only some files were read closely, those are the ones: the cage has seen more of them than stands here.
    best = {at for at, (group, _) in enumerate(found) if group.table} if profile.shapes else set(relevant(scores))
    spoken_of = frozenset[str]().union(*(found[at][0].names for at in best))
    ends = [{join.left, join.right} for join in key_joins(profile)]
    partners = frozenset[str]().union(*(pair for pair in ends if pair & spoken_of))
    is_relevant = [at in best or bool(group.names & partners) for at, (group, _) in enumerate(found)]
    is_chosen = [any(_is_in(path, named) for path in group.paths) for group, _ in found]
    is_named = any(is_chosen) and not all(is_chosen)
    if is_named:
        both = [chosen and spoken_of for chosen, spoken_of in zip(is_chosen, is_relevant, strict=True)]
        is_relevant = both if sum(is_chosen) > _FEW_NAMED and any(both) else is_chosen
    order = sorted(range(len(found)), key=lambda at: (not is_relevant[at], -scores[at]))
    return RankedGroups(
        groups=tuple(found[at][0] for at in order),
        words=words,
        is_relevant=tuple(is_relevant[at] for at in order),
        is_named=is_named,
    )


def _is_in(path: str, named: Collection[str]) -> bool:
    return any(PurePosixPath(path).is_relative_to(each) for each in named)


def key_joins(profile: Profile) -> list[Join | PairJoin]:
    """Joins by what names each row of one side; what repeats on both sides multiplies rows."""
    return [*profile.pair_joins, *(join for join in profile.joins if join.relation != "many-to-many")]


def _of_shape(shape: FileShape, profile: Profile, words: Sequence[str]) -> tuple[FileGroup, SpokenWords]:
    files = frozenset(shape.files)
    tables = [
        table
        for table in profile.tables
        if table.reading.part == shape.reading.part and not files.isdisjoint((table.reading.path, *table.files))
    ]
    table = tables[0] if tables else None
    group = FileGroup(
        reading=table.reading if table is not None else shape.reading,
        columns=shape.columns,
        files=shape.files,
        rows=shape.rows,
        is_counted=shape.is_counted,
        table=table,
        names=frozenset(table.name for table in tables),
    )
    said = SpokenWords(
        name=spoken(" ".join(shape.files), words),
        columns=spoken(" ".join(column.name for column in shape.columns), words),
        values=frozenset(shape.spoken),
    )
    return group, said


def _of_tables(profile: Profile, words: Sequence[str]) -> list[tuple[FileGroup, SpokenWords]]:
    """Tables whose files are in no shape: those that are alike together, the one that says most for all of them."""
    shaped = {path for shape in profile.shapes for path in shape.files}
    alike: dict[Hashable, list[TableProfile]] = {}
    for table in profile.tables:
        if table.reading.path not in shaped:
            alike.setdefault(_columns(table), []).append(table)
    parted = _with_near_fits(
        [
            part
            for tables in alike.values()
            for part in ([tables] if _count(tables) >= _LEAST_OF_ONE_SHAPE else [[table] for table in tables])
        ]
    )
    said = [[_said(table, words) for table in part] for part in parted]
    return [(_together(part, words_of, words), _united(words_of)) for part, words_of in zip(parted, said, strict=True)]


def _shape(table: TableProfile) -> Hashable:
    reading = replace(table.reading, path="", width=0, skip_last=0)
    return reading, tuple(column.name for column in table.columns)


def _columns(table: TableProfile) -> Hashable:
    return table.reading.format, table.reading.part, tuple(column.name for column in table.columns)


def _paths(table: TableProfile) -> tuple[str, ...]:
    return table.files or (table.reading.path,)


def _count(tables: Sequence[TableProfile]) -> int:
    return sum(len(_paths(table)) for table in tables)


def _with_near_fits(parts: Sequence[list[TableProfile]]) -> list[list[TableProfile]]:
    """A file that is named like those of a group, and has nearly their columns, is told with them."""
    found = {part[0].name: list(part) for part in parts}
    for [table] in (part for part in parts if len(part) == 1):
        near = (part for part in found.values() if _count(part) > 1 and part[0] is not table and _fits(table, part[0]))
        if not table.files and (best := max(near, key=_count, default=None)) is not None:
            best.append(table)
            del found[table.name]
    return list(found.values())


def _fits(table: TableProfile, main: TableProfile) -> bool:
    if (table.reading.format, _series(table)) != (main.reading.format, _series(main)):
        return False
    own, theirs = ([column.name for column in each.columns] for each in (table, main))
    kinds, their_kinds = ([column.kind for column in each.columns] for each in (table, main))
    lacks, has = {*theirs} - {*own}, {*own} - {*theirs}
    is_near = max(len(lacks), len(has)) <= _NEAR and 2 * len(lacks) <= len(theirs)
    return is_near or (kinds == their_kinds and len(has) <= _NEAR)


def _series(table: TableProfile) -> str:
    return re.sub(r"[0-9]+", "*", table.reading.path)


def _said(table: TableProfile, words: Sequence[str]) -> SpokenWords:
    values = (text for column in table.columns for text in (*column.examples, *(one.value for one in column.common)))
    return SpokenWords(
        name=spoken(" ".join((table.reading.path, table.reading.part, *table.files)), words),
        columns=spoken(" ".join(column.name for column in table.columns), words),
        values=spoken(" ".join(values), words),
    )


def _together(tables: Sequence[TableProfile], said: Sequence[SpokenWords], words: Sequence[str]) -> FileGroup:
    scores = score_files(words, said)
    table = tables[max(range(len(tables)), key=lambda at: (scores[at], len(tables[at].files)))]
    same = [each for each in tables if _shape(each) == _shape(table)]
    return FileGroup(
        reading=table.reading,
        columns=tuple(ShapeColumn(name=column.name, kind=column.kind) for column in table.columns),
        files=tuple(path for each in same for path in _paths(each)),
        rows=sum(each.rows for each in same),
        is_counted=all(each.is_counted for each in same),
        table=table,
        names=frozenset(each.name for each in tables),
        others=tuple(each for each in tables if each is not table),
    )


def _united(said: Sequence[SpokenWords]) -> SpokenWords:
    none = frozenset[str]()
    return SpokenWords(
        name=none.union(*(one.name for one in said)),
        columns=none.union(*(one.columns for one in said)),
        values=none.union(*(one.values for one in said)),
    )
