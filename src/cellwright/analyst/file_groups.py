"""The files of a profile by shape, those that speak of a goal first. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from cellwright.analyst.profile import (
    FileShape,
    Join,
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


def rank_groups(profile: Profile, goal: str = "") -> RankedGroups:
    """The files of a profile in groups."""
    words = goal_words(goal)
    found = [*(_of_shape(shape, profile, words) for shape in profile.shapes), *_of_tables(profile, words)]
    scores = score_files(words, [said for _, said in found])
    # Where only some files were read closely, those are the ones: the cage has seen more of them than stands here.
    best = {at for at, (group, _) in enumerate(found) if group.table} if profile.shapes else set(relevant(scores))
    named = frozenset[str]().union(*(found[at][0].names for at in best))
    ends = [{join.left, join.right} for join in key_joins(profile)]
    partners = frozenset[str]().union(*(pair for pair in ends if pair & named))
    is_relevant = [at in best or bool(group.names & partners) for at, (group, _) in enumerate(found)]
    order = sorted(range(len(found)), key=lambda at: (not is_relevant[at], -scores[at]))
    return RankedGroups(
        groups=tuple(found[at][0] for at in order),
        words=words,
        is_relevant=tuple(is_relevant[at] for at in order),
    )


def key_joins(profile: Profile) -> list[Join]:
    """Joins by columns that name each row of one side; what repeats on both sides multiplies rows."""
    return [join for join in profile.joins if join.relation != "many-to-many"]


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
            alike.setdefault(_shape(table), []).append(table)
    parted = [
        part
        for tables in alike.values()
        for part in ([tables] if len(tables) >= _LEAST_OF_ONE_SHAPE else [[table] for table in tables])
    ]
    said = [[_said(table, words) for table in part] for part in parted]
    return [(_together(part, words_of, words), _united(words_of)) for part, words_of in zip(parted, said, strict=True)]


def _shape(table: TableProfile) -> Hashable:
    reading = replace(table.reading, path="", width=0, skip_last=0)
    return reading, tuple(column.name for column in table.columns)


def _said(table: TableProfile, words: Sequence[str]) -> SpokenWords:
    values = (text for column in table.columns for text in (*column.examples, *(one.value for one in column.common)))
    return SpokenWords(
        name=spoken(" ".join((table.reading.path, table.reading.part, *table.files)), words),
        columns=spoken(" ".join(column.name for column in table.columns), words),
        values=spoken(" ".join(values), words),
    )


def _together(tables: Sequence[TableProfile], said: Sequence[SpokenWords], words: Sequence[str]) -> FileGroup:
    scores = score_files(words, said)
    table = tables[max(range(len(tables)), key=lambda at: scores[at])]
    return FileGroup(
        reading=table.reading,
        columns=tuple(ShapeColumn(name=column.name, kind=column.kind) for column in table.columns),
        files=tuple(path for each in tables for path in each.files or (each.reading.path,)),
        rows=sum(each.rows for each in tables),
        is_counted=all(each.is_counted for each in tables),
        table=table,
        names=frozenset(each.name for each in tables),
    )


def _united(said: Sequence[SpokenWords]) -> SpokenWords:
    none = frozenset[str]()
    return SpokenWords(
        name=none.union(*(one.name for one in said)),
        columns=none.union(*(one.columns for one in said)),
        values=none.union(*(one.values for one in said)),
    )
