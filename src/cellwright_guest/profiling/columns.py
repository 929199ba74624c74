"""One column: its kind, its meaning, its figures and what is odd about it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final

import msgspec
import numpy as np

from cellwright_guest.profiling.distributions import describe_numbers, describe_texts, describe_times
from cellwright_guest.profiling.meanings import ColumnMeaning, meaning_of
from cellwright_guest.profiling.oddities.dates import odd_dates
from cellwright_guest.profiling.oddities.labels import odd_labels
from cellwright_guest.profiling.oddities.numbers import odd_numbers
from cellwright_guest.profiling.records import LONGEST_NAME, ColumnProfile, Oddity, Texts, ValueCount
from cellwright_guest.profiling.typed_column import Codes, Mask, TypedColumn
from cellwright_guest.profiling.wording import counted, cut, named, percent, quoted

_COMMON: Final = 60
_EXAMPLES: Final = 5
_MOSTLY: Final = 0.5
_FEW_WORDS: Final = 4.0
_OF_ALL_VALUES: Final = frozenset({"decimal-comma", "currency-text", "percent-text", "numbers-as-text"})


@dataclass(slots=True, kw_only=True)
class StudiedColumn:
    """A column as it will be told, with the values it was found from."""

    column: ColumnProfile
    typed: TypedColumn
    oddities: list[Oddity]


def study(typed: TypedColumn, *, ignored: Mask, position: int, today: date) -> StudiedColumn:
    """Everything that one column tells by itself. Rows that are ignored (totals, headers) make no oddity."""
    counts = typed.counts()
    texts = describe_texts(typed.texts, counts) if typed.kind == "text" else None
    meant = meaning_of(typed, counts=counts, texts=texts, position=position)
    count = int(counts.sum())
    is_dated = typed.kind in ("date", "datetime")
    rows = typed.row_values() if typed.values is not None and typed.kind not in ("empty", "boolean") else None
    there = np.flatnonzero(counts)
    indices = there[:: max(len(there) // _EXAMPLES, 1)][:_EXAMPLES]
    column = ColumnProfile(
        name=cut(typed.name, LONGEST_NAME),
        kind=typed.kind,
        meaning=meant.meaning,
        meaning_why=meant.why,
        conversion=typed.conversion,
        count=count,
        nulls=len(typed.codes) - count,
        distinct=int((counts > 0).sum()),
        is_unique=count > 1 and int(counts.max()) == 1 and typed.kind != "nested",
        unit=meant.unit,
        numbers=describe_numbers(rows) if rows is not None else None,
        texts=texts,
        times=describe_times(rows, has_times=typed.kind == "datetime") if rows is not None and is_dated else None,
        common=_common(typed, counts),
        examples=tuple(cut(text) for text in typed.some_texts(indices, _EXAMPLES)),
    )
    return StudiedColumn(column=column, typed=typed, oddities=_oddities(typed, meant, texts, ignored, today))


def _common(typed: TypedColumn, counts: Codes) -> tuple[ValueCount, ...]:
    if typed.kind == "nested" or not len(counts) or counts.max() < 2:
        return ()
    most = min(_COMMON, len(counts))
    some = np.argpartition(-counts, most - 1)[:most] if len(counts) > most else np.arange(len(counts))
    order = some[np.lexsort((some, -counts[some]))]
    return tuple(ValueCount(value=cut(typed.text(code)), count=int(counts[code])) for code in order if counts[code])


def _oddities(
    typed: TypedColumn, meant: ColumnMeaning, texts: Texts | None, ignored: Mask, today: date
) -> list[Oddity]:
    found = _of_writing(typed, ignored) + _emptiness(typed, meant)
    if typed.kind in ("integer", "number"):
        is_quantity = meant.meaning in ("measure", "currency", "category", "date")
        found += odd_numbers(typed, ignored, is_quantity=is_quantity)
    if typed.kind in ("date", "datetime"):
        found += odd_dates(typed, ignored, today)
    if typed.kind == "text":
        is_short = meant.meaning == "text" and texts is not None and texts.mean_words <= _FEW_WORDS
        found += odd_labels(typed, is_category=meant.meaning == "category", is_short=is_short)
    return found


def _of_writing(typed: TypedColumn, ignored: Mask) -> list[Oddity]:
    """What was noticed while the kind was found out, with rows that are ignored not counted."""
    if not ignored.any() or typed.values is None:
        return list(typed.oddities)
    count = int(np.isfinite(typed.row_values()[~ignored]).sum())
    return [
        msgspec.structs.replace(oddity, count=count) if oddity.kind in _OF_ALL_VALUES else oddity
        for oddity in typed.oddities
    ]


def _emptiness(typed: TypedColumn, meant: ColumnMeaning) -> list[Oddity]:
    rows = len(typed.codes)
    nulls = int(typed.is_null().sum())
    if rows and nulls == rows:
        says = f"{named(typed.name)} is empty in all {counted(rows, 'row')}."
        return [typed.oddity("all-null", says, nulls)]
    found: list[Oddity] = []
    if rows >= 5 and nulls > _MOSTLY * rows:
        says = f"{named(typed.name)} is empty in {percent(nulls, rows)} of the rows ({nulls:,} of {rows:,})."
        found.append(typed.oddity("mostly-null", says, nulls))
    if meant.meaning == "constant":
        value = typed.text(int(typed.counts().argmax()))
        says = f"{named(typed.name)} is {quoted(value)} wherever it has a value."
        found.append(typed.oddity("constant", says, rows - nulls, severity="note"))
    return found
