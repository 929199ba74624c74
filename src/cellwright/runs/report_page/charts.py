"""Plain charts drawn as still pictures: bars, lines, areas and points over two axes, with a legend."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from cellwright.runs.report_page.chart_reading import Axis, Chart, Point, read_chart
from cellwright.runs.report_page.cleaning import escaped

_WIDTH: Final = 640
_HEIGHT: Final = 320
_COLOURS: Final = (
    "#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#eeca3b", "#ff9da6", "#9d755d", "#bab0ac",
)  # fmt: skip


def drawn(spec: Mapping[str, Any]) -> str | None:
    """The chart as a data URL of an SVG picture; None if it is not plain enough to be drawn truthfully."""
    chart = read_chart(spec)
    if chart is None:
        return None
    svg = _Drawing(chart).svg()
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


class _Scale:
    """Where a value stands along an axis."""

    def __init__(
        self, axis: Axis, values: Sequence[float | str], others: Sequence[float | str], *, length: int, from_zero: bool
    ) -> None:
        self.axis = axis
        self.length = length
        self.groups = _ordered(axis, values, others) if axis.kind == "group" else []
        self._count = len(set(values))
        numbers = [value for value in values if isinstance(value, float)]
        low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
        if axis.kind == "number" and from_zero:
            low, high = min(low, 0.0), max(high, 0.0)
        if high - low <= max(abs(low), abs(high)) * 1e-9 + 1e-200:
            wider = max(0.5, abs(low) * 0.1)
            low, high = low - wider, high + wider
        self.ticks = _ticks(low, high) if axis.kind == "number" else _some_of(sorted(set(numbers)))
        if axis.kind == "number":
            low, high = min(low, self.ticks[0]), max(high, self.ticks[-1])
        self.low, self.high = low, high

    @property
    def band(self) -> float:
        """How much room one group has."""
        return self.length / max(len(self.groups) or self._count, 1)

    def at(self, value: float | str) -> float:
        """How far along."""
        if self.axis.kind == "group":
            return (self.groups.index(str(value)) + 0.5) * self.band
        return (float(value) - self.low) / (self.high - self.low) * self.length

    def labels(self) -> list[tuple[float, str]]:
        """What is written where."""
        if self.axis.kind == "group":
            return [(self.at(group), group) for group in self.groups]
        if self.axis.kind == "time":
            return [(self.at(tick), _date(tick, self.high - self.low)) for tick in self.ticks]
        return [(self.at(tick), f"{tick:,.10g}") for tick in self.ticks]


def _ordered(axis: Axis, values: Sequence[float | str], others: Sequence[float | str]) -> list[str]:
    """The groups in the order that the axis asks for."""
    groups = sorted({str(value) for value in values}, key=_as_number_or_word)
    if axis.given:
        return sorted(groups, key=lambda group: axis.given.index(group) if group in axis.given else len(axis.given))
    if axis.sort in {"x", "-x", "y", "-y"}:
        totals = dict.fromkeys(groups, 0.0)
        for value, other in zip(values, others, strict=True):
            totals[str(value)] += other if isinstance(other, float) else 0.0
        groups.sort(key=totals.__getitem__, reverse=axis.sort.startswith("-"))
    return groups[::-1] if axis.sort == "descending" else groups


def _as_number_or_word(group: str) -> tuple[int, float, str]:
    try:
        return 0, float(group), group
    except ValueError:
        return 1, 0.0, group


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers that cover the span."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 12) for number in range(first, min(last, first + 20) + 1)]


def _some_of(moments: Sequence[float]) -> list[float]:
    """At most six of the moments there are, at even steps from the first."""
    return list(moments[:: max(1, math.ceil((len(moments) - 1) / 5))])


def _date(seconds: float, span: float) -> str:
    try:
        moment = datetime.fromtimestamp(seconds)
    except (ValueError, OverflowError, OSError):
        return ""
    return moment.strftime("%H:%M" if span < 2 * 86_400 else "%Y-%m-%d" if span < 3 * 365 * 86_400 else "%Y-%m")


class _Drawing:
    """A chart on its way to SVG."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        is_bar, is_area = chart.mark == "bar", chart.mark == "area"
        xs, ys = [point.x for point in chart.points], [point.y for point in chart.points]
        widest = max((len(str(y)) for y in ys), default=0) if chart.y.kind == "group" else 0
        self.left = 90 + min(widest, 24) * 5
        height = max(120, min(44 * len(set(ys)), 900)) if chart.y.kind == "group" else _HEIGHT
        self.x = _Scale(chart.x, xs, ys, length=_WIDTH, from_zero=is_bar or chart.x.starts_at_zero)
        self.y = _Scale(chart.y, ys, xs, length=height, from_zero=is_bar or is_area or chart.y.starts_at_zero)
        self.series = sorted({point.series for point in chart.points})
        self.is_tilted = chart.x.kind == "group" and (
            sum(len(group) for group in self.x.groups) * 7 > _WIDTH or len(self.x.groups) > 14
        )

    def svg(self) -> str:
        """The picture, with a white ground so that it reads on dark pages too."""
        top = 34 if self.chart.title else 12
        below = 100 if self.is_tilted else 56
        has_legend = bool(self.chart.series_title)
        width, height = self.left + _WIDTH + (160 if has_legend else 50), top + self.y.length + below
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            ' font-family="system-ui, sans-serif" font-size="12" fill="#333">',
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            _text(self.left, 20, self.chart.title, extra=' font-size="15" font-weight="600"')
            if self.chart.title
            else "",
            f'<g transform="translate({self.left},{top})">',
            *self._axes(),
            *self._marks(),
            *(self._legend() if has_legend else ()),
            "</g></svg>",
        ]
        return "".join(parts)

    def _down(self, value: float | str) -> float:
        """Groups go down the page, numbers up."""
        at = self.y.at(value)
        return at if self.chart.y.kind == "group" else self.y.length - at

    def _axes(self) -> list[str]:
        height, parts = self.y.length, list[str]()
        for at, label in self.y.labels():
            down = at if self.chart.y.kind == "group" else height - at
            parts.append(f'<line x1="0" x2="{_WIDTH}" y1="{down:.1f}" y2="{down:.1f}" stroke="#e3e3e3"/>')
            parts.append(_text(-8, down + 4, label[:24], anchor="end"))
        for at, label in self.x.labels():
            turn = f' transform="rotate(-40 {at:.1f} {height + 16})"' if self.is_tilted else ""
            parts.append(_text(at, height + 16, label[:20], anchor="end" if self.is_tilted else "middle", extra=turn))
        parts.append(f'<line x1="0" x2="{_WIDTH}" y1="{height}" y2="{height}" stroke="#888"/>')
        bottom = height + (88 if self.is_tilted else 42)
        parts.append(_text(_WIDTH / 2, bottom, self.chart.x.title, anchor="middle", extra=' font-weight="600"'))
        turn = f' font-weight="600" transform="rotate(-90 {-self.left + 16} {height / 2})"'
        parts.append(_text(-self.left + 16, height / 2, self.chart.y.title, anchor="middle", extra=turn))
        return parts

    def _colour(self, series: str) -> str:
        return _COLOURS[self.series.index(series) % len(_COLOURS)]

    def _marks(self) -> list[str]:
        match self.chart.mark:
            case "bar":
                return [self._bar(point) for point in self.chart.points]
            case "point":
                return [
                    f'<circle cx="{self.x.at(point.x):.1f}" cy="{self._down(point.y):.1f}" r="3.5"'
                    f' fill="{self._colour(point.series)}" fill-opacity="0.7"/>'
                    for point in self.chart.points
                ]
            case "line" | "area":
                return [self._line(series) for series in self.series]

    def _bar(self, point: Point) -> str:
        colour = self._colour(point.series)
        if self.chart.y.kind != "group":
            band, zero, end = self.x.band, self._down(0.0), self._down(point.y)
            left, top = self.x.at(point.x) - band * 0.4, min(zero, end)
            return _rectangle(left, top, band * 0.8, abs(end - zero), colour)
        band, zero, end = self.y.band, self.x.at(0.0), self.x.at(point.x)
        return _rectangle(min(zero, end), self._down(point.y) - band * 0.4, abs(end - zero), band * 0.8, colour)

    def _line(self, series: str) -> str:
        mine = [(self.x.at(p.x), self._down(p.y)) for p in self.chart.points if p.series == series]
        mine.sort()
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in mine)
        colour = self._colour(series)
        if self.chart.mark == "area":
            ground = self._down(0.0)
            path = f"{mine[0][0]:.1f},{ground:.1f} {path} {mine[-1][0]:.1f},{ground:.1f}"
            return f'<polygon points="{path}" fill="{colour}" fill-opacity="0.7"/>'
        return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'

    def _legend(self) -> list[str]:
        parts = [_text(_WIDTH + 18, 6, self.chart.series_title[:22], extra=' font-weight="600"')]
        for row, series in enumerate(self.series):
            down = 26 + 18 * row
            parts.append(_rectangle(_WIDTH + 18, down - 9, 10, 10, self._colour(series)))
            parts.append(_text(_WIDTH + 34, down, series[:18]))
        return parts


def _rectangle(left: float, top: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>'


def _text(x: float, y: float, words: str, *, anchor: str = "start", extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escaped(words)}</text>'
