"""Figures: a line of text and, for matplotlib, a small picture."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, Final

from cellwright_guest.previews import identity

PICTURE_BYTES: Final = 40_000
_PIXELS: Final = 480
_DOTS_PER_INCH: Final = 72
_MOST_POINTS: Final = 100_000
"""Limit of points of a picture: Agg draws in C and cannot be interrupted."""


def text(value: Any, kind: type, packages: set[str], room: int) -> str | None:
    """What a figure shows, in words; None when the value is no figure."""
    if "matplotlib" in packages:
        if identity.is_kind(kind, "matplotlib.figure", "Figure"):
            return _matplotlib(value.axes, value.get_size_inches())
        if identity.is_kind(kind, "matplotlib.axes", "Axes"):
            return _matplotlib([value], value.figure.get_size_inches())
    if "altair" in packages and identity.is_kind(kind, "altair", "TopLevelMixin"):
        return vega(_altair(value), room)
    if "plotly" in packages and kind.__name__ in {"Figure", "FigureWidget"}:
        return _plotly(value)
    return None


def drawable(value: Any, kind: type) -> Any:
    """The matplotlib figure that the value is or belongs to, else None."""
    if identity.is_kind(kind, "matplotlib.axes", "Axes"):
        return value.figure
    return value if identity.is_kind(kind, "matplotlib.figure", "Figure") else None


def picture(value: Any) -> bytes:
    """A PNG of at most `PICTURE_BYTES` of a matplotlib figure, or nothing when it is too much to draw."""
    points = 0
    for count in _points(value):
        points += count
        if points > _MOST_POINTS:
            return b""
    settings = identity.loaded("matplotlib", "rcParams")
    if settings is not None and settings["text.usetex"]:
        return b""  # would start a TeX process
    width, height = (float(inches) for inches in value.get_size_inches())
    dots = min(_DOTS_PER_INCH, _PIXELS / max(width, height, 0.1))
    for attempt in (dots, dots / 2):
        png = io.BytesIO()
        value.savefig(png, format="png", dpi=attempt, metadata={"Software": None})
        if png.tell() <= PICTURE_BYTES:
            return png.getvalue()
    return b""


def _points(figure: Any) -> Iterator[int]:
    for axes in figure.axes:
        for line in axes.lines:
            yield len(line.get_xdata(orig=True))
        for collection in axes.collections:
            yield len(collection.get_offsets())
            for path in collection.get_paths():
                yield len(path.vertices)
        for image in axes.images:
            size = image.get_size()
            yield int(size[0]) * int(size[1]) // 20
        yield 20 * (len(axes.patches) + len(axes.texts) + len(axes.artists))


def _matplotlib(axes: list[Any], inches: Any) -> str:
    parts = [f"figure {float(inches[0]):g}×{float(inches[1]):g} in, {len(axes)} axes"]
    for one in axes[:6]:
        counts = [("line", one.lines), ("collection", one.collections), ("patch", one.patches), ("image", one.images)]
        drawn = ", ".join(f"{len(items)} {name}" for name, items in counts if len(items))
        labels = [
            f"{what} {label[:60]!r}"
            for what, label in (("title", one.get_title()), ("x", one.get_xlabel()), ("y", one.get_ylabel()))
            if label
        ]
        parts.append("; ".join([*labels, drawn or "empty"]))
    return "\n".join(parts)


def _altair(chart: Any) -> dict[str, Any]:
    # to_dict() would convert the chart's data; the attributes hold the same description.
    held: dict[str, Any] = chart._kwds
    spec: dict[str, Any] = {}
    for key in ("mark", "title", "encoding", "layer", "hconcat", "vconcat", "concat", "spec"):
        value = held.get(key)
        if value is not None and type(value).__name__ != "UndefinedType":
            spec[key] = _altair_part(key, value)
    return spec


def _altair_part(key: str, value: Any) -> Any:
    if key in {"layer", "hconcat", "vconcat", "concat"}:
        return [_altair(chart) for chart in value[:8]]
    if key == "spec":
        return _altair(value)
    fields: Any = getattr(value, "_kwds", value)
    if key != "encoding" or type(fields) is not dict:
        return fields
    return {
        channel: getattr(part, "_kwds", part)
        for channel, part in fields.items()
        if type(part).__name__ != "UndefinedType"
    }


def vega(spec: dict[str, Any], room: int) -> str:
    """`bar chart 'Sales': x=month, y=sum(amount)` from a Vega-Lite specification."""
    return "chart " + _vega_view(spec, room, 0)


def _vega_view(spec: dict[str, Any], room: int, depth: int) -> str:
    parts: list[str] = []
    for name, inner in (("mark", "type"), ("title", "text")):
        held: Any = spec.get(name)
        said = held.get(inner) if type(held) is dict else held
        if type(said) is str:
            parts.append(repr(said[:80]) if name == "title" else said[:40])
    encoding = spec.get("encoding")
    if type(encoding) is dict:
        parts.append(", ".join(f"{str(name)[:20]}={_channel(part)}" for name, part in list(encoding.items())[:12]))
    for group in ("layer", "hconcat", "vconcat", "concat"):
        views = spec.get(group)
        if type(views) is list and depth < 3:
            shown = "; ".join(_vega_view(view, room, depth + 1) for view in views[:6] if type(view) is dict)
            parts.append(f"{group} of {len(views)} ({shown})")
    if type(spec.get("spec")) is dict and depth < 3:
        parts.append(_vega_view(spec["spec"], room, depth + 1))
    return " ".join(part for part in parts if part)[:room] or "of no mark"


def _channel(part: Any) -> str:
    if type(part) is list:
        return "[" + ", ".join(_channel(one) for one in part[:4]) + "]"
    if type(part) is not dict:
        return str(part)[:40] if type(part) is str else "…"
    for key in ("shorthand", "field"):
        if type(part.get(key)) is str:
            aggregate = part.get("aggregate")
            name = part[key][:60]
            return f"{aggregate[:20]}({name})" if type(aggregate) is str else name
    aggregate = part.get("aggregate")
    if type(aggregate) is str:
        return f"{aggregate[:20]}()"
    return repr(part["value"])[:40] if type(part.get("value")) in {str, int, float} else "…"


def _plotly(value: Any) -> str:
    traces = value.data
    kinds = ", ".join(str(trace.type)[:30] for trace in traces[:6])
    title = value.layout.title.text
    named = f" {title[:80]!r}" if type(title) is str else ""
    return f"plotly figure{named} with {len(traces)} trace{'s' * (len(traces) != 1)}: {kinds}"
