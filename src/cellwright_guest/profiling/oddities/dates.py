"""Oddities of dates: placeholders such as 1900-01-01, days far from all others, births to come, ends before starts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Final

import numpy as np

from cellwright_guest.profiling.distributions import iso
from cellwright_guest.profiling.meanings import words_of
from cellwright_guest.profiling.oddities.numbers import NumberCounts, told_sentinels
from cellwright_guest.profiling.records import Oddity
from cellwright_guest.profiling.typed_column import Mask, TypedColumn
from cellwright_guest.profiling.wording import counted, listed, named

_DAY: Final = 86400.0
_YEAR: Final = 365.25 * _DAY
_SENTINELS: Final = frozenset({
    "1900-01-01", "1970-01-01", "1899-12-30", "1899-12-31", "1753-01-01", "0001-01-01", "1800-01-01", "1901-01-01",
    "9999-12-31", "2999-12-31", "2099-12-31", "2099-01-01", "9999-01-01", "3000-01-01", "2262-04-11", "1111-11-11",
})  # fmt: skip
_BIRTH_WORDS: Final = frozenset(
    {"birth", "birthday", "birthdate", "dob", "born", "geburt", "geburtsdatum", "geburtstag"}
)
_START_WORDS: Final = frozenset({
    "start", "begin", "begins", "from", "checkin", "admission", "admitted", "opened", "ordered", "order", "created",
    "departure", "beginn", "von", "pickup", "hired", "started",
})  # fmt: skip
_END_WORDS: Final = frozenset({
    "end", "ends", "finish", "finished", "to", "until", "checkout", "discharge", "discharged", "closed", "shipped",
    "shipping", "ship", "delivery", "delivered", "arrival", "ende", "bis", "dropoff", "returned", "ended", "completed",
})  # fmt: skip
_MOST_LATE: Final = 0.2


def odd_dates(typed: TypedColumn, ignored: Mask, today: date) -> list[Oddity]:
    """Everything odd about the dates of one column."""
    moments = NumberCounts.of(typed, ignored)
    if len(moments.values) < 3:
        return []
    gone = _sentinels(moments)
    found = told_sentinels(typed, moments, gone, "dates", _day)[:4]
    rest = moments.without(gone)
    return found + _far_off(typed, rest) + _births(typed, rest, today)


def _sentinels(moments: NumberCounts) -> Mask:
    gone = np.zeros(len(moments.values), bool)
    for index in (0, 1, 2, -3, -2, -1):
        gone[index] = _day(moments.values[index]) in _SENTINELS and moments.counts[index] >= 2
    rest = moments.values[~gone]
    if len(rest) < 2:
        return np.zeros_like(gone)
    span, least, greatest = rest[-1] - rest[0], rest[0], rest[-1]
    distance = np.maximum(least - moments.values, moments.values - greatest)
    return gone & (distance > np.maximum(0.2 * span, 2 * _YEAR))


def _day(seconds: float) -> str:
    return iso(seconds, has_times=False)


def _far_off(typed: TypedColumn, moments: NumberCounts) -> list[Oddity]:
    """Few dates that lie decades from all others: most often a slip of the keyboard."""
    if moments.total() < 20 or len(moments.values) < 5:
        return []
    low, high = moments.quantiles(0.02, 0.98)
    span = max(high - low, _YEAR)
    far = (moments.values < low - max(span, 30 * _YEAR)) | (moments.values > high + max(span, 30 * _YEAR))
    count = int(moments.counts[far].sum())
    if not count or count > max(3, 0.02 * moments.total()):
        return []
    usual = moments.values[~far]
    why = f"decades from all others ({_day(usual[0])} to {_day(usual[-1])})"
    return [_impossible(typed, moments, far, why)]


def _births(typed: TypedColumn, moments: NumberCounts, today: date) -> list[Oddity]:
    if not set(words_of(typed.name)) & _BIRTH_WORDS:
        return []
    now = float(np.datetime64(today, "s").astype(np.int64))
    wrong = (moments.values > now) | (moments.values < now - 125 * _YEAR)
    count = int(moments.counts[wrong].sum())
    if not count or count > 0.2 * moments.total():
        return []
    return [_impossible(typed, moments, wrong, "in the future, or so long ago that nobody lives")]


def _impossible(typed: TypedColumn, moments: NumberCounts, wrong: Mask, why: str) -> Oddity:
    codes = typed.codes_of(moments.values[wrong])
    count = int(moments.counts[wrong].sum())
    texts = typed.some_texts(codes, 40)
    says = f"{named(typed.name)} holds dates {why}, in {counted(count, 'row')}: {listed(texts)}."
    return typed.oddity("impossible-dates", says, count, texts=texts, codes=codes, severity="problem")


def ends_before_starts(columns: Sequence[TypedColumn], ignored: Mask) -> list[Oddity]:
    """Pairs of columns, a start and an end by their names, whose order is wrong in a few rows."""
    dates = [column for column in columns if column.kind in ("date", "datetime")][:12]
    found: list[Oddity] = []
    for start in dates:
        for end in dates:
            if start is not end and _are_start_and_end(start.name, end.name):
                found += _wrong_order(start, end, ignored)
    return found


def _are_start_and_end(start: str, end: str) -> bool:
    first, second = set(words_of(start)), set(words_of(end))
    return (
        bool(first & _START_WORDS) and bool(second & _END_WORDS) and not (first & _END_WORDS or second & _START_WORDS)
    )


def _wrong_order(start: TypedColumn, end: TypedColumn, ignored: Mask) -> list[Oddity]:
    first, second = start.row_values(), end.row_values()
    if start.kind != end.kind:
        first, second = np.floor(first / _DAY), np.floor(second / _DAY)
    known = np.isfinite(first) & np.isfinite(second) & ~ignored
    rows = np.flatnonzero(known & (second < first))
    if not len(rows) or len(rows) > _MOST_LATE * int(known.sum()):
        return []
    says = f"{named(end.name)} lies before {named(start.name)} in {counted(len(rows), 'row')}."
    shown = [f"{start.text(start.codes[row])} → {end.text(end.codes[row])}" for row in rows[:3]]
    return [end.oddity("impossible-dates", says, len(rows), examples=shown, rows=rows, severity="problem")]
