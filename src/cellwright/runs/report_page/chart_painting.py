"""The marks of a chart as SVG. Nothing of the specification is written but numbers, plain colours and escaped words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import assert_never

from cellwright.runs.report_page.chart_marks import Point, Style
from cellwright.runs.report_page.chart_reading import Layer
from cellwright.runs.report_page.chart_scales import Scale
from cellwright.runs.report_page.chart_values import Place, by_size_or_name
from cellwright.runs.report_page.cleaning import escaped

Spot = tuple[float, float]


def layer_parts(layer: Layer, x: Scale, y: Scale) -> list[str]:
    """The marks of one layer, in order."""
    return _Painter(layer, x, y).parts()


def text(x: float, y: float, words: str, *, anchor: str = "start", extra: str = "") -> str:
    """Words in the picture."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escaped(words)}</text>'


def rectangle(left: float, top: float, width: float, height: float, colour: str, extra: str = "") -> str:
    """A filled rectangle."""
    return f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"{extra}/>'


class _Painter:
    """Puts the marks of a layer where the scales say."""

    def __init__(self, layer: Layer, x: Scale, y: Scale) -> None:
        self.layer, self.x, self.y = layer, x, y
        self.style: Style = layer.style
        self.fill = f' fill-opacity="{self.style.opacity:.3g}"' if self.style.opacity < 1 else ""

    def parts(self) -> list[str]:
        points = self.layer.points
        match self.style.mark:
            case "bar":
                return [self._bar(point) for point in points]
            case "rect":
                return [self._field(point) for point in points]
            case "rule":
                return list(dict.fromkeys(map(self._rule, points)))
            case "point":
                return [self._dot(point, 30.0 if self.style.size is None else self.style.size) for point in points]
            case "line":
                return self._lines()
            case "area":
                return [self._area(points)]
            case _:
                assert_never(self.style.mark)

    def _down(self, place: Place | None) -> float:
        """Groups go down the page, numbers up."""
        at = self.y.at(place)
        return at if self.y.axis.kind == "group" else self.y.length - at

    def _bar(self, point: Point) -> str:
        """From zero or its beginning to its end, as thick as its group or its bin is wide."""
        is_lying = self.layer.orientation == "lying"
        along, across = ((point.x, point.x_end), (point.y, point.y_end)) if is_lying else (
            (point.y, point.y_end), (point.x, point.x_end)
        )  # fmt: skip
        ends = along if along[1] is not None else (0.0, along[0])
        low, high = sorted(self._at(end, is_across=is_lying) for end in ends)
        if across[1] is not None:
            start, stop = sorted(self._at(end, is_across=not is_lying) for end in across)
        else:
            start, stop = self._thick(across[0], is_across=not is_lying)
        left, right, top, bottom = (low, high, start, stop) if is_lying else (start, stop, low, high)
        return rectangle(left, top, right - left, bottom - top, point.colour, self.fill + self._edge())

    def _at(self, place: Place | None, *, is_across: bool) -> float:
        return self.x.at(place) if is_across else self._down(place)

    def _thick(self, place: Place | None, *, is_across: bool) -> tuple[float, float]:
        scale, middle = self.x if is_across else self.y, self._at(place, is_across=is_across)
        usual = 5.0 if scale.axis.kind == "number" else max(scale.band * 0.84, 0.5)
        half = (usual if self.style.size is None else min(self.style.size, max(usual, 40.0))) / 2
        return middle - half, middle + half

    def _edge(self) -> str:
        thickness = 1.0 if self.style.thickness is None else self.style.thickness
        return f' stroke="{self.style.edge}" stroke-width="{thickness:.3g}"' if self.style.edge else ""

    def _field(self, point: Point) -> str:
        sides: list[tuple[float, float]] = []
        for place, end, scale, is_across in (
            (point.x, point.x_end, self.x, True),
            (point.y, point.y_end, self.y, False),
        ):
            if end is not None:
                first, last = sorted(self._at(one, is_across=is_across) for one in (place, end))
            else:
                middle = self._at(place, is_across=is_across)
                first, last = middle - scale.band / 2, middle + scale.band / 2
            sides.append((first, last))
        (left, right), (top, bottom) = sides
        # Fields that only touch would show the ground between them as a fine line.
        return rectangle(left, top, right - left + 0.2, bottom - top + 0.2, point.colour, self.fill + self._edge())

    def _rule(self, point: Point) -> str:
        lefts = (self.x.at(point.x), self.x.at(point.x if point.x_end is None else point.x_end))
        downs = (self._down(point.y), self._down(point.y if point.y_end is None else point.y_end))
        lefts = lefts if self.layer.x is not None else (0.0, self.x.length)
        downs = downs if self.layer.y is not None else (0.0, self.y.length)
        return (
            f'<line x1="{lefts[0]:.1f}" x2="{lefts[1]:.1f}" y1="{downs[0]:.1f}" y2="{downs[1]:.1f}"'
            f"{self._stroke(point.colour, 1.0)}/>"
        )

    def _stroke(self, colour: str, usual: float) -> str:
        thickness = usual if self.style.thickness is None else self.style.thickness
        dash = f' stroke-dasharray="{" ".join(f"{one:.3g}" for one in self.style.dash)}"' if self.style.dash else ""
        faint = f' stroke-opacity="{self.style.opacity:.3g}"' if self.style.opacity < 1 else ""
        return f' stroke="{colour}" stroke-width="{thickness:.3g}"{dash}{faint}'

    def _dot(self, point: Point, area: float) -> str:
        radius = min(math.sqrt(area / math.pi), 20.0)
        return (
            f'<circle cx="{self.x.at(point.x):.1f}" cy="{self._down(point.y):.1f}" r="{radius:.1f}"'
            f' fill="{point.colour}"{self.fill}/>'
        )

    def _lines(self) -> list[str]:
        """Each line, broken where values are missing; a piece of one point is a dot."""
        parts: list[str] = []
        lines: dict[tuple[str, ...], list[Point]] = {}
        for point in self.layer.points:
            lines.setdefault(point.line, []).append(point)
        for line in lines.values():
            for piece in _pieces(sorted(line, key=self._in_line)):
                path = _path((self.x.at(point.x), self._down(point.y)) for point in piece)
                parts.append(f'<polyline points="{path}" fill="none"{self._stroke(piece[0].colour, 2.0)}/>')
                if self.style.dots is not None or len(piece) == 1:
                    parts += [self._dot(point, self.style.dots or 12.0) for point in piece]
        return parts

    def _in_line(self, point: Point) -> tuple[tuple[int, float, str], float]:
        order = by_size_or_name(point.order) if point.order is not None else (0, 0.0, "")
        return order, self.x.at(point.x)

    def _area(self, points: Sequence[Point]) -> str:
        ordered = sorted(points, key=lambda point: self.x.at(point.x))
        upper = [(self.x.at(point.x), self._down(point.y)) for point in ordered]
        ground = [
            (self.x.at(point.x), self._down(0.0 if point.y_end is None else point.y_end)) for point in reversed(ordered)
        ]
        return f'<polygon points="{_path([*upper, *ground])}" fill="{ordered[0].colour}"{self.fill}/>'


def _pieces(points: Iterable[Point]) -> list[list[Point]]:
    pieces: list[list[Point]] = [[]]
    for point in points:
        if point.y is None:
            pieces.append([])
        else:
            pieces[-1].append(point)
    return [piece for piece in pieces if piece]


def _path(spots: Iterable[Spot]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
