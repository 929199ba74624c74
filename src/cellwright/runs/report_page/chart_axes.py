"""The directions of a chart: what each layer asks of `x` and `y`, and the one axis that all of them share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from cellwright.runs.report_page.chart_values import (
    AGGREGATES,
    KINDS,
    Kind,
    Place,
    Row,
    has_only,
    lines,
    mapping,
    moment,
    number,
    place,
    word,
)

_KEYS: Final = frozenset({
    "aggregate", "axis", "bin", "datum", "field", "legend", "scale", "sort", "stack", "title", "type",
})  # fmt: skip
_SECOND_KEYS: Final = frozenset({"field", "title", "type"})
_SCALE_KEYS: Final = frozenset({"domain", "nice", "type", "zero"})
_SCALE_TYPES: Final = frozenset({"band", "linear", "log", "point", "time", "utc"})
_SORTS: Final = frozenset({"ascending", "descending", "x", "-x", "y", "-y"})
_NARROWEST: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """What one layer shows along one direction."""

    kind: Kind
    field: str = ""
    constant: Place | None = None
    """A place that is the same for every row."""
    second: str = ""
    """The field of the other end, if the mark reaches from one place to another."""
    is_binned: bool = False
    """The two ends are the edges of a bin: a bar stands on them instead of lying between them."""
    aggregate: str = ""
    title: str = ""
    called: str = ""
    """The title if none is said."""
    is_log: bool = False
    domain: tuple[float, float] | None = None
    is_nice: bool = True
    zero: bool | None = None
    """Whether the axis must hold zero; None: whatever is usual for the mark."""
    sort: str | None = None
    """How groups are ordered: `source` is as they come; None where nothing is said."""
    given: tuple[str, ...] = ()
    """Groups in an order that was spelled out."""
    is_stacked: bool = True
    is_percent: bool = False

    def place_in(self, row: Row) -> Place | None:
        """Where a row stands."""
        return self.constant if self.constant is not None else place(row.get(self.field), self.kind)

    def end_in(self, row: Row) -> float | None:
        """Where its other end is."""
        end = place(row.get(self.second), self.kind) if self.second and self.kind != "group" else None
        return end if isinstance(end, float) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One direction of the whole chart."""

    kind: Kind
    title: str
    is_log: bool = False
    domain: tuple[float, float] | None = None
    is_nice: bool = True
    has_zero: bool = False
    sort: str = "ascending"
    given: tuple[str, ...] = ()
    is_percent: bool = False


def read_channel(held: Any, second: Any) -> Channel | None:
    """What an encoding says of one direction; None if anything in it is not understood."""
    if not has_only(held, _KEYS) or (second is not None and not has_only(second, _SECOND_KEYS)):
        return None
    channel = mapping(held)
    kind, constant = _kind_and_constant(channel)
    field, aggregate, end = channel.get("field", ""), channel.get("aggregate", ""), mapping(second).get("field", "")
    is_known = isinstance(field, str) and isinstance(end, str) and isinstance(aggregate, str)
    if kind is None or not is_known or aggregate not in {"", *AGGREGATES}:
        return None
    scale, order = _scale(channel.get("scale"), kind), _order(channel, kind)
    if scale is None or order is None or not (field or aggregate == "count" or constant is not None):
        return None
    if channel.get("bin") not in (None, False, "binned") or channel.get("stack") not in (None, False, True, "zero"):
        return None
    axis = mapping(channel.get("axis"))
    title = lines(channel.get("title")) or lines(axis.get("title"))
    return Channel(
        kind=kind,
        field=field,
        constant=constant,
        second=end,
        is_binned=channel.get("bin") == "binned",
        aggregate=aggregate,
        title=" ".join(title)[:200],
        called=_called(field, aggregate, end),
        is_stacked=bool(channel.get("stack", True)),
        is_percent=str(axis.get("format"))[-1:] == "%",
        **scale,
        **order,
    )


def _kind_and_constant(channel: Mapping[str, Any]) -> tuple[Kind | None, Place | None]:
    kind = KINDS.get(str(channel.get("type")))
    if "datum" not in channel:
        return kind, None
    kind = kind or ("number" if number(channel["datum"]) is not None else None)
    constant = place(channel["datum"], kind) if kind else None
    return (kind, constant) if constant is not None else (None, None)


def _order(channel: Mapping[str, Any], kind: Kind) -> dict[str, Any] | None:
    if "sort" not in channel:
        return {}
    sort = channel["sort"]
    if sort is None:
        return {"sort": "source"} if kind == "group" else {}
    if isinstance(sort, list):
        return {"sort": "given", "given": tuple(map(word, sort[:100]))} if kind == "group" and sort else None
    if not isinstance(sort, str) or sort not in _SORTS or (kind != "group" and sort != "ascending"):
        return None
    return {"sort": sort}


def _scale(held: Any, kind: Kind) -> dict[str, Any] | None:
    """How places are spread, as fields of a channel; None if it is not understood."""
    if held is None:
        return {}
    if not has_only(held, _SCALE_KEYS):
        return None
    scale = mapping(held)
    kind_of_scale = scale.get("type", "linear")
    if not isinstance(kind_of_scale, str) or kind_of_scale not in _SCALE_TYPES:
        return None
    is_log = kind_of_scale == "log"
    if is_log and kind != "number":
        return None
    found: dict[str, Any] = {"is_log": is_log, "is_nice": scale.get("nice") is not False}
    if isinstance(scale.get("zero"), bool):
        found["zero"] = scale["zero"]
    if scale.get("domain") is not None:
        found["domain"] = _domain(scale["domain"], kind)
        if found["domain"] is None or (is_log and found["domain"][0] < 1e-200):
            return None
    return found


def _domain(held: Any, kind: Kind) -> tuple[float, float] | None:
    if kind == "group" or not isinstance(held, list) or len(held) != 2:
        return None
    low, high = (number(end) if kind == "number" else moment(end) for end in held)
    if low is None or high is None or high - low <= max(abs(low), abs(high)) * _NARROWEST + 1e-200:
        return None
    return low, high


Orientation = Literal["upright", "lying"]


def orientation(x: Channel | None, y: Channel | None) -> Orientation:
    """Whether the mark is measured upwards or sideways."""
    if x is None or y is None:
        return "upright" if x is None else "lying"
    if x.second and not y.second:
        return "upright" if x.is_binned else "lying"
    if y.second and not x.second:
        return "lying" if y.is_binned else "upright"
    return "lying" if y.kind == "group" or (y.kind == "time" and x.kind == "number") else "upright"


def wants_zero(channel: Channel, mark: str, *, is_measured: bool) -> bool:
    """Whether zero belongs on the axis if nobody says: where lengths are read off it."""
    if channel.kind != "number" or channel.is_log or channel.is_binned or channel.domain is not None:
        return False
    return is_measured if mark in {"bar", "area", "line"} else True


def shared_axis(channels: Sequence[tuple[Channel, bool]]) -> Axis | None:
    """The axis of all layers, of (what a layer asks, whether it wants zero); None if they cannot share one."""
    asked = [channel for channel, _ in channels]
    if not asked or len({(channel.kind, channel.is_log) for channel in asked}) > 1:
        return None
    domains = {channel.domain for channel in asked if channel.domain is not None}
    sorts = {(channel.sort, channel.given) for channel in asked if channel.sort is not None}
    if len(domains) > 1 or len(sorts) > 1:
        return None
    said = [channel.zero for channel in asked if channel.zero is not None]
    sort, given = next(iter(sorts), ("ascending", ()))
    return Axis(
        kind=asked[0].kind,
        title=_title(asked),
        is_log=asked[0].is_log,
        domain=next(iter(domains), None),
        is_nice=all(channel.is_nice and not channel.is_binned for channel in asked),
        has_zero=asked[0].kind == "number"
        and not asked[0].is_log
        and not domains
        and (said[0] if said else any(zero for _, zero in channels)),
        sort=sort or "ascending",
        given=given,
        is_percent=any(channel.is_percent for channel in asked),
    )


def _title(asked: Sequence[Channel]) -> str:
    """What is said, each once; if nothing is, what the fields are called."""
    said = dict.fromkeys(channel.title for channel in asked if channel.title)
    return ", ".join(said or dict.fromkeys(channel.called for channel in asked if channel.called))[:200]


def _called(field: str, aggregate: str, end: str) -> str:
    if aggregate:
        return f"{aggregate} of {field}"[:100] if field else "count"
    return (f"{field}, {end}" if end else field)[:100]
