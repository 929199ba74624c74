"""A Vega-Lite specification read as a plain chart: layers of marks over two axes; or as nothing, if it is not plain.

Whatever is not understood to the last word (facets, transforms, sizes by a field, maps) is refused: a wrong picture
would be worse than a note. The specification comes from a notebook: every number is checked, every text cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from cellwright.runs.report_page.chart_axes import (
    Axis,
    Channel,
    Orientation,
    orientation,
    read_channel,
    shared_axis,
    wants_zero,
)
from cellwright.runs.report_page.chart_colours import Grouped, Paint, Ramped, colour_of, read_paint
from cellwright.runs.report_page.chart_marks import MARKS, Point, Style, is_drawable, read_style, stacked
from cellwright.runs.report_page.chart_values import AGGREGATES, Row, lines, mapping, number, word

_MOST_ROWS: Final = 5_000
_MOST_LAYERS: Final = 8
_MOST_GROUPS: Final = 80
_SMALLEST: Final = 1e-200
"""The least number that a logarithmic axis shows."""
_MEASURED: Final = "\0measured"
"""The field of a number that was put together from many rows; no column of a table is called that."""
_UNIT: Final = frozenset({
    "data", "description", "encoding", "height", "mark", "name", "params", "title", "view", "width",
})  # fmt: skip
_TOP: Final = frozenset({"$schema", "autosize", "background", "config", "datasets", "padding", "usermeta"})
_CHANNELS: Final = frozenset({"x", "y", "x2", "y2", "color", "tooltip", "opacity", "order", "detail"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Marks of one kind."""

    style: Style
    orientation: Orientation
    x: Channel | None
    y: Channel | None
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart that can be drawn truthfully."""

    title: tuple[str, ...]
    subtitle: tuple[str, ...]
    x: Axis
    y: Axis
    layers: tuple[Layer, ...]
    legend: Grouped | Ramped | None
    height: float | None = None
    """Of the space between the axes; None if the chart does not say."""
    step: float | None = None
    """What each group on the upright axis has of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unit:
    """One layer as it was asked for."""

    style: Style
    x: Channel | None
    y: Channel | None
    colour: Any
    detail: tuple[str, ...]
    order: str
    rows: Sequence[Row]

    @property
    def orientation(self) -> Orientation:
        return orientation(self.x, self.y)

    @property
    def colour_field(self) -> str:
        field = mapping(self.colour).get("field")
        return field if isinstance(field, str) else ""


def read_chart(spec: Mapping[str, Any]) -> Chart | None:
    """The chart in a specification; None if it is not plain enough."""
    units = [_aggregated(unit) for unit in _units(spec)]
    if not units or len({unit.colour_field for unit in units if unit.colour_field}) > 1:
        return None
    axes = [_axis(units, "x"), _axis(units, "y")]
    paints = _paints(units)
    if axes[0] is None or axes[1] is None or paints is None:
        return None
    layers = tuple(_layer(unit, paint) for unit, paint in zip(units, paints, strict=True))
    if not all(layer.points and is_drawable(layer.style.mark, layer.x, layer.y, layer.points) for layer in layers):
        return None
    if sum(len(layer.points) for layer in layers) > 2 * _MOST_ROWS:
        return None
    if any(_groups(layers, which) > _MOST_GROUPS for which in ("x", "y")) or not _fits_log(axes[0], axes[1], layers):
        return None
    title = spec.get("title") or next((mapping(one).get("title") for one in _parts(spec)), None)
    height = spec.get("height")
    return Chart(
        title=lines(title),
        subtitle=lines(mapping(title).get("subtitle")),
        x=axes[0],
        y=axes[1],
        layers=layers,
        legend=next((paint for paint in paints if isinstance(paint, Grouped | Ramped) and paint.has_legend), None),
        height=number(height),
        step=number(mapping(height).get("step")),
    )


# ── the layers, as they were asked for ──


def _parts(spec: Mapping[str, Any]) -> list[Any]:
    layers = spec.get("layer")
    return cast(list[Any], layers) if isinstance(layers, list) else []


def _units(spec: Mapping[str, Any]) -> list[_Unit]:
    """What each layer asks for; none at all if anything in it is not understood."""
    if "layer" not in spec:
        found = [_unit(spec, spec, _UNIT | _TOP)]
    elif "mark" in spec or not set(spec) <= _UNIT | _TOP | {"layer"} or len(_parts(spec)) > _MOST_LAYERS:
        return []
    else:
        found = [_unit(mapping(part), spec, _UNIT) for part in _parts(spec)]
    units = [unit for unit in found if unit is not None]
    return units if len(units) == len(found) else []


def _unit(part: Mapping[str, Any], whole: Mapping[str, Any], known: frozenset[str]) -> _Unit | None:
    mark = mapping(part.get("mark")).get("type") if isinstance(part.get("mark"), dict) else part.get("mark")
    encoding = {**mapping(whole.get("encoding")), **mapping(part.get("encoding"))}
    if not set(part) <= known or not isinstance(mark, str) or mark not in MARKS or not set(encoding) <= _CHANNELS:
        return None
    style = read_style(MARKS[mark], mark, mapping(part.get("mark")), encoding.get("opacity"))
    rows = _rows(part.get("data", whole.get("data")), whole.get("datasets"))
    x, y = (read_channel(encoding[name], encoding.get(f"{name}2")) if name in encoding else None for name in ("x", "y"))
    is_unread = ("x" in encoding) != (x is not None) or ("y" in encoding) != (y is not None)
    detail, order = _fields(encoding.get("detail")), _fields(encoding.get("order"))
    if style is None or rows is None or is_unread or detail is None or order is None or len(order) > 1:
        return None
    is_lone_end = ("x2" in encoding and x is None) or ("y2" in encoding and y is None)
    if is_lone_end or (x is None and y is None):
        return None
    return _Unit(
        style=style, x=x, y=y, colour=encoding.get("color"), detail=detail, order="".join(order), rows=rows
    )  # fmt: skip


def _rows(data: Any, named: Any) -> Sequence[Row] | None:
    rows = mapping(data).get("values")
    name = mapping(data).get("name")
    if rows is None and isinstance(name, str):
        rows = mapping(named).get(name)
    if not isinstance(rows, list) or not 0 < len(cast(list[Any], rows)) <= _MOST_ROWS or "format" in mapping(data):
        return None
    return cast(list[Row], rows) if all(isinstance(row, dict) for row in cast(list[Any], rows)) else None


def _fields(held: Any) -> tuple[str, ...] | None:
    """The fields of a channel that only tells rows apart or puts them in order."""
    every = cast(list[Any], held) if isinstance(held, list) else [] if held is None else [held]
    found = [mapping(one).get("field") for one in every[:8]]
    is_plain = all(set(mapping(one)) <= {"field", "type", "title"} for one in every)
    return tuple(cast(list[str], found)) if is_plain and all(isinstance(one, str) for one in found) else None


# ── the marks ──


def _aggregated(unit: _Unit) -> _Unit:
    """The unit with one row for each group, if it asks for that."""
    by, over = (unit.y, unit.x) if unit.x is not None and unit.x.aggregate else (unit.x, unit.y)
    if over is None or not over.aggregate:
        return unit
    # Two measures, or bars between two of them, would need a row for each group of both.
    if over.second or (by is not None and (by.aggregate or by.second)):
        return replace(unit, rows=[])
    kept = [field for field in (by.field if by else "", unit.colour_field, unit.order, *unit.detail) if field]
    groups: dict[tuple[str, ...], tuple[Row, list[float]]] = {}
    for row in unit.rows:
        size = 0.0 if over.aggregate == "count" else number(row.get(over.field))
        if size is not None:
            key = tuple(repr(row.get(field))[:200] for field in kept)
            groups.setdefault(key, (row, []))[1].append(size)
    rows = [
        {**{field: row.get(field) for field in kept}, _MEASURED: float(AGGREGATES[over.aggregate](sizes))}
        for row, sizes in groups.values()
    ]
    measured = replace(over, field=_MEASURED, aggregate="")
    return replace(unit, rows=rows, x=measured if over is unit.x else by, y=by if over is unit.x else measured)


def _axis(units: Sequence[_Unit], which: str) -> Axis | None:
    asked: list[tuple[Channel, bool]] = []
    for unit in units:
        channel = unit.x if which == "x" else unit.y
        if channel is not None:
            is_measured = (unit.orientation == "lying") == (which == "x")
            asked.append((channel, wants_zero(channel, unit.style.mark, is_measured=is_measured)))
    return shared_axis(asked)


def _paints(units: Sequence[_Unit]) -> list[Paint] | None:
    """The colours of each layer; groups are the same in all of them."""
    coloured = [row for unit in units if unit.colour_field for row in unit.rows]
    found = [
        read_paint(unit.colour, coloured, fallback=unit.style.colour, is_heat=unit.style.mark == "rect")
        for unit in units
    ]
    paints = [paint for paint in found if paint is not None]
    return paints if len(paints) == len(found) else None


def _layer(unit: _Unit, paint: Paint) -> Layer:
    points: list[Point] = []
    series = unit.colour_field if isinstance(paint, Grouped) else ""
    for row in unit.rows:
        colour = colour_of(row, paint)
        x, y = (channel.place_in(row) if channel else None for channel in (unit.x, unit.y))
        is_missing = (unit.x is not None and x is None) or (unit.y is not None and y is None)
        is_gap = unit.style.mark == "line" and x is not None and y is None
        ends = [channel.end_in(row) if channel else None for channel in (unit.x, unit.y)]
        is_torn = any(
            channel is not None and channel.second and end is None
            for channel, end in zip((unit.x, unit.y), ends, strict=True)
        )
        if colour is None or is_torn or (is_missing and not is_gap):
            continue
        line = tuple(word(row.get(field)) for field in ((series,) if series else ()) + unit.detail)
        order = word(row.get(unit.order)) if unit.order else None
        points.append(Point(x=x, y=y, x_end=ends[0], y_end=ends[1], line=line, order=order, colour=colour))
    if unit.style.mark == "bar":
        points = stacked(points, unit.x, unit.y, is_grouped=bool(series or unit.detail))
    if all(point.x is None or point.y is None for point in points) and unit.x is not None and unit.y is not None:
        points = []
    return Layer(style=unit.style, orientation=unit.orientation, x=unit.x, y=unit.y, points=tuple(points))


def _groups(layers: Sequence[Layer], which: str) -> int:
    places = (point.x if which == "x" else point.y for layer in layers for point in layer.points)
    return len({place for place in places if isinstance(place, str)})


def _fits_log(x: Axis, y: Axis, layers: Sequence[Layer]) -> bool:
    """A logarithmic axis has no zero: nothing may stand there, and no bar begin there."""
    for layer in layers:
        is_lying = layer.orientation == "lying"
        channels = ((x, layer.x, is_lying), (y, layer.y, not is_lying))
        for axis, channel, is_measured in channels:
            is_from_zero = layer.style.mark in {"bar", "area"} and is_measured and not (channel and channel.second)
            if axis.is_log and is_from_zero:
                return False
        for point in layer.points:
            places = [*((point.x, point.x_end) if x.is_log else ()), *((point.y, point.y_end) if y.is_log else ())]
            if any(isinstance(one, float) and one < _SMALLEST for one in places):
                return False
    return True
