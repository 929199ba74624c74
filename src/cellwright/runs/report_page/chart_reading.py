"""A Vega-Lite specification read as a plain chart: points over two axes; or as nothing, if it is not that plain.

Whatever is not understood to the last word (layers, facets, transforms, stacked bars, maps) is refused: a wrong picture
would be worse than a note. The specification comes from a notebook: every number is checked, every text cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, cast

_MOST_ROWS: Final = 5_000
_MOST_GROUPS: Final = 60
_MOST_SERIES: Final = 10
_SUPPORTED: Final = frozenset({
    "$schema", "autosize", "background", "config", "data", "datasets", "description", "encoding", "height", "mark",
    "name", "padding", "params", "title", "usermeta", "width",
})  # fmt: skip
_CHANNELS: Final = frozenset({"x", "y", "color", "tooltip", "opacity", "order", "detail"})
_CHANNEL_KEYS: Final = frozenset({"aggregate", "axis", "field", "legend", "scale", "sort", "stack", "title", "type"})
_SORTS: Final = frozenset({"ascending", "descending", "x", "-x", "y", "-y"})

Mark = Literal["bar", "line", "area", "point"]
Kind = Literal["number", "time", "group"]
_MARKS: Final[Mapping[str, Mark]] = {
    "bar": "bar", "line": "line", "area": "area", "point": "point", "circle": "point", "square": "point",
}  # fmt: skip
_KINDS: Final[Mapping[str, Kind]] = {
    "quantitative": "number", "temporal": "time", "nominal": "group", "ordinal": "group",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One direction."""

    field: str
    kind: Kind
    title: str
    aggregate: str = ""
    starts_at_zero: bool = False
    sort: str = "ascending"
    """How groups are ordered: by themselves, or by where they stand on the other axis."""
    given: tuple[str, ...] = ()
    """Groups in an order that was spelled out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One mark."""

    x: float | str
    y: float | str
    series: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart that can be drawn truthfully."""

    mark: Mark
    title: str
    x: Axis
    y: Axis
    series_title: str
    points: tuple[Point, ...]


def read_chart(spec: Mapping[str, Any]) -> Chart | None:
    """The chart in a specification; None if it is not plain enough."""
    mark = spec.get("mark")
    mark = mark.get("type") if isinstance(mark, dict) else mark
    encoding = spec.get("encoding")
    if not set(spec) <= _SUPPORTED or not isinstance(mark, str) or mark not in _MARKS or not isinstance(encoding, dict):
        return None
    if not set(encoding) <= _CHANNELS:
        return None
    rows = _rows(spec)
    x, y = _axis(encoding.get("x")), _axis(encoding.get("y"))
    colour = _channel(encoding.get("color")) if "color" in encoding else {}
    if rows is None or x is None or y is None or colour is None or _is_numeric(colour):
        return None
    series = str(colour.get("field", ""))
    points = _points(rows, x, y, series)
    if not points or not _is_drawable(_MARKS[mark], x, y, points):
        return None
    return Chart(
        mark=_MARKS[mark], title=_title(spec.get("title")), x=x, y=y, series_title=series, points=tuple(points)
    )


def _rows(spec: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    data = spec.get("data")
    if not isinstance(data, dict):
        return None
    rows = data.get("values")
    named = spec.get("datasets")
    if rows is None and isinstance(named, dict) and isinstance(data.get("name"), str):
        rows = named.get(data["name"])
    if not isinstance(rows, list) or not 0 < len(rows) <= _MOST_ROWS or "format" in data:
        return None
    return cast(list[dict[str, Any]], rows) if all(isinstance(row, dict) for row in rows) else None


def _channel(held: Any) -> dict[str, Any] | None:
    if not isinstance(held, dict) or not set(held) <= _CHANNEL_KEYS:
        return None
    if not isinstance(held.get("field", ""), str):
        return None
    scale = held.get("scale")
    if isinstance(scale, dict) and not set(scale) <= {"zero", "scheme", "nice"}:
        return None
    return held


def _is_numeric(colour: Mapping[str, Any]) -> bool:
    return bool(colour) and colour.get("type") not in ("nominal", "ordinal")


def _axis(held: Any) -> Axis | None:
    channel = _channel(held)
    if channel is None:
        return None
    kind, aggregate = _KINDS.get(str(channel.get("type"))), channel.get("aggregate", "")
    field = channel.get("field", "")
    if (
        kind is None
        or not isinstance(aggregate, str)
        or aggregate not in ("", *_AGGREGATES)
        or not (field or aggregate == "count")
    ):
        return None
    sort = channel.get("sort", "ascending")
    given = tuple(_word(one) for one in sort) if isinstance(sort, list) else ()
    if not (given or (isinstance(sort, str) and sort in _SORTS)) or (kind != "group" and sort != "ascending"):
        return None
    if channel.get("stack") not in (None, True, "zero"):
        return None
    axis = channel.get("axis")
    title = channel.get("title", axis.get("title") if isinstance(axis, dict) else None)
    default = (f"{aggregate} of {field}" if field else "count") if aggregate else field
    scale = channel.get("scale")
    return Axis(
        field=field,
        kind=kind,
        title=_title(title) or default,
        aggregate=aggregate,
        starts_at_zero=not (isinstance(scale, dict) and scale.get("zero") is False),
        sort=sort if isinstance(sort, str) else "",
        given=given,
    )


def _title(held: Any) -> str:
    text = held.get("text") if isinstance(held, dict) else held
    return " ".join(map(str, text))[:200] if isinstance(text, list) else text[:200] if isinstance(text, str) else ""


def _mean(found: Sequence[float]) -> float:
    return sum(found) / len(found)


def _median(found: Sequence[float]) -> float:
    ordered = sorted(found)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


_AGGREGATES: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "mean": _mean,
    "average": _mean,
    "sum": sum,
    "min": min,
    "max": max,
    "median": _median,
    "count": len,
}


def _points(rows: Sequence[Mapping[str, Any]], x: Axis, y: Axis, series: str) -> list[Point]:
    if x.aggregate and y.aggregate:
        return []
    if not x.aggregate and not y.aggregate:
        read = ((_value(row, x), _value(row, y), _word(row.get(series)) if series else "") for row in rows)
        return [Point(x=a, y=b, series=c) for a, b, c in read if a is not None and b is not None]
    by, over = (y, x) if x.aggregate else (x, y)
    groups: dict[tuple[float | str, str], list[float]] = {}
    for row in rows:
        key = _value(row, by)
        number = 0.0 if over.aggregate == "count" else _number(row.get(over.field))
        if key is not None and number is not None:
            groups.setdefault((key, _word(row.get(series)) if series else ""), []).append(number)
    found: list[Point] = []
    for (key, one), numbers in groups.items():
        value = float(_AGGREGATES[over.aggregate](numbers))
        found.append(Point(x=value if x.aggregate else key, y=key if x.aggregate else value, series=one))
    return found


def _value(row: Mapping[str, Any], axis: Axis) -> float | str | None:
    held = row.get(axis.field)
    match axis.kind:
        case "number":
            return _number(held)
        case "time":
            return _time(held)
        case "group":
            return _word(held) if held is not None else None


def _number(held: Any) -> float | None:
    is_number = isinstance(held, int | float) and not isinstance(held, bool) and abs(held) < 1e300
    return float(held) if is_number and math.isfinite(held) else None


def _time(held: Any) -> float | None:
    if isinstance(held, int | float):
        number = _number(held)
        return None if number is None or abs(number) > 4e14 else number / 1_000
    try:
        return datetime.fromisoformat(str(held)[:40]).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _word(held: Any) -> str:
    if not isinstance(held, str | int | float):
        return "" if held is None else "…"
    return (str(int(held)) if isinstance(held, float) and held.is_integer() else str(held))[:60]


def _is_drawable(mark: Mark, x: Axis, y: Axis, points: Sequence[Point]) -> bool:
    kinds = (x.kind, y.kind)
    groups = {str(value) for point in points for value, axis in ((point.x, x), (point.y, y)) if axis.kind == "group"}
    series = {point.series for point in points}
    if len(groups) > _MOST_GROUPS or len(series) > _MOST_SERIES:
        return False
    match mark:
        case "bar":
            # One end of a bar is zero, and no two may stand in the same place: they would be stacked.
            is_one_each = len({(point.y if y.kind == "group" else point.x) for point in points}) == len(points)
            return kinds in {("group", "number"), ("time", "number"), ("number", "group")} and is_one_each
        case "line":
            return kinds[1] == "number"
        case "area":
            return kinds[1] == "number" and len(series) == 1 and x.kind != "group"
        case "point":
            return True
