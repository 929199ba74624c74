"""Plain charts drawn as still pictures: bars, lines, areas, points, rules and fields over two axes, with a legend."""

from __future__ import annotations

import base64
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from cellwright.runs.report_page.chart_legend import legend_height, legend_parts, legend_width
from cellwright.runs.report_page.chart_painting import layer_parts, text
from cellwright.runs.report_page.chart_reading import Chart, Layer, read_chart
from cellwright.runs.report_page.chart_scales import Scale
from cellwright.runs.report_page.chart_values import Place

_WHOLE_WIDTH: Final = 800
_NARROWEST: Final = 400
_WIDEST: Final = 640
_HEIGHT: Final = 320
_LETTER: Final = 6.4
"""How wide a letter of a label is, about."""
_TITLE_LETTER: Final = 8.2


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPicture:
    """A chart as a picture."""

    source: str
    """A data URL of an SVG."""
    words: str
    """What it shows, for those who cannot see it."""


def drawn(spec: Mapping[str, Any]) -> ChartPicture | None:
    """The chart as a picture; None if it is not plain enough to be drawn truthfully."""
    chart = read_chart(spec)
    if chart is None:
        return None
    svg = _Drawing(chart).svg()
    return ChartPicture(
        source=f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}", words=_described(chart)
    )


def _described(chart: Chart) -> str:
    marks = ", ".join(dict.fromkeys(layer.style.mark for layer in chart.layers))
    title = " ".join((*chart.title, *chart.subtitle))
    colours = f", colours: {chart.legend.title}" if chart.legend else ""
    shown = f"chart ({marks}), across: {chart.x.title}, up: {chart.y.title}{colours}"
    return f"{title} ({shown})"[:480] if title else shown[:480]


class _Drawing:
    """A chart on its way to SVG."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        height = _height(chart)
        self.y = Scale(chart.y, _pairs(chart.layers, "y"), length=height, most=max(2, min(5, int(height / 44))))
        widest = max((len(label) for _, label in self.y.labels()), default=0)
        self.left = round(46 + max(widest, 5) * _LETTER)
        self.right = 30 + (legend_width(chart.legend) if chart.legend else 0)
        self.width = max(_NARROWEST, min(_WIDEST, _WHOLE_WIDTH - self.left - self.right))
        most = max(3, self.width // 80)
        self.x = Scale(chart.x, _pairs(chart.layers, "x"), length=self.width, most=most)
        self.is_tilted, self.shown = _across(self.x)
        self.below = min(150, 40 + round(max(map(len, self.shown.values()), default=0) * 4.6)) if self.is_tilted else 56
        self.title = _title(chart, self.left + self.width + self.right)

    def svg(self) -> str:
        """The picture, with a white ground so that it reads on dark pages too."""
        top = 14 + 19 * len(self.title)
        legend = legend_parts(self.chart.legend, self.width + 18) if self.chart.legend else []
        width = self.left + self.width + self.right
        beside = legend_height(self.chart.legend) if self.chart.legend else 0
        height = round(top + max(self.y.length + self.below, beside))
        clip = f'<clipPath id="plot"><rect width="{self.width}" height="{self.y.length:.1f}"/></clipPath>'
        is_clipped = self.chart.x.domain is not None or self.chart.y.domain is not None
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            ' font-family="system-ui, sans-serif" font-size="12" fill="#333">',
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            *(text(14, 20 + 19 * at, line, extra=_weight(kind)) for at, (kind, line) in enumerate(self.title)),
            f'<g transform="translate({self.left},{top})">',
            *self._axes(),
            f'{clip}<g clip-path="url(#plot)">' if is_clipped else "<g>",
            *(part for layer in self.chart.layers for part in layer_parts(layer, self.x, self.y)),
            "</g>",
            *legend,
            "</g></svg>",
        ]
        return "".join(parts)

    def _axes(self) -> list[str]:
        height, parts = self.y.length, list[str]()
        skipped = math.ceil(9 / self.y.band) if self.chart.y.kind == "group" else 1
        for at, label in self.y.labels()[::skipped]:
            down = at if self.chart.y.kind == "group" else height - at
            parts.append(f'<line x1="0" x2="{self.width}" y1="{down:.1f}" y2="{down:.1f}" stroke="#e3e3e3"/>')
            parts.append(text(-8, down + 4, label, anchor="end"))
        for at, label in self.shown.items():
            if self.chart.x.kind != "group":
                parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="{height:.1f}" stroke="#eee"/>')
            turn = f' transform="rotate(-40 {at:.1f} {height + 16:.1f})"' if self.is_tilted else ""
            parts.append(text(at, height + 16, label, anchor="end" if self.is_tilted else "middle", extra=turn))
        parts.append(f'<line x1="0" x2="{self.width}" y1="{height:.1f}" y2="{height:.1f}" stroke="#888"/>')
        bottom = height + self.below - 12
        across = textwrap.shorten(self.chart.x.title, self.width // 6, placeholder="…")
        parts.append(text(self.width / 2, bottom, across, anchor="middle", extra=' font-weight="600"'))
        up = textwrap.shorten(self.chart.y.title, max(int((height + self.below) / 7), 12), placeholder="…")
        # In a low chart it reaches below the axis rather than into the title.
        middle = max(height / 2, len(up) * 3.7 - 4)
        turn = f' font-weight="600" transform="rotate(-90 {-self.left + 16} {middle:.1f})"'
        parts.append(text(-self.left + 16, middle, up, anchor="middle", extra=turn))
        return parts


def _height(chart: Chart) -> float:
    groups = {point.y for layer in chart.layers for point in layer.points if isinstance(point.y, str)}
    if chart.y.kind != "group":
        return max(120.0, min(chart.height or _HEIGHT, 700.0))
    if chart.step is not None:
        return max(12.0, min(chart.step, 80.0)) * len(groups)
    if chart.height is not None:
        return max(60.0, min(chart.height, 1_200.0))
    return max(120.0, min(44.0 * len(groups), 900.0))


def _pairs(layers: Sequence[Layer], which: Literal["x", "y"]) -> list[tuple[Place, Place | None]]:
    """Every place on one axis, with where it stands on the other."""
    found: list[tuple[Place, Place | None]] = []
    for point in (point for layer in layers for point in layer.points):
        place, end, other = (point.x, point.x_end, point.y) if which == "x" else (point.y, point.y_end, point.x)
        across = point.y_end if which == "x" else point.x_end
        if isinstance(across, float) and isinstance(other, float):
            other = across - other
        found += [(one, other) for one in (place, end) if one is not None]
    return found


def _across(scale: Scale) -> tuple[bool, dict[float, str]]:
    """(whether the labels below are tilted, those that fit, by where they stand)."""
    labels = scale.labels()
    if scale.axis.kind != "group" or not labels:
        return False, dict(labels)
    longest = max(len(label) for _, label in labels)
    is_numbers = all(label.replace(".", "").isdecimal() for _, label in labels)
    if longest * _LETTER + 8 <= scale.band or is_numbers:
        return False, dict(labels[:: math.ceil((longest * _LETTER + 8) / scale.band) if is_numbers else 1])
    return True, {
        at: label if len(label) <= 26 else f"{label[:25]}…" for at, label in labels[:: math.ceil(9 / scale.band)]
    }


def _title(chart: Chart, width: int) -> list[tuple[str, str]]:
    """(what kind of line, the line), broken where the picture ends."""
    found: list[tuple[str, str]] = []
    for kind, lines, letter in (("title", chart.title, _TITLE_LETTER), ("subtitle", chart.subtitle, 7.0)):
        for line in lines:
            found += [(kind, part) for part in textwrap.wrap(line, max(20, int((width - 28) / letter)))]
    return found[:6]


def _weight(kind: str) -> str:
    return ' font-size="15" font-weight="600"' if kind == "title" else ' font-size="13" fill="#555"'
