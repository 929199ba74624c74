"""How files differ from the table that stands for their group, a short line each. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from cellwright.notebook.source_text import literal
from cellwright.profiles.file_groups import FileGroup
from cellwright.profiles.profile import TableProfile
from cellwright.profiles.profile_view import many, shared_words, shown
from cellwright.profiles.read_lines import read_line, reading_line

_MOST_LINES: Final = 8
_FEW_NAMES: Final = 3


def difference_lines(group: FileGroup) -> list[str]:
    """The files that the figures of the group are not about; those of one shape with a single file go without."""
    table = group.table
    if table is None:
        return []
    lines = [line for other in group.others if (line := _line(table, other))]
    more = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], f"  beside it: {many(more, 'more file')} that differ"] if more > 0 else lines


def _line(table: TableProfile, other: TableProfile) -> str:
    is_read_alike = _code(table) == _code(other)
    place = shown(other.files[0] if other.files else other.reading.path) if is_read_alike else read_line(other)
    more = f" and {len(other.files) - 1:,} more" if len(other.files) > 1 else ""
    differences = [*_columns(table, other), *map(shared_words, other.shared)]
    if is_read_alike and not differences and not table.files:
        return ""
    is_copy = any(shared.rows == shared.of for shared in other.shared)
    times = () if is_copy or _times(other) == _times(table) else _times(other)
    return f"  beside it: {place}{more}: {'; '.join([many(other.rows, 'row'), *differences, *times])}"


def _code(table: TableProfile) -> str:
    return reading_line(replace(table.reading, path="", width=0, skip_last=0), table)


def _times(table: TableProfile) -> list[str]:
    return [
        f"{column.times.first} to {column.times.last}"
        for column in table.columns
        if column.name == table.time_column and column.times is not None
    ]


def _columns(table: TableProfile, other: TableProfile) -> Iterator[str]:
    theirs, own = [column.name for column in table.columns], [column.name for column in other.columns]
    if theirs == own:
        return
    lacks, has = [name for name in theirs if name not in own], [name for name in own if name not in theirs]
    renamed = [(new, old) for new, old in zip(own, theirs, strict=False) if new != old]
    if not lacks and not has:
        yield "columns in another order"
    elif len(theirs) == len(own) and (set(has), set(lacks)) == (
        {new for new, _ in renamed},
        {old for _, old in renamed},
    ):
        yield _listed([f"{literal(new)} for {literal(old)}" for new, old in renamed])
    else:
        if lacks:
            yield f"lacks {_listed(list(map(literal, lacks)))}"
        if has:
            yield f"has also {_listed(list(map(literal, has)))}"


def _listed(names: Sequence[str]) -> str:
    few = ", ".join(names[:_FEW_NAMES])
    return few if len(names) <= _FEW_NAMES else f"{few} and {len(names) - _FEW_NAMES:,} more"
