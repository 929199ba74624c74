"""Where values stand along an axis, and what is written beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from cellwright.runs.report_page.chart_axes import Axis
from cellwright.runs.report_page.chart_values import Place, by_size_or_name

_FARTHEST: Final = 1e6
"""How far beyond an axis anything is drawn; it is cut off there anyway."""
_LONGEST_LABEL: Final = 36
_DAY: Final = 86_400
_SECONDS: Final = (
    1, 5, 15, 30, 60, 300, 900, 1_800, 3_600, 3 * 3_600, 6 * 3_600, 12 * 3_600, _DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY,
)  # fmt: skip
_MONTHS: Final = tuple(12 * years if years else months for years, months in (
    (0, 1), (0, 2), (0, 3), (0, 6), (1, 0), (2, 0), (5, 0), (10, 0), (20, 0), (50, 0), (100, 0), (500, 0), (2_000, 0),
))  # fmt: skip
_MONDAY: Final = 4 * _DAY
"""The first one after 1970 began; weeks are counted from it."""


class Scale:
    """Where a value stands along an axis."""

    def __init__(self, axis: Axis, pairs: Sequence[tuple[Place, Place | None]], *, length: float, most: int) -> None:
        """`pairs` are all places on the axis, each with where it stands on the other one."""
        self.axis = axis
        self.length = length
        self.groups = _ordered(axis, pairs) if axis.kind == "group" else []
        self._at = {group: index for index, group in enumerate(self.groups)}
        self._count = len({place for place, _ in pairs})
        numbers = [place for place, _ in pairs if isinstance(place, float)]
        self.low, self.high = axis.domain or _wide(axis, numbers)
        self.ticks = self._ticks(most) if axis.kind != "group" else []

    @property
    def band(self) -> float:
        """How much room one group has."""
        return self.length / max(len(self.groups) or self._count, 1)

    def at(self, place: Place | None) -> float:
        """How far along; without a place, in the middle."""
        if place is None:
            return self.length / 2
        if isinstance(place, str):
            return (self._at[place] + 0.5) * self.band
        low, high, value = self.low, self.high, place
        if self.axis.is_log:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        return max(-_FARTHEST, min(_FARTHEST, (value - low) / (high - low) * self.length))

    def labels(self) -> list[tuple[float, str]]:
        """What is written where."""
        if self.axis.kind == "group":
            return [(self.at(group), _cut(group)) for group in self.groups]
        return [(self.at(tick), label) for tick, label in self.ticks]

    def _ticks(self, most: int) -> list[tuple[float, str]]:
        if self.axis.kind == "time":
            return time_ticks(self.low, self.high, most)
        if self.axis.is_nice and self.axis.domain is None and not self.axis.is_log:
            around = round_ticks(self.low, self.high, 10)
            self.low, self.high = min(self.low, around[0]), max(self.high, around[-1])
        ticks = log_ticks(self.low, self.high, most) if self.axis.is_log else round_ticks(self.low, self.high, most)
        edge = (self.high - self.low) * 1e-9
        inside = [tick for tick in ticks if self.low - edge <= tick <= self.high + edge]
        return [(tick, said(tick, self.axis.is_percent)) for tick in inside]


def said(tick: float, is_percent: bool = False) -> str:
    """A number beside an axis."""
    return f"{tick * 100:,.6g} %" if is_percent else f"{tick:,.10g}"


def _cut(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"


def _wide(axis: Axis, numbers: Sequence[float]) -> tuple[float, float]:
    """Ends that hold all numbers, and zero if it belongs there, and are not the same."""
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
    if axis.has_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if axis.is_log:
        if high <= low * (1 + 1e-9):
            low, high = low / 2, high * 2
        if axis.is_nice:
            low, high = 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))
        return low, high
    if high - low <= max(abs(low), abs(high)) * 1e-9 + 1e-200:
        wider = _DAY / 2 if axis.kind == "time" else max(0.5, abs(low) * 0.1)
        low, high = low - wider, high + wider
    return low, high


def _ordered(axis: Axis, pairs: Sequence[tuple[Place, Place | None]]) -> list[str]:
    """The groups in the order that the axis asks for."""
    groups = list(dict.fromkeys(str(place) for place, _ in pairs))
    if axis.sort == "source":
        return groups
    groups.sort(key=by_size_or_name, reverse=axis.sort == "descending")
    if axis.sort == "given":
        return sorted(groups, key=lambda group: axis.given.index(group) if group in axis.given else len(axis.given))
    if axis.sort in {"x", "-x", "y", "-y"}:
        totals = dict.fromkeys(groups, 0.0)
        for place, other in pairs:
            totals[str(place)] += other if isinstance(other, float) else 0.0
        groups.sort(key=totals.__getitem__, reverse=axis.sort.startswith("-"))
    return groups


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers that cover the span, about as many as asked for."""
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10, 20) if factor * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{index * step:.12g}") for index in range(first, min(last, first + 20) + 1)]


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Powers of ten, every so many of them; over a short span with steps between."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        every = [factor * 10.0**power for power in powers for factor in factors]
        inside = [tick for tick in every if low * 0.999 <= tick <= high * 1.001]
        if 2 < len(inside) <= most + 2:
            return inside
    if high < low * 20:
        # Too short for round factors: round numbers, which then do not stand at even distances.
        return round_ticks(low, high, most)
    powers_of_ten = [10.0**power for power in powers[:: max(1, math.ceil(len(powers) / most))]]
    return [tick for tick in powers_of_ten if low <= tick <= high] or [low, high]


def time_ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Beginnings of hours, days, months or years, at most as many as asked for, as people write them."""
    for step in _SECONDS:
        if (high - low) / step <= most:
            shift = _MONDAY if step % (7 * _DAY) == 0 else 0
            first = math.ceil((low - shift) / step) * step + shift
            pattern = "%Y-%m-%d" if step >= _DAY else "%H:%M:%S" if step < 60 else "%H:%M"
            if step < _DAY < high - low:
                pattern = "%m-%d %H:%M"
            return _written(range(first, math.floor(high) + 1, step), pattern) or _written([low], "%H:%M:%S")
    first_year = datetime.fromtimestamp(low, UTC).year
    last = datetime.fromtimestamp(high, UTC)
    for step in _MONTHS:
        # Counted in months from the year 0, so that quarters and decades begin where people begin them.
        months = range(math.ceil(12 * first_year / step) * step, 12 * last.year + last.month, step)
        starts = [
            datetime(months_on // 12, months_on % 12 + 1, 1, tzinfo=UTC).timestamp()
            for months_on in months[: 40 * most]
            if months_on >= 12
        ]
        inside = [start for start in starts if low <= start <= high]
        if len(inside) <= most and (inside or step == _MONTHS[-1]):
            return _written(inside or [low, high], "%Y" if step % 12 == 0 else "%Y-%m")
    return []


def _written(moments: Iterable[float], pattern: str) -> list[tuple[float, str]]:
    return [(float(one), datetime.fromtimestamp(one, UTC).strftime(pattern)) for one in moments]
