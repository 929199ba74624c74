"""The marks of a chart: how they look, how bars are stacked, and which of them can be drawn truthfully."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, cast

from cellwright.runs.report_page.chart_axes import Channel, orientation
from cellwright.runs.report_page.chart_colours import PALETTE, plain_colour
from cellwright.runs.report_page.chart_values import Place, by_size_or_name, mapping, number

Mark = Literal["bar", "line", "area", "point", "rect", "rule"]
MARKS: Final[Mapping[str, Mark]] = {
    "bar": "bar", "line": "line", "area": "area", "point": "point", "circle": "point", "square": "point",
    "rect": "rect", "rule": "rule",
}  # fmt: skip
_LARGEST: Final = 2_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How the marks of a layer look."""

    mark: Mark
    colour: str
    opacity: float
    size: float | None = None
    """Of a point its area, of a bar its thickness."""
    thickness: float | None = None
    """Of a line."""
    edge: str | None = None
    """The colour around a mark."""
    dash: tuple[float, ...] = ()
    dots: float | None = None
    """The area of the dots on a line; None if it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One mark. Where the layer has no such axis, or a line has a gap, there is no place."""

    x: Place | None
    y: Place | None
    x_end: float | None
    y_end: float | None
    line: tuple[str, ...]
    """What it belongs to: points of one line are joined."""
    order: str | None
    """What comes before what, if not by where it stands."""
    colour: str


def read_style(mark: Mark, name: str, held: Mapping[str, Any], opacity: Any) -> Style | None:
    """How a mark is to look; None if that changes what it says in a way that cannot be drawn."""
    if str(held.get("interpolate", "")).startswith("step"):
        return None
    usual = 0.7 if mark in {"point", "area"} else 1.0
    shown = _opacity(opacity, held)
    colours = (
        plain_colour(held.get(key)) for key in ("fill", "color", "stroke" if mark in {"line", "rule"} else "fill")
    )
    dash = cast(list[Any], held["strokeDash"]) if isinstance(held.get("strokeDash"), list) else []
    point = held.get("point")
    return Style(
        mark=mark,
        colour=next(filter(None, colours), "#000000" if name == "rule" else PALETTE[0]),
        opacity=usual if shown is None else shown,
        size=_size(held.get("size")),
        thickness=_size(held.get("strokeWidth")),
        edge=plain_colour(held.get("stroke")) if mark in {"bar", "rect"} else None,
        dash=tuple(length for each in dash[:8] if (length := _size(each)) is not None),
        dots=(_size(mapping(point).get("size")) or 30.0) if point else None,
    )


def _opacity(channel: Any, held: Mapping[str, Any]) -> float | None:
    """As the channel says, with everything selected; else as the mark says."""
    chosen = mapping(mapping(channel).get("condition"))
    said = [chosen.get("value"), mapping(channel).get("value"), held.get("opacity"), held.get("fillOpacity")]
    found = [share for share in map(number, said) if share is not None]
    return min(1.0, max(0.0, found[0])) if found else None


def _size(held: Any) -> float | None:
    size = number(held)
    return min(size, _LARGEST) if size is not None and size >= 0 else None


def stacked(points: Sequence[Point], x: Channel | None, y: Channel | None, *, is_grouped: bool) -> list[Point]:
    """Bars of several colours in one place, put end to end; points as they are where that is not meant."""
    if x is None or y is None:
        return list(points)
    is_lying = orientation(x, y) == "lying"
    measure, place = (x, y) if is_lying else (y, x)
    is_ranged = bool(measure.second or place.second)
    if not is_grouped or not measure.is_stacked or is_ranged or measure.kind != "number" or measure.is_log:
        return list(points)
    reached: dict[tuple[Place | None, bool], float] = {}
    found: list[Point] = []
    for point in sorted(points, key=_in_stack, reverse=not any(point.order for point in points)):
        size = point.x if is_lying else point.y
        if not isinstance(size, float):
            continue
        key = (point.y if is_lying else point.x, size < 0)
        start = reached.get(key, 0.0)
        end = reached[key] = max(-1e300, min(1e300, start + size))
        moved = replace(point, x=start, x_end=end) if is_lying else replace(point, y=start, y_end=end)
        found.append(moved)
    return found


def _in_stack(point: Point) -> list[tuple[int, float, str]]:
    return [by_size_or_name(word) for word in ((point.order,) if point.order is not None else point.line)]


def is_drawable(mark: Mark, x: Channel | None, y: Channel | None, points: Sequence[Point]) -> bool:
    """Whether these marks mean what we would draw."""
    if mark == "point":
        return True
    if x is None or y is None:
        # A rule with one place only goes from edge to edge.
        return mark == "rule" and not (x and x.second) and not (y and y.second)
    match mark:
        case "rule":
            return bool(x.second) != bool(y.second)
        case "rect":
            return all(channel.kind == "group" or channel.second for channel in (x, y))
        case "bar":
            return _is_drawable_bar(x, y, points)
        case "line":
            return y.kind == "number" and not x.second and not y.second
        case "area":
            is_one = len({point.line for point in points}) == 1 and not any(point.order for point in points)
            return y.kind == "number" and x.kind != "group" and is_one and not x.second


def _is_drawable_bar(x: Channel, y: Channel, points: Sequence[Point]) -> bool:
    if x.second and y.second:
        return False
    measure, place = (x, y) if orientation(x, y) == "lying" else (y, x)
    if x.second or y.second:
        return measure.kind != "group"
    if measure.kind != "number" or place.kind == "number":
        return False
    # Where no colours put them end to end, bars in the same place would hide each other.
    is_stacked = any(point.x_end is not None or point.y_end is not None for point in points)
    return is_stacked or len({point.y if measure is x else point.x for point in points}) == len(points)
