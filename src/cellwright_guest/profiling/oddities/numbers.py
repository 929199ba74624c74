"""Oddities of numbers: sentinels, infinities, outliers, wrong signs, skew."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from cellwright_guest.profiling.distributions import skew_of
from cellwright_guest.profiling.meanings import words_of
from cellwright_guest.profiling.records import Oddity
from cellwright_guest.profiling.typed_column import Codes, Floats, Mask, TypedColumn, count_codes
from cellwright_guest.profiling.wording import counted, figure, listed, named, percent

_SENTINELS: Final = frozenset({
    -1.0, -9.0, -99.0, -999.0, -9999.0, -99999.0, -999999.0, -8.0, -88.0, -888.0, -77.0, 88.0, 99.0, 999.0, 9999.0,
    99999.0, 999999.0, 9999999.0, 99999999.0, 999999999.0, 888.0, 8888.0, 777.0, 7777.0, 99.9, 999.9, 9999.9, 999.99,
    9999.99, -99.9, -999.9, -999.25, 32767.0, -32768.0, 65535.0, 2147483647.0, -2147483648.0, 1e20, -1e20, 1e30, -1e30,
})  # fmt: skip
_POSITIVE_WORDS: Final = frozenset({
    "age", "alter", "weight", "gewicht", "height", "length", "width", "depth", "quantity", "qty", "menge", "anzahl",
    "count", "price", "preis", "duration", "dauer", "distance", "entfernung", "salary", "gehalt", "population", "area",
    "volume", "size", "mass", "speed", "visitors", "units", "stock", "views",
    "clicks", "minutes", "hours", "seats", "rooms",
})  # fmt: skip
_LEAST_SCORE: Final = 3.5
_FALSE_ALARMS: Final = 1e-4
"""False alarm rate for a whole column of clean, normally distributed values."""
_EXAMPLES: Final = 5
_NORMAL: Final = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberCounts:
    """The finite numbers of a column with how often each occurs, in order."""

    values: Floats
    counts: Codes

    @staticmethod
    def of(typed: TypedColumn, ignored: Mask) -> NumberCounts:
        """Those of the rows that are not ignored."""
        assert typed.values is not None
        counts = count_codes(typed.codes[~ignored], len(typed.texts))
        there = np.flatnonzero((counts > 0) & np.isfinite(typed.values))
        order = there[np.argsort(typed.values[there], kind="stable")]
        values, starts = np.unique(typed.values[order], return_index=True)
        summed = np.add.reduceat(counts[order], starts) if len(order) else np.empty(0, np.int64)
        return NumberCounts(values=values, counts=summed.astype(np.int64))

    def total(self) -> int:
        """Values, repeats included."""
        return int(self.counts.sum())

    def without(self, gone: Mask) -> NumberCounts:
        """The rest."""
        return NumberCounts(values=self.values[~gone], counts=self.counts[~gone])

    def quantiles(self, *shares: float) -> list[float]:
        """Values below which such a part lies."""
        indices = np.searchsorted(np.cumsum(self.counts), np.array(shares) * self.total(), side="left")
        return [float(self.values[min(index, len(self.values) - 1)]) for index in indices]


def odd_numbers(typed: TypedColumn, ignored: Mask, *, is_quantity: bool) -> list[Oddity]:
    """Everything odd about the numbers of a column, without the rows that are to be ignored."""
    found = _infinities(typed)
    numbers = NumberCounts.of(typed, ignored)
    if not is_quantity or len(numbers.values) < 3:
        return found
    gone = sentinels_among(numbers)
    found += told_sentinels(typed, numbers, gone, "values", figure)[:6]
    rest = numbers.without(gone)
    negative = _wrong_signs(typed, rest)
    rest = rest.without(rest.values < 0) if negative else rest
    outliers = _outliers(typed, rest)
    return found + negative + outliers + ([] if outliers else _skew(typed, rest))


def _infinities(typed: TypedColumn) -> list[Oddity]:
    codes = typed.codes_of((-np.inf, np.inf))
    count = int(typed.counts()[codes].sum())
    if not count:
        return []
    texts = typed.some_texts(codes, _EXAMPLES)
    says = f"{named(typed.name)} holds infinite values in {counted(count, 'row')}."
    return [typed.oddity("infinities", says, count, texts=texts, codes=codes)]


# ── sentinels ──


def sentinels_among(numbers: NumberCounts) -> Mask:
    """Which values only say that there is none: known for it, repeated, at the edge, far from all others."""
    candidates = np.isin(numbers.values, np.array(sorted(_SENTINELS | {0.0}))) & (numbers.counts >= 2)
    if not candidates.any():
        return candidates
    inner = numbers.without(candidates)
    if len(inner.values) < 5 or numbers.total() - inner.total() > 0.5 * numbers.total():
        return np.zeros_like(candidates)
    for index in np.flatnonzero(candidates):
        candidates[index] = _is_sentinel(numbers, int(index), inner)
    return candidates


def _is_sentinel(numbers: NumberCounts, index: int, inner: NumberCounts) -> bool:
    value, count = float(numbers.values[index]), int(numbers.counts[index])
    least, greatest = float(inner.values[0]), float(inner.values[-1])
    middle = inner.quantiles(0.5)[0]
    if least <= value <= greatest:
        return False
    span = greatest - least
    if value == 0.0:
        # Nearer to nothing than five of the steps in which the values are counted, zero is a value like others.
        farthest = max(0.3 * middle, 0.2 * span, 5.0 * float(np.diff(inner.values).min()))
        return least >= farthest and count <= 0.3 * numbers.total()
    if -10 < value < 0:
        return least >= 0 and len(inner.values) >= 10 and middle >= 5 and count >= 3
    distance = least - value if value < least else value - greatest
    tail = inner.counts[inner.values >= inner.quantiles(0.95)[0]] if value > greatest else inner.counts[:1]
    is_spike = count >= 5 and count >= 5 * int(tail.max()) and distance >= 0.1 * span
    return distance > 0.5 * span or is_spike


def told_sentinels(
    typed: TypedColumn, numbers: NumberCounts, gone: Mask, things: str, show: Callable[[float], str]
) -> list[Oddity]:
    """What to say of each value that only says that there is none."""
    rest = numbers.without(gone).values
    found: list[Oddity] = []
    for value, count in zip(numbers.values[gone], numbers.counts[gone].tolist(), strict=True):
        codes, shown = typed.codes_of(value), show(value)
        says = f"{named(typed.name)} holds {shown} in {counted(count, 'row')}, far from all other {things} "
        says += f"({show(rest[0])} to {show(rest[-1])})."
        texts = typed.some_texts(codes, 10)
        found.append(
            typed.oddity("sentinel", says, count, texts=texts, examples=(shown,), codes=codes, severity="problem")
        )
    return found


# ── signs, outliers, skew ──


def _wrong_signs(typed: TypedColumn, numbers: NumberCounts) -> list[Oddity]:
    negative = numbers.values < 0
    count, total = int(numbers.counts[negative].sum()), numbers.total()
    if not count or count > 0.05 * total or not set(words_of(typed.name)) & _POSITIVE_WORDS:
        return []
    values = numbers.values[negative]
    codes = typed.codes_of(values)
    says = (
        f"{named(typed.name)} is negative in {counted(count, 'row')} ({figure(values[0])} to {figure(values[-1])}), "
        "though such a quantity cannot be."
    )
    return [typed.oddity("negative-where-positive", says, count, texts=typed.some_texts(codes, 40), codes=codes)]


def _outliers(typed: TypedColumn, numbers: NumberCounts) -> list[Oddity]:
    low, high = outlying(numbers)
    far = low | high
    count = int(numbers.counts[far].sum())
    if not count:
        return []
    values, usual = numbers.values[far], numbers.values[~far]
    codes = typed.codes_of(values)
    assert typed.values is not None
    order = codes[np.argsort(-np.abs(typed.values[codes] - usual.mean()), kind="stable")]
    says = (
        f"{named(typed.name)} has {counted(count, 'value')} far from the rest: {listed(typed.some_texts(order, 3))}, "
        f"where all others lie between {figure(usual[0])} and {figure(usual[-1])}."
    )
    return [typed.oddity("outliers", says, count, texts=typed.some_texts(order, 40), codes=codes)]


def outlying(numbers: NumberCounts) -> tuple[Mask, Mask]:
    """Values too low and too high: few, beyond what chance gives in so many, and with a gap before them.

    The scale is taken from each side of the middle by itself, and on long tails in logarithms, so that skew alone
    makes no outlier.
    """
    none = np.zeros(len(numbers.values), bool)
    total = numbers.total()
    if total < 20 or len(numbers.values) < 5:
        return none, none
    bound = max(_LEAST_SCORE, -_NORMAL.inv_cdf(_FALSE_ALARMS / total))
    high = _beyond(numbers, bound)
    mirrored = NumberCounts(values=-numbers.values[::-1], counts=numbers.counts[::-1])
    low = _beyond(mirrored, bound)[::-1]
    most = max(3, 0.01 * total) if total >= 60 else 2
    is_few = int(numbers.counts[low | high].sum()) <= most
    return (low, high) if is_few else (none, none)


def _beyond(numbers: NumberCounts, bound: float) -> Mask:
    """Values above the usual ones, by the spread of the upper half."""
    values = numbers.values
    middle, upper, further, lower = numbers.quantiles(0.5, 0.9, 0.95, 0.1)
    none = np.zeros(len(values), bool)
    if upper <= middle:
        return none
    is_long = (upper - middle) > 1.5 * (middle - lower) or (further - middle) > 1.36 * (upper - middle)
    if is_long and values[0] >= 0:
        base = middle if middle > 0 else upper
        shift = 0.0 if values[0] > 0 else 0.1 * base
        values = np.log(values + shift)
        middle, upper = float(np.log(middle + shift)), float(np.log(upper + shift))
    elif is_long:
        bound *= 2
    scale = (upper - middle) / 1.2816
    scores = (values - middle) / scale
    tail = np.flatnonzero(scores > _LEAST_SCORE)
    if _is_crowd(int(numbers.counts[tail].sum()), numbers.total()) and not (is_long and numbers.values[0] < 0):
        return scores > _LEAST_SCORE
    before = tail[tail > 0]
    gaps = before[(scores[before] - scores[before - 1]) >= 1.0]
    if not len(gaps):
        return none
    return (np.arange(len(values)) >= gaps[0]) & (scores > bound)


def _is_crowd(count: int, total: int) -> bool:
    """Whether far more lie so far out than chance gives in so many: then they are not of the same making."""
    expected = total * _NORMAL.cdf(-_LEAST_SCORE)
    return count >= max(4, 5 * expected) and _chance_of_as_many(count, expected) < _FALSE_ALARMS


def _chance_of_as_many(count: int, expected: float) -> float:
    """How likely rare things happen so often, or more often, where so many are expected: the tail of a Poisson law."""
    term = math.exp(count * math.log(expected) - expected - math.lgamma(count + 1))
    chance, further = 0.0, count
    while term > chance * 1e-12:
        chance += term
        further += 1
        term *= expected / further
    return chance


def _skew(typed: TypedColumn, numbers: NumberCounts) -> list[Oddity]:
    if numbers.total() < 50 or len(numbers.values) < 10:
        return []
    repeated = np.repeat(numbers.values, numbers.counts)
    with np.errstate(all="ignore"):
        skew = skew_of(repeated, float(repeated.mean()))
    if not abs(skew) > 2:
        return []
    middle, upper = numbers.quantiles(0.5, 0.9) if skew > 0 else numbers.quantiles(0.5, 0.1)
    side = "right" if skew > 0 else "left"
    share = (
        percent(float(repeated[repeated > upper].sum()), float(repeated.sum())) if skew > 0 and repeated[0] >= 0 else ""
    )
    more = f"; the highest tenth makes up {share} of the sum" if share else ""
    says = f"{named(typed.name)} is strongly skewed to the {side} (middle {figure(middle)}){more}."
    return [typed.oddity("skewed", says, numbers.total(), severity="note")]
