"""Which kind a column's values are, and how its text becomes them. Each different text is read once.

Some words always stand where a value is missing, some only among values of another kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from cellwright_guest.profiling.dates import DateText, has_eight_digits, read_clock, read_dates
from cellwright_guest.profiling.numbers import NumberText, as_mask, read_numbers
from cellwright_guest.profiling.odd_rows import TOTAL_WORDS
from cellwright_guest.profiling.oddities import notation as writing
from cellwright_guest.profiling.raw import RawColumn
from cellwright_guest.profiling.records import Conversion, Kind
from cellwright_guest.profiling.typed_column import NULL, Codes, Floats, Mask, TypedColumn, compute, count_codes, encode

ALWAYS: Final = frozenset({
    "", "n/a", "n.a.", "#n/a", "#na", "#null!", "#div/0!", "#value!", "#ref!", "#name?", "null", "<na>", "<null>",
    "nan", "-", "--", "---", "–", "—", "?", "??", "???", "(blank)", "k.a.", "k. a.", "keine angabe", "n/d",
    "s/d", "\\n",
})  # fmt: skip
"""Nobody means anything else by them."""
AMONG_OTHERS: Final = ALWAYS | frozenset({
    "na", "none", "nil", "nat", "unknown", "unbekannt", "inconnu", "desconocido", "missing", "not available",
    "not known", "not applicable", "tbd", "tba", "undefined", ".", "..", "...", "*", "**", "x", "empty", "leer",
    "ohne", "pending",
})  # fmt: skip
"""Among numbers or dates these are no values either."""


def _are_words(trimmed: Any, words: frozenset[str]) -> Mask:
    """Which of the texts (trimmed, a pyarrow array) are these words, in whatever case."""
    return as_mask(compute.is_in(compute.utf8_lower(trimmed), value_set=pa.array(sorted(words), trimmed.type)))


_ENOUGH: Final = 0.95
_LONGEST_READ: Final = 400
_TRUE: Final = frozenset({"yes", "y", "true", "t", "ja", "j", "oui", "si", "sí", "on", "wahr", "vrai", "sim"})
_FALSE: Final = frozenset({"no", "n", "false", "f", "nein", "non", "off", "falsch", "faux", "não"})
_MOST_EXACT: Final = 2.0**53
_FIRST_DAY, _LAST_DAY = -2_208_988_800.0, 4_102_444_800.0
"""1900 and 2100: eight digits within are taken for a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What other columns of the table say about how this one is to be read."""

    has_decimal_comma: bool = False
    is_day_first: bool | None = None


def type_column(column: RawColumn, hints: Hints = Hints()) -> TypedColumn:  # noqa: B008
    """The column with its kind, its conversion and its values."""
    kind = column.values.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_null(kind):
        return TypedColumn(
            name=column.name, kind="empty", codes=np.full(len(column.values), NULL), texts=pa.array([], "string")
        )
    if pa.types.is_nested(kind) or _is_binary(kind):
        return _nested(column)
    if not _is_supported(kind):
        return _from_text(column, *encode(column.values.cast(pa.string())), hints)
    codes, distinct = encode(column.values)
    if pa.types.is_string(distinct.type) or pa.types.is_large_string(distinct.type):
        return _from_text(column, codes, distinct, hints)
    return _from_values(column, codes, distinct)


def _is_binary(kind: Any) -> bool:
    tests = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)
    return any(test(kind) for test in tests) and not pa.types.is_decimal(kind)


def _is_supported(kind: Any) -> bool:
    tests = (
        pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_integer,
        pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_temporal,
    )  # fmt: skip
    return any(test(kind) for test in tests) and not pa.types.is_interval(kind)


# ── columns that have a type already ──


def _nested(column: RawColumn) -> TypedColumn:
    is_there = as_mask(compute.is_valid(column.values))
    indices = np.flatnonzero(is_there)[:20]
    shown = [str(column.values[int(index)].as_py())[:200] for index in indices]
    codes = np.where(is_there, len(shown), NULL).astype(np.int64)
    codes[indices] = np.arange(len(shown))
    return TypedColumn(name=column.name, kind="nested", codes=codes, texts=pa.array([*shown, "…"], pa.string()))


def _from_values(column: RawColumn, codes: Codes, distinct: Any) -> TypedColumn:
    kind, values = _values_of(distinct)
    missing = np.flatnonzero(np.isnan(values))
    if len(missing):
        codes = np.where(np.isin(codes, missing), NULL, codes)
    found: Kind = "empty" if (codes == NULL).all() else kind
    unit = "s" if pa.types.is_duration(distinct.type) else ""
    return TypedColumn(
        name=column.name, kind=found, codes=codes, texts=_written(distinct, kind, values), values=values, unit=unit
    )


def _values_of(distinct: Any) -> tuple[Kind, Floats]:
    kind = distinct.type
    if pa.types.is_boolean(kind):
        return "boolean", compute.cast(distinct, pa.uint8()).to_numpy(zero_copy_only=False).astype(float)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        moments = compute.cast(distinct, pa.timestamp("us"), safe=False).to_numpy(zero_copy_only=False)
        seconds = moments.astype("datetime64[us]").astype(np.int64) / 1e6
        has_times = pa.types.is_timestamp(kind) and bool((seconds % 86400 != 0).any())
        return "datetime" if has_times else "date", np.where(np.isnat(moments), np.nan, seconds)
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        units = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
        ticks = compute.cast(distinct, pa.int32() if kind.bit_width == 32 else pa.int64())
        seconds = ticks.to_numpy(zero_copy_only=False).astype(float) / units[kind.unit]
        return "time" if pa.types.is_time(kind) else "number", seconds
    values = compute.cast(distinct, pa.float64(), safe=False).to_numpy(zero_copy_only=False).astype(float)
    return "integer" if pa.types.is_integer(kind) else "number", values


def _written(distinct: Any, kind: Kind, values: Floats) -> Any:
    """Values as text, each different one differently."""
    if kind == "number":
        whole = np.isfinite(values) & (values == np.floor(values)) & (np.abs(values) < 1e15)
        if whole.all():
            return compute.cast(pa.array(values.astype(np.int64)), pa.string())
    if pa.types.is_timestamp(distinct.type) and kind == "date":
        distinct = compute.cast(distinct, pa.date32(), safe=False)
    return compute.cast(distinct, pa.string(), safe=False)


# ── columns of text ──


@dataclass(slots=True, kw_only=True)
class _TextColumn:
    """A column of text on its way to a kind."""

    column: RawColumn
    codes: Codes
    distinct: Any
    trimmed: Any
    counts: Codes
    exempt: Mask
    """Labels of total rows and repeated headers: they say nothing about the kind."""
    nothing: Mask
    """What stands for nothing among values of another kind."""
    kept: Codes
    """Where the others are."""

    def typed(self, kind: Kind, *, nothing: Mask | None = None, **more: Any) -> TypedColumn:
        """The answer; what stands for nothing becomes nothing."""
        gone = self.nothing if nothing is None else nothing
        result = TypedColumn(
            name=self.column.name,
            kind=kind,
            codes=np.where(np.append(gone, False)[self.codes], NULL, self.codes) if gone.any() else self.codes,
            texts=self.distinct,
            is_text_format=self.column.is_text_format,
            is_stored_as_text=True,
            **more,
        )
        result.oddities += writing.placeholders(result, self.counts, gone)
        return result

    def of_all(self, of_kept: Any, otherwise: float | bool) -> Any:
        """For each different text what was made out of those kept."""
        every = np.full(len(self.nothing), otherwise)
        every[self.kept] = of_kept
        return every

    def is_enough(self, fits: Mask) -> bool:
        """Whether so many fit that the column is of a kind."""
        judged = ~self.nothing & ~self.exempt
        fitting, all_there = int(self.counts[fits & judged].sum()), int(self.counts[judged].sum())
        return fitting > 0 and (fitting >= _ENOUGH * all_there or (fitting >= 4 and all_there - fitting <= 1))

    def unfit(self, fits: Mask) -> Codes:
        """Those that do not fit, though they should."""
        return np.flatnonzero(~fits & ~self.nothing & ~self.exempt)


def _from_text(column: RawColumn, codes: Codes, distinct: Any, hints: Hints) -> TypedColumn:
    trimmed = compute.utf8_trim_whitespace(_heads(distinct))
    nothing = _are_words(trimmed, AMONG_OTHERS)
    text = _TextColumn(
        column=column,
        codes=codes,
        distinct=distinct,
        trimmed=trimmed,
        counts=count_codes(codes, len(distinct)),
        exempt=_are_words(trimmed, TOTAL_WORDS | {column.name.strip().lower()}),
        nothing=nothing,
        kept=np.flatnonzero(~nothing),
    )
    if nothing.all():
        words = nothing if _are_words(trimmed, ALWAYS).all() else np.zeros_like(nothing)
        return text.typed("empty" if words.all() else "text", nothing=words)
    if (found := _boolean(text)) is not None:
        return found
    # Newer pandas writes large strings, which Arrow joins with no others; beginnings are short enough for plain ones.
    kept_texts = trimmed.take(pa.array(text.kept)).cast(pa.string())
    kept_counts = text.counts[text.kept]
    numbers = read_numbers(kept_texts, kept_counts, has_decimal_comma=hints.has_decimal_comma)
    if numbers is not None and (found := _number(text, kept_texts, numbers)) is not None:
        return found
    dates = read_dates(kept_texts, kept_counts, is_day_first=hints.is_day_first)
    if dates is not None and text.is_enough(text.of_all(dates.looks, False)) and np.isfinite(dates.seconds).any():
        return _dated(text, dates)
    return _clock(text, kept_texts) or _words(text, numbers, dates)


def _heads(texts: Any) -> Any:
    """Beginnings long enough to tell numbers, dates and null words from everything else."""
    lengths = compute.binary_length(texts)
    is_long = len(texts) and compute.max(lengths).as_py() > _LONGEST_READ
    return compute.utf8_slice_codeunits(texts, 0, _LONGEST_READ) if is_long else texts


def _boolean(text: _TextColumn) -> TypedColumn | None:
    if len(text.trimmed) > 40:
        return None
    words = [str(word) for word in text.trimmed.to_pylist()]
    told = [word for word, skip in zip(words, text.nothing | text.exempt, strict=True) if not skip]
    true = [word for word in told if word.lower() in _TRUE]
    false = [word for word in told if word.lower() in _FALSE]
    if len(true) + len(false) != len(told) or not true or not false:
        return None
    values = np.array([1.0 if word in true else 0.0 if word in false else np.nan for word in words])
    conversion = Conversion(kind="boolean", true_words=tuple(true), false_words=tuple(false))
    return text.typed("boolean", values=values, conversion=conversion)


def _number(text: _TextColumn, texts: Any, read: NumberText) -> TypedColumn | None:
    fits, values = text.of_all(read.fits, False), text.of_all(read.values, np.nan)
    if not text.is_enough(fits):
        return None
    if (day := _eight_digits(text, texts)) is not None:
        return day
    if not read.has_decimals and _has_leading_zeros(text, fits):
        result = text.typed("text", nothing=_are_words(text.trimmed, ALWAYS), has_leading_zeros=True)
        result.oddities += writing.leading_zeros(result)
        return result
    finite = values[np.isfinite(values)]
    is_whole = not read.has_decimals and bool((finite == np.floor(finite)).all())
    is_integer = is_whole and bool((np.abs(finite) < _MOST_EXACT).all()) and read.conversion.scale == 1.0
    result = text.typed(
        "integer" if is_integer else "number",
        values=values,
        conversion=read.conversion,
        unit=read.unit,
        is_ambiguous=read.is_ambiguous,
        is_plain=read.is_plain,
        unfit=text.unfit(fits),
    )
    result.oddities += writing.of_numbers(result, read) + writing.mixed_types(result, "numbers")
    return result


def _has_leading_zeros(text: _TextColumn, fits: Mask) -> bool:
    zeros = as_mask(compute.match_substring_regex(text.trimmed, "^0[0-9]+$")) & fits
    return int(zeros.sum()) * 100 >= max(int(fits.sum()), 1) and bool(zeros.any())


def _eight_digits(text: _TextColumn, texts: Any) -> TypedColumn | None:
    """`20240131` in each row is a day, though it is a number as well."""
    judged = ~text.exempt[text.kept]
    if int(judged.sum()) < 3 or not has_eight_digits(texts)[judged].all():
        return None
    read = read_dates(texts, text.counts[text.kept])
    if read is None or not ((read.seconds > _FIRST_DAY) & (read.seconds < _LAST_DAY))[judged].all():
        return None
    return _dated(text, read)


def _dated(text: _TextColumn, read: DateText) -> TypedColumn:
    seconds, looks = text.of_all(read.seconds, np.nan), text.of_all(read.looks, False)
    result = text.typed(
        "datetime" if read.has_times else "date",
        values=seconds,
        conversion=Conversion(kind="date", formats=tuple(form for form, _ in read.formats)),
        unfit=text.unfit(looks),
        impossible=np.flatnonzero(looks & np.isnan(seconds)),
    )
    result.oddities += writing.of_dates(result, read) + writing.mixed_types(result, "dates")
    return result


def _clock(text: _TextColumn, texts: Any) -> TypedColumn | None:
    seconds = text.of_all(read_clock(texts), np.nan)
    if not text.is_enough(np.isfinite(seconds)):
        return None
    return text.typed("time", values=seconds, unfit=np.flatnonzero(np.isnan(seconds) & ~text.nothing))


def _words(text: _TextColumn, numbers: NumberText | None, dates: DateText | None) -> TypedColumn:
    result = text.typed("text", nothing=_are_words(text.trimmed, ALWAYS))
    if numbers is not None:
        result.oddities += writing.partly(result, text.kept[numbers.fits], "numbers")
    if dates is not None:
        result.oddities += writing.partly(result, text.kept[dates.looks], "dates")
    return result
