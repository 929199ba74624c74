"""Many files: their shapes from the head of each, and the few that a close look is worth."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Final

import msgspec

from cellwright_guest.profiling import raw
from cellwright_guest.profiling.profiler import type_columns
from cellwright_guest.profiling.readers.formats import find_encoding, is_surely_a_table
from cellwright_guest.profiling.readers.reader import list_sources, read_source
from cellwright_guest.profiling.records import (
    LONGEST_NAME,
    FileShape,
    ProfileRequest,
    ReadOptions,
    ShapeColumn,
    SkippedFile,
)
from cellwright_guest.profiling.relevance import SpokenWords, relevant, score_files, spoken
from cellwright_guest.profiling.wording import cut

_HEAD_ROWS: Final = 200
_HEAD_BYTES: Final = 1 << 20
_HEAD_SECONDS: Final = 0.05
_FIRST_BYTES: Final = 1 << 16
_MOST_CLOSE: Final = 12
"""Files looked at closely: each costs as much as the heads of ten."""
_TYPING_SHARE: Final = 0.25
_NO_TIME: Final = "there was no time left to read it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What was found before any file was read closely."""

    question: ProfileRequest
    """About the files that are to be read closely."""
    shapes: tuple[FileShape, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """A table as the beginning of its file shows it."""

    table: raw.RawTable
    spoken: SpokenWords


def survey_files(question: ProfileRequest) -> Survey:
    """All files asked about, where they are more than are read closely anyway; those keep to their time.

    Of each shape one file is read closely: the one that speaks most of the words, where any does.
    """
    sources, skipped, _ = list_sources(question.paths, len(question.paths))
    if question.words is None or len(sources) <= question.most_files:
        return Survey(question=question)
    until = monotonic() + question.survey_seconds
    heads, lost = _heads(sources, question, until)
    scores = score_files(question.words, [head.spoken for head in heads])
    groups: dict[Hashable, list[int]] = {}
    for index, head in enumerate(heads):
        groups.setdefault(_shape(head.table), []).append(index)
    first = [max(group, key=lambda index: scores[index]) for group in groups.values()]
    order = relevant([scores[index] for index in first]) or range(len(first))
    close = dict.fromkeys(heads[first[at]].table.reading.path for at in [*order][:_MOST_CLOSE])
    until += question.survey_seconds * _TYPING_SHARE
    shapes = tuple(_told([heads[index] for index in group], until) for group in groups.values())
    return Survey(
        question=msgspec.structs.replace(question, paths=tuple(close)), shapes=shapes, skipped=(*skipped, *lost)
    )


def _heads(
    sources: Sequence[raw.SourceFile], question: ProfileRequest, until: float
) -> tuple[list[_Head], list[SkippedFile]]:
    """In the order of the sources; those whose names speak of the goal are looked at while there is time for sure."""
    words, known = question.words or (), dict[bytes, raw.RawTable]()
    heads, lost = dict[int, list[_Head]](), list[SkippedFile]()
    for at in sorted(range(len(sources)), key=lambda at: -len(spoken(sources[at].shown, words))):
        source = sources[at]
        if monotonic() > until:
            lost.append(SkippedFile(path=source.shown, why=_NO_TIME))
        elif found := _by_first_line(source, known, words):
            heads[at] = [found]
        else:
            tables, refused, _ = read_source(source, _budget(question))
            heads[at] = [_Head(table=table, spoken=_spoken(table, words, _values(table))) for table in tables]
            lost += refused
            known.update((line, table) for table in tables if (line := _first_line(source, table.reading)))
    return [head for at in sorted(heads) for head in heads[at]], lost


def _budget(question: ProfileRequest) -> raw.ReadBudget:
    return raw.ReadBudget(
        most_rows=_HEAD_ROWS,
        most_columns=question.most_columns,
        until=monotonic() + _HEAD_SECONDS,
        most_bytes=_HEAD_BYTES,
    )


def _by_first_line(source: raw.SourceFile, known: Mapping[bytes, raw.RawTable], words: Sequence[str]) -> _Head | None:
    """A text that begins with the very line of names of one that was understood is read like it: ten times faster."""
    if not known or not is_surely_a_table(source):
        return None
    try:
        with source.path.open("rb") as stream:
            head = stream.read(_FIRST_BYTES)
        like = known.get(_line(head))
        encoding = find_encoding(source.path, "", head) if like is not None else None
    except OSError:
        return None
    if like is None or encoding is None or encoding.name != like.reading.encoding:
        return None
    is_whole = len(head) >= source.size_bytes
    lines = max(0, head.rstrip().count(b"\n"))
    table = replace(
        like,
        reading=msgspec.structs.replace(like.reading, path=source.shown),
        rows=lines if is_whole else int(lines * source.size_bytes / len(head)),
        is_counted=is_whole and b'"' not in head,
        bytes=source.size_bytes,
    )
    return _Head(table=table, spoken=_spoken(table, words, head.decode(encoding.name, "replace")))


def _first_line(source: raw.SourceFile, reading: ReadOptions) -> bytes:
    """The line of names, where it is the first one of a text; else nothing."""
    is_first = reading.header_rows == (0,) and not reading.skip_first and not reading.compression
    if reading.format != "csv" or not is_first or not is_surely_a_table(source):
        return b""
    with source.path.open("rb") as stream:
        return _line(stream.read(_FIRST_BYTES))


def _line(head: bytes) -> bytes:
    line, end, _ = head.partition(b"\n")
    return line.rstrip(b"\r") if end else b""


def _values(table: raw.RawTable) -> str:
    return " ".join(value for column in table.columns for value in column.values.to_pylist() if isinstance(value, str))


def _spoken(table: raw.RawTable, words: Sequence[str], values: str) -> SpokenWords:
    return SpokenWords(
        name=spoken(f"{table.reading.path} {table.reading.part}", words),
        columns=spoken(" ".join(column.name for column in table.columns), words),
        values=spoken(values, words),
    )


def _shape(table: raw.RawTable) -> Hashable:
    """Equal for files that are read by the same line and have the same columns; footnotes do not count."""
    reading = msgspec.structs.replace(table.reading, path="", width=0, skip_last=0)
    return reading, tuple(column.name for column in table.columns)


def _told(group: Sequence[_Head], until: float) -> FileShape:
    tables = [head.table for head in group]
    first = tables[0]
    is_typed = monotonic() < until
    kinds = [typed.kind for typed in type_columns(first)] if is_typed else []
    names = [cut(column.name, LONGEST_NAME) for column in first.columns]
    return FileShape(
        reading=first.reading,
        columns=tuple(
            ShapeColumn(name=name, kind=kinds[at] if is_typed else "unknown") for at, name in enumerate(names)
        ),
        files=tuple(table.reading.path for table in tables),
        rows=sum(table.rows for table in tables),
        is_counted=all(table.is_counted for table in tables),
        bytes=sum(table.bytes for table in tables),
        spoken=tuple(sorted(frozenset[str]().union(*(head.spoken.values for head in group)))),
    )
