"""Dates out of text: which ways of writing occur, which is day and which is month, what no calendar has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from cellwright_guest.profiling.numbers import as_mask
from cellwright_guest.profiling.typed_column import Codes, Floats, Mask, compute, encode, spread

_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_TOKENS: Final = {
    **dict.fromkeys(_MONTHS, "%B"),
    **{month[:3]: "%b" for month in _MONTHS},
    **dict.fromkeys(_DAYS, "%A"),
    **{day[:3]: "%a" for day in _DAYS},
    **dict.fromkeys(("am", "pm"), "%p"),
}
_LONGEST: Final = 40
_LONGEST_CLOCK: Final = 29
_MOST_SHAPES: Final = 400
_MOST_FORMATS: Final = 8
_TIME: Final = re.compile(
    r"(?P<join>T| +)99?:99(?P<seconds>:99(?P<fraction>\.9{1,9})?)?(?P<half> ?%p)?(?P<zone> ?(?:%z|UTC|GMT))?$"
)
_CLOCK: Final = re.compile(r"99?:99(?P<seconds>:99(?P<fraction>\.9{1,9})?)?(?P<half> ?%p)?$")
_DATES: Final[tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]] = tuple(
    (re.compile(pattern + "$"), formats)
    for pattern, formats in (
        (r"9999(?P<s>[-/.])99?(?P=s)99?", ("%Y{s}%m{s}%d",)),
        (r"99?(?P<s>[-/.])99?(?P=s)9999", ("%d{s}%m{s}%Y", "%m{s}%d{s}%Y")),
        (r"99?(?P<s>[/.])99?(?P=s)99", ("%d{s}%m{s}%y", "%m{s}%d{s}%y")),
        (r"99999999", ("%Y%m%d",)),
        (r"9999(?P<s>[-/])99", ("%Y{s}%m",)),
        (r"99(?P<s>[-/])9999", ("%m{s}%Y",)),
        (r"99?(?P<s>-|/| |\. )(?P<m>%[bB])(?P<t>-|/|,? )9999", ("%d{s}{m}{t}%Y",)),
        (r"99?(?P<s>-|/| )(?P<m>%[bB])(?P=s)99", ("%d{s}{m}{s}%y",)),
        (r"(?P<m>%[bB])(?P<s> |-)99?(?P<t>, | |-|,)9999", ("{m}{s}%d{t}%Y",)),
        (r"(?P<m>%[bB])(?P<s> |-|/)9999", ("{m}{s}%Y",)),
        (r"9999(?P<s>-|/| )(?P<m>%[bB])(?P=s)99?", ("%Y{s}{m}{s}%d",)),
    )
)  # fmt: skip


@dataclass(slots=True, kw_only=True)
class DateText:
    """Texts read as dates, one way of writing after the other."""

    seconds: Floats
    """Since 1970; not-a-number where the text is no date."""
    looks: Mask
    """It is written like a date of this column; if `seconds` has none, no calendar has that day."""
    counts: dict[str, int] = field(default_factory=dict[str, int])
    """`strptime` formats with the rows they read."""
    has_times: bool = False
    ambiguity: str = ""
    """Why day and month may be confused, and which reading was taken; empty: they cannot be."""
    is_contradictory: bool = False
    """Both readings of day and month occur for certain."""

    @property
    def formats(self) -> tuple[tuple[str, int], ...]:
        """`strptime` formats with the rows they read, the commonest first."""
        return tuple(sorted(self.counts.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST_FORMATS])

    def keep(self, form: str, mask: Mask, seconds: Floats, counts: Codes) -> None:
        """What one format makes of the texts of the mask."""
        self.seconds[mask] = seconds
        if read := int(counts[mask][~np.isnan(seconds)].sum()):
            self.counts[form] = self.counts.get(form, 0) + read


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """One way of writing, of one width of digits."""

    formats: tuple[str, ...]
    """One, or day first and month first."""
    has_time: bool


def read_dates(texts: Any, counts: Codes, *, is_day_first: bool | None = None) -> DateText | None:
    """The texts (trimmed, a pyarrow array) as dates; None where hardly any is one."""
    # A cheap look at a few before all are taken apart.
    shapes = [_shape_of(text) for text in _nines(texts.take(pa.array(spread(len(texts), 200))), _LONGEST).to_pylist()]
    if sum(shape is not None for shape in shapes) * 4 < len(shapes):
        return None
    if (alike := _read_alike(texts, counts, shapes)) is not None:
        return alike
    written, distinct = encode(_nines(texts, _LONGEST))
    if len(distinct) > _MOST_SHAPES:
        return None
    groups: dict[_Shape, list[int]] = {}
    for code, text in enumerate(distinct.to_pylist()):
        if (shape := _shape_of(text)) is not None:
            groups.setdefault(shape, []).append(code)
    found = DateText(seconds=np.full(len(texts), np.nan), looks=np.zeros(len(texts), bool))
    for shape, codes in groups.items():
        _read_shape(found, shape, np.isin(written, codes), texts, counts, is_day_first)
    return found if found.counts else None


def read_clock(texts: Any) -> Floats:
    """Times of day in seconds since midnight; not-a-number where a text is none, or hardly any is one."""
    seconds = np.full(len(texts), np.nan)
    some = _nines(texts.take(pa.array(spread(len(texts), 100))), _LONGEST_CLOCK).to_pylist()
    if sum(_CLOCK.match(_with_words(text)) is not None for text in some) * 2 < len(some):
        return seconds
    written, distinct = encode(_nines(texts, _LONGEST_CLOCK))
    tokens = [_CLOCK.match(_with_words(text)) for text in distinct.to_pylist()] if len(distinct) <= 24 else []
    for code, token in enumerate(tokens):
        if token is not None:
            of_shape = written == code
            seconds[of_shape] = _parse(texts.filter(pa.array(of_shape)), _clock_format(token)) % 86400
    return seconds


def _nines(texts: Any, longest: int) -> Any:
    """The beginnings of texts, by one sign longer than any of use, with each digit as a 9."""
    return compute.replace_substring_regex(compute.utf8_slice_codeunits(texts, 0, longest + 1), "[0-9]", "9")


def _read_alike(texts: Any, counts: Codes, shapes: Sequence[_Shape | None]) -> DateText | None:
    """The short way, where one format reads every text; None: it does not."""
    shape = shapes[0] if len(set(shapes)) == 1 else None
    if shape is None or len(shape.formats) != 1:
        return None
    (form,) = shape.formats
    seconds = _parse(texts, form)
    if np.isnan(seconds).any():
        return None
    looks = np.ones(len(texts), bool)
    return DateText(seconds=seconds, looks=looks, counts={form: int(counts.sum())}, has_times=shape.has_time)


def _with_words(shape: str) -> str:
    """Names of months as `%b` or `%B`, halves of the day as `%p`, zones as `%z`; names of days as `%a` or `%A`."""
    named = re.sub(r"(?<=\d)Z$", "%z", re.sub(r"( ?)[+-]99:?99$", r"\1%z", shape) if ":" in shape else shape)
    return re.sub(r"(?<![%A-Za-z])[A-Za-z]+", lambda match: _TOKENS.get(match[0].lower(), match[0]), named)


def _shape_of(text: str) -> _Shape | None:
    if len(text) > _LONGEST or not text or "9" not in text:
        return None
    shape = _with_words(text)
    weekday = re.match(r"%[aA],? ", shape)
    lead = weekday[0] if weekday else ""
    rest = shape[len(lead) :]
    time = _TIME.search(rest)
    day = rest[: time.start()] if time else rest
    for pattern, formats in _DATES:
        match = pattern.match(day)
        if match:
            tail = time["join"] + _clock_format(time) + (time["zone"] or "") if time else ""
            written = tuple(lead + form.format(**match.groupdict()) + tail for form in formats)
            return _Shape(formats=written, has_time=time is not None)
    return None


def _clock_format(match: re.Match[str]) -> str:
    hours = "%I:%M" if match["half"] else "%H:%M"
    return hours + (":%S" if match["seconds"] else "") + (".%f" if match["fraction"] else "") + (match["half"] or "")


def _parse(texts: Any, form: str) -> Floats:
    """Seconds since 1970 by one format; not-a-number where it does not fit."""
    series = pd.Series(texts.to_pylist(), dtype=object)
    parsed = pd.to_datetime(series, format=form, errors="coerce", utc=True).dt.tz_localize(None)
    moments = parsed.to_numpy().astype("datetime64[us]")
    return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / 1e6)


def _read_shape(
    found: DateText, shape: _Shape, mask: Mask, all_texts: Any, counts: Codes, is_day_first: bool | None
) -> None:
    """All texts of one shape."""
    texts = all_texts.filter(pa.array(mask))
    found.looks |= mask
    found.has_times |= shape.has_time
    readings = [_parse(texts, form) for form in shape.formats]
    if len(readings) == 1:
        found.keep(shape.formats[0], mask, readings[0], counts)
        return
    is_first, why = _which_first(shape, texts, readings[0], readings[1], is_day_first)
    best, other = (0, 1) if is_first else (1, 0)
    found.keep(shape.formats[best], mask, readings[best], counts)
    left = np.isnan(readings[best]) & ~np.isnan(readings[other])
    if left.any():
        found.is_contradictory = True
        remaining = np.zeros(len(mask), bool)
        remaining[np.flatnonzero(mask)[left]] = True
        found.keep(shape.formats[other], remaining, readings[other][left], counts)
    found.ambiguity = found.ambiguity or why


def _which_first(
    shape: _Shape, texts: Any, day_first: Floats, month_first: Floats, is_day_first: bool | None
) -> tuple[bool, str]:
    """Day first or not, and why where every value could be both; deterministic."""
    only_day = int((np.isnan(month_first) & ~np.isnan(day_first)).sum())
    only_month = int((np.isnan(day_first) & ~np.isnan(month_first)).sum())
    if only_day and only_month:
        words = "day first" if only_day >= only_month else "month first"
        why = f"some can only be read day first and some only month first; the others were read {words}"
        return only_day >= only_month, why
    if only_day or only_month or "." in shape.formats[0]:
        return not only_month, ""
    if is_day_first is not None:
        words = "day first" if is_day_first else "month first"
        return is_day_first, f"every value could be both; another column of the table settles it: {words}"
    pairs = [re.findall(r"\d+", text)[:2] for text in texts.take(pa.array(spread(len(texts), 500))).to_pylist()]
    first, second = ({int(pair[side]) for pair in pairs} for side in (0, 1))
    if len(pairs) > 2 and first == {1} and len(second) > 1:
        return True, "every value could be both; read day first, as all are then the first of a month"
    if len(pairs) > 2 and second == {1} and len(first) > 1:
        return False, "every value could be both; read month first, as all are then the first of a month"
    in_order = [_is_rising(reading) for reading in (day_first, month_first)]
    if in_order[0] != in_order[1]:
        words = "day first" if in_order[0] else "month first"
        return in_order[0], f"every value could be both; read {words}, as the rows are then in order of time"
    return False, "every value could be both and nothing in the file decides it; read month first, as pandas does"


def _is_rising(seconds: Floats) -> bool:
    known = seconds[~np.isnan(seconds)]
    return len(known) > 2 and bool((np.diff(known) >= 0).all())


def families_of(formats: Sequence[str]) -> tuple[str, ...]:
    """Formats without their times: what makes two ways of writing a date truly different."""
    return tuple(dict.fromkeys(re.split(r"[T ]+%[HI]", form)[0].replace("%B", "%b") for form in formats))


def has_eight_digits(texts: Any) -> Mask:
    """Whether each text is written as eight digits only."""
    return as_mask(compute.match_substring_regex(texts, "^[0-9]{8}$"))
