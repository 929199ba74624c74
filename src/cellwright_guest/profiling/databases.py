"""What databases in a file have in common: one table of each table and view, a view with little time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Final

import pyarrow as pa

from cellwright_guest.profiling.raw import RawColumn, RawTable
from cellwright_guest.profiling.records import Format, Oddity, Reading, Skipped
from cellwright_guest.profiling.sampling import told
from cellwright_guest.profiling.sources import Allowance, NotReadable, Source, example

Found = tuple[list[RawTable], list[Skipped], list[str]]
_MOST_TABLES: Final = 40
_VIEW_SECONDS: Final = 5.0


def read_each(
    source: Source,
    parts: Sequence[tuple[str, bool]],
    read: Callable[[str, bool], RawTable],
    broken: type[Exception],
) -> Found:
    """All of `parts` (a name, and whether it is a view); one that cannot be read is told."""
    tables, skipped, notes = list[RawTable](), list[Skipped](), list[str]()
    if not parts:
        raise NotReadable("it is a database without tables")
    for name, is_view in parts[:_MOST_TABLES]:
        try:
            table = read(name, is_view)
        except (broken, NotReadable, pa.ArrowException, ValueError) as error:
            why = str(error) if isinstance(error, NotReadable) else _why(error, is_view)
            skipped.append(Skipped(path=f"{source.shown} ({example(name)})", why=why))
            continue
        tables.append(table)
    if len(parts) > _MOST_TABLES:
        notes.append(f"Only the first {_MOST_TABLES} of {len(parts):,} tables of {source.shown!r} were read.")
    return tables, skipped, notes


def _why(error: Exception, is_view: bool) -> str:
    what = "the view" if is_view else "the table"
    if "interrupt" in str(error).lower():
        return f"{what} takes too long"
    return f"{what} cannot be read: {example(str(error))}"


def until(allowance: Allowance, is_view: bool) -> float:
    """A view can be any program: it gets little time."""
    return min(allowance.until, monotonic() + _VIEW_SECONDS) if is_view else allowance.until + _VIEW_SECONDS


def database_table(
    source: Source,
    kind: Format,
    part: str,
    columns: list[RawColumn],
    counts: tuple[int, int, int, bool],
    oddities: list[Oddity],
) -> RawTable:
    """A table of a database; `counts` are all rows, rows seen, the stride, and whether the time was up."""
    total, seen, stride, is_over = counts
    return RawTable(
        name=f"{source.stem}_{part}",
        reading=Reading(path=source.shown, format=kind, part=part),
        columns=columns,
        rows=total,
        looked_at=len(columns[0].values) if columns else 0,
        sampling=told(stride=stride, seen=seen, is_counted=not is_over, total=total),
        bytes=source.size_bytes,
        oddities=oddities,
    )


def quoted(name: str) -> str:
    """A name as SQL wants it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'
