"""The colours of a chart: one for all marks, one per group, a ramp over numbers, or one of two by a simple question."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, assert_never, cast

from cellwright.runs.report_page.chart_values import Row, by_size_or_name, has_only, lines, mapping, number, word

PALETTE: Final = (
    "#4c78a8", "#f58518", "#e45756", "#72b7b2", "#54a24b", "#eeca3b", "#b279a2", "#ff9da6", "#9d755d", "#bab0ac",
)  # fmt: skip
_MOST_GROUPS: Final = 24
_PLAIN: Final = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})|[a-z]{3,24}")
_HEX: Final = re.compile(r"#[0-9a-fA-F]{6}")
_KEYS: Final = frozenset({"condition", "field", "legend", "scale", "sort", "title", "type", "value"})
_SCALE_KEYS: Final = frozenset({"domain", "range", "scheme", "type"})
_SCHEMES: Final[Mapping[str, str]] = {
    "viridis": "#440154 #443983 #31688e #21918c #35b779 #90d743 #fde725",
    "cividis": "#00224e #2a3f6d #575d6d #7d7c78 #a59c74 #d2c060 #fee838",
    "magma": "#000004 #2c115f #721f81 #b73779 #f1605d #feb078 #fcfdbf",
    "inferno": "#000004 #320a5e #781c6d #bc3754 #ed6925 #fbb61a #fcffa4",
    "plasma": "#0d0887 #5c01a6 #9c179e #cc4778 #ed7953 #fdb42f #f0f921",
    "blues": "#cfe1f2 #b5d4e9 #93c3df #6daed5 #4b97c9 #2f7ebc #1864aa",
    "greens": "#d3eecd #b7e2b1 #97d494 #73c476 #4db163 #2f984f #157f3b",
    "oranges": "#fdd8b3 #fdbf86 #fda35c #fb8735 #f06b18 #de500b #bf3e02",
    "reds": "#fdc9b4 #fca791 #fb8469 #f26244 #e43e2f #cb2220 #ad0f17",
    "purples": "#e2e1ef #cecee5 #b6b5d8 #9e9bc9 #8782bc #7363ac #61409b",
    "greys": "#e2e2e2 #cecece #b4b4b4 #979797 #7a7a7a #5f5f5f #404040",
}  # fmt: skip
_TEST: Final = re.compile(
    r"datum(?:\.(?P<name>[A-Za-z_]\w{0,60})|\[(['\"])(?P<quoted>[^'\"\\]{1,60})\2\])\s*(?P<sign>[<>]=?|[!=]==?)\s*"
    r"(?P<number>-?\d{1,18}(?:\.\d{1,18})?)"
)
_SIGNS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "===": operator.eq,
    "!=": operator.ne, "!==": operator.ne,
}  # fmt: skip
Bend = Literal["linear", "sqrt", "log"]
_BENDS: Final[Mapping[str, Bend]] = {"linear": "linear", "sqrt": "sqrt", "log": "log"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """The same for all."""

    colour: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """One per group, in the order of the legend."""

    field: str
    colours: Mapping[str, str]
    title: str
    has_legend: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ramped:
    """By the size of a number."""

    field: str
    stops: tuple[str, ...]
    low: float
    high: float
    bend: Bend
    title: str
    has_legend: bool

    def share(self, size: float) -> float:
        """How far along the ramp a number is, from 0 to 1."""
        low, high, at = (_bent(one, self.bend) for one in (self.low, self.high, size))
        return min(1.0, max(0.0, (at - low) / (high - low))) if high > low else 0.5

    def at(self, share: float) -> str:
        """The colour there."""
        along = share * (len(self.stops) - 1)
        first = min(int(along), len(self.stops) - 2)
        return _between(self.stops[first], self.stops[first + 1], along - first)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """One of two, by comparing a number of the row."""

    field: str
    sign: str
    threshold: float
    then: str
    otherwise: str


Paint = Plain | Grouped | Ramped | Chosen


def plain_colour(held: Any) -> str | None:
    """A colour that is only a colour: a name or `#rrggbb`."""
    return held if isinstance(held, str) and _PLAIN.fullmatch(held) else None


def colour_of(row: Row, paint: Paint) -> str | None:
    """The colour of a row's mark; None where it has none and is not drawn."""
    match paint:
        case Plain(colour=colour):
            return colour
        case Grouped(field=field, colours=colours):
            return colours.get(word(row.get(field)))
        case Ramped(field=field):
            size = number(row.get(field))
            return None if size is None else paint.at(paint.share(size))
        case Chosen(field=field, sign=sign, threshold=threshold, then=then, otherwise=otherwise):
            size = number(row.get(field))
            return then if size is not None and _SIGNS[sign](size, threshold) else otherwise
        case _:
            assert_never(paint)


def read_paint(held: Any, rows: Sequence[Row], *, fallback: str, is_heat: bool) -> Paint | None:
    """What a colour channel means for these rows; None if it is not understood."""
    if held is None:
        return Plain(colour=fallback)
    if not has_only(held, _KEYS):
        return None
    channel = mapping(held)
    if "condition" in channel:
        return _conditional(channel, fallback)
    field = channel.get("field")
    if field is None:
        colour = plain_colour(channel.get("value"))
        return Plain(colour=colour) if colour else None
    scale = channel.get("scale")
    if not isinstance(field, str) or (scale is not None and not has_only(scale, _SCALE_KEYS)):
        return None
    legend = channel.get("legend", {})
    title = " ".join(lines(channel.get("title")) or lines(mapping(legend).get("title")) or (field,))[:100]
    match channel.get("type"):
        case "nominal" | "ordinal":
            colours = _colours(channel, mapping(scale), [word(row.get(field)) for row in rows])
            if colours is None:
                return None
            return Grouped(field=field, colours=colours, title=title, has_legend=legend is not None)
        case "quantitative":
            ramp = _ramp(mapping(scale), [number(row.get(field)) for row in rows], is_heat=is_heat)
            if ramp is None:
                return None
            stops, low, high, bend = ramp
            return Ramped(
                field=field, stops=stops, low=low, high=high, bend=bend, title=title, has_legend=legend is not None
            )
        case _:
            return None


def _conditional(channel: Mapping[str, Any], fallback: str) -> Paint | None:
    condition = mapping(channel.get("condition"))
    then, otherwise = plain_colour(condition.get("value")), plain_colour(channel.get("value", fallback))
    if then is None or otherwise is None or "field" in channel:
        return None
    if "param" in condition:
        # Nothing is selected on a page that stands still, which selects everything, unless the chart says otherwise.
        return Plain(colour=otherwise if condition.get("empty") is False else then)
    found = _TEST.fullmatch(str(condition.get("test")).strip()[:200])
    if found is None:
        return None
    return Chosen(
        field=found["name"] or found["quoted"],
        sign=found["sign"],
        threshold=float(found["number"]),
        then=then,
        otherwise=otherwise,
    )


def _colours(channel: Mapping[str, Any], scale: Mapping[str, Any], values: Iterable[str]) -> dict[str, str] | None:
    """Group to colour, in the order of the legend."""
    groups, wanted = list(dict.fromkeys(values)), scale.get("range")
    match channel.get("sort", "ascending"):
        case None:
            pass
        case "ascending" | "descending" as sort:
            groups.sort(key=by_size_or_name, reverse=sort == "descending")
        case list() as given:
            order = [word(one) for one in cast(list[Any], given)[:100]]
            groups.sort(key=lambda group: order.index(group) if group in order else len(order))
        case _:
            return None
    if isinstance(domain := scale.get("domain"), list):
        first = [word(one) for one in cast(list[Any], domain)[:_MOST_GROUPS]]
        groups = [*dict.fromkeys(first), *(group for group in groups if group not in first)]
    palette = _all_plain(wanted) if wanted is not None else PALETTE
    if palette is None or len(groups) > min(_MOST_GROUPS, max(len(palette), len(PALETTE))):
        return None
    return {group: palette[at % len(palette)] for at, group in enumerate(groups)}


def _all_plain(held: Any) -> tuple[str, ...] | None:
    colours = [plain_colour(one) for one in cast(list[Any], held)[:100]] if isinstance(held, list) else []
    return tuple(filter(None, colours)) if colours and all(colours) else None


def _ramp(
    scale: Mapping[str, Any], sizes: Sequence[float | None], *, is_heat: bool
) -> tuple[tuple[str, ...], float, float, Bend] | None:
    """(the colours along it, its ends, how it bends); None if it is not understood."""
    if scale.get("range") is not None:
        stops = _all_plain(scale["range"]) or ()
    else:
        scheme = scale.get("scheme", "viridis" if is_heat else "blues")
        stops = tuple(_SCHEMES.get(scheme, "").split()) if isinstance(scheme, str) else ()
    bend = _BENDS.get(str(scale.get("type", "linear")))
    found = [size for size in sizes if size is not None]
    ends = [number(end) for end in scale["domain"]] if isinstance(scale.get("domain"), list) else found
    known = [end for end in ends if end is not None]
    if len(stops) < 2 or not all(map(_HEX.fullmatch, stops)) or bend is None or not known or len(known) != len(ends):
        return None
    if "domain" in scale and (len(known) != 2 or known[0] >= known[1]):
        return None
    low, high = min(known), max(known)
    return None if bend != "linear" and low <= 0 and (bend == "log" or low < 0) else (stops, low, high, bend)


def _bent(size: float, bend: Bend) -> float:
    match bend:
        case "linear":
            return size
        case "sqrt":
            return math.sqrt(max(size, 0.0))
        case "log":
            return math.log10(max(size, 1e-300))


def _between(first: str, second: str, share: float) -> str:
    ends = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (first, second)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(*ends, strict=True))
