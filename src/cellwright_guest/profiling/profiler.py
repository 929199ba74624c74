"""Tables and what is between them: the whole profile, from tables as they were read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Final

import msgspec
import numpy as np

from cellwright_guest.profiling.column_relations import find_repeats, missing_together, null_patterns
from cellwright_guest.profiling.columns import StudiedColumn, study
from cellwright_guest.profiling.exact_reading import find_exact_reading
from cellwright_guest.profiling.joins import find_joins, find_keys
from cellwright_guest.profiling.kinds import Hints, type_column
from cellwright_guest.profiling.meanings import words_of
from cellwright_guest.profiling.odd_rows import describe_repeated_headers, find_repeated_headers, find_totals, odd_rows
from cellwright_guest.profiling.oddities.dates import ends_before_starts
from cellwright_guest.profiling.pair_joins import KeyedTable, find_pair_joins
from cellwright_guest.profiling.raw import RawTable
from cellwright_guest.profiling.records import LONGEST_NAME, Oddity, Profile, SkippedFile, TableProfile, Times
from cellwright_guest.profiling.typed_column import TypedColumn
from cellwright_guest.profiling.wording import cut

_SEVERITIES: Final = ("problem", "warning", "note")
_MOST_ODDITIES: Final = 200
_NEARLY_ALL: Final = 0.5
_WHEN_WORDS: Final = frozenset({
    "date", "datum", "time", "timestamp", "day", "tag", "month", "monat", "week", "year", "created", "order", "ordered",
    "sold", "when", "fecha", "invoice", "transaction", "recorded", "measured", "observed",
})  # fmt: skip
_NOT_WHEN_WORDS: Final = frozenset(
    {"birth", "dob", "born", "geburt", "updated", "modified", "end", "expiry", "due", "delivery"}
)


def profile_tables(
    tables: Sequence[RawTable], skipped: Sequence[SkippedFile], notes: Sequence[str], *, today: date | None = None
) -> Profile:
    """What the tables hold, column by column, and how they belong together."""
    now = today or datetime.now(UTC).date()
    # Numbers at the edge of what floats hold are the norm in hostile files: they overflow, and are bounded when told.
    with np.errstate(all="ignore"):
        studied = [_study_table(table, now) for table in tables]
    is_sampled = any(table.sampling for table in tables)
    return Profile(
        tables=tuple(table for table, _ in studied),
        joins=find_joins([(table.name, columns) for table, columns in studied], is_sampled=is_sampled),
        pair_joins=find_pair_joins(
            [KeyedTable(name=table.name, columns=columns, keys=table.keys) for table, columns in studied]
        ),
        skipped=tuple(skipped),
        notes=tuple(notes),
    )


def _study_table(table: RawTable, today: date) -> tuple[TableProfile, list[StudiedColumn]]:
    typed = type_columns(table)
    mixed = {oddity.column for oddity in table.oddities if oddity.kind == "mixed-types"}
    exact = find_exact_reading(typed, is_text=table.reading.format in ("csv", "excel"), mixed=mixed)
    headers = find_repeated_headers(typed)
    totals, oddities = find_totals(typed, ignored=headers, is_sampled=bool(table.sampling))
    ignored = headers | totals
    columns = [study(one, ignored=ignored, position=index, today=today) for index, one in enumerate(typed)]
    patterns = null_patterns(columns, is_sampled=bool(table.sampling))
    if not any(oddity.kind == "repeated-header" for oddity in table.oddities):
        oddities = describe_repeated_headers(headers) + oddities
    oddities += odd_rows(columns, ignored) + ends_before_starts(typed, ignored)
    oddities += [oddity for column in columns for oddity in column.oddities]
    told = TableProfile(
        name=cut(table.name, LONGEST_NAME),
        reading=table.reading,
        rows=table.rows,
        is_counted=table.is_counted,
        looked_at=table.looked_at,
        sampling=table.sampling,
        bytes=table.bytes,
        columns=tuple(
            msgspec.structs.replace(
                one.column,
                null_pattern=cut(patterns.get(one.column.name, ""), 200),
                proof=proof,
                times=_known_times(one.column.times, is_sampled=bool(table.sampling)),
            )
            for one, proof in zip(columns, exact.proofs, strict=True)
        ),
        oddities=_in_order(table, oddities),
        keys=find_keys(columns, ignored),
        repeats=find_repeats(columns, ignored),
        missing_together=missing_together(columns),
        time_column=time_column(columns),
        files=table.files,
        shared=table.shared,
        decimal=exact.decimal,
        thousands=exact.thousands,
    )
    return told, columns


def _known_times(times: Times | None, *, is_sampled: bool) -> Times | None:
    """What is sure of when: rows that a sample passes over are no gaps, and its distances are none of the whole."""
    if times is None or not is_sampled:
        return times
    return msgspec.structs.replace(times, gaps=(), missing_steps=0, interval_seconds=0.0)


def type_columns(table: RawTable) -> list[TypedColumn]:
    """The columns with their kinds; what one makes certain settles what is doubtful in another."""
    typed = [type_column(column) for column in table.columns]
    hints = Hints(
        has_decimal_comma=any(one.conversion.kind == "number" and one.conversion.decimal == "," for one in typed),
        is_day_first=_is_day_first(typed),
    )
    if hints == Hints():
        return typed
    return [
        type_column(raw, hints) if _is_doubtful(one, hints) else one
        for raw, one in zip(table.columns, typed, strict=True)
    ]


def _is_day_first(typed: Sequence[TypedColumn]) -> bool | None:
    """What the certain columns say about 03/04/2024; None: nothing, or not the same."""
    certain = [
        one.conversion.formats[0]
        for one in typed
        if one.conversion.kind == "date" and not any(oddity.kind == "ambiguous-dates" for oddity in one.oddities)
    ]
    orders = {
        form[:2] for form in certain if form[:2] in ("%d", "%m") and ("/" in form or "-" in form) and "%b" not in form
    }
    return orders == {"%d"} if len(orders) == 1 else None


def _is_doubtful(one: TypedColumn, hints: Hints) -> bool:
    if one.conversion.kind == "number" and hints.has_decimal_comma and one.conversion.decimal == ".":
        return one.is_ambiguous
    return hints.is_day_first is not None and any(oddity.kind == "ambiguous-dates" for oddity in one.oddities)


def _in_order(table: RawTable, found: Sequence[Oddity]) -> tuple[Oddity, ...]:
    """The gravest first, names bounded. In a sample the place of a row says nothing about its place in the file."""
    placed = [msgspec.structs.replace(oddity, rows=()) for oddity in found] if table.sampling else found
    oddities = [*table.oddities, *placed]
    named = [msgspec.structs.replace(oddity, column=cut(oddity.column, LONGEST_NAME)) for oddity in oddities]
    return tuple(sorted(named, key=lambda oddity: _SEVERITIES.index(oddity.severity))[:_MOST_ODDITIES])


def time_column(columns: Sequence[StudiedColumn]) -> str:
    """The column that says when a row happened; empty: none does."""
    ranked: list[tuple[int, bool, int, str]] = []
    for found, typed in ((column.column, column.typed) for column in columns):
        words = set(words_of(found.name))
        is_dated = found.kind in ("date", "datetime") and found.distinct > 1
        if is_dated and found.count >= _NEARLY_ALL * len(typed.codes):
            ranked.append((-len(words & _NOT_WHEN_WORDS), bool(words & _WHEN_WORDS), found.count, found.name))
    # Of equals the first.
    best = max(ranked, key=lambda rank: rank[:3])[3] if ranked else ""
    return "" if set(words_of(best)) & {"birth", "dob", "born", "geburt"} else best
