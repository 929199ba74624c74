"""What stands in a chart's rows and words, as plain values of bounded size: numbers, moments, groups, titles."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal, cast

Kind = Literal["number", "time", "group"]
KINDS: Final[Mapping[str, Kind]] = {
    "quantitative": "number", "temporal": "time", "nominal": "group", "ordinal": "group",
}  # fmt: skip
Place = float | str
"""Where something stands: a number, a moment in seconds, or the name of a group."""
Row = Mapping[str, Any]

_EARLIEST: Final = datetime(1, 1, 2, tzinfo=UTC).timestamp()
_LATEST: Final = datetime(9999, 12, 30, tzinfo=UTC).timestamp()
_MOST_LINES: Final = 6


def mapping(held: Any) -> Mapping[str, Any]:
    """An object of the specification; empty for anything else."""
    return cast(Mapping[str, Any], held) if isinstance(held, dict) else {}


def has_only(held: Any, keys: frozenset[str]) -> bool:
    """Whether it is an object in which nothing stands that we would not understand."""
    return isinstance(held, dict) and set(cast(dict[str, Any], held)) <= keys


def number(held: Any) -> float | None:
    """A finite number of a size that can be reckoned with."""
    is_number = isinstance(held, int | float) and not isinstance(held, bool) and abs(held) < 1e300
    return float(held) if is_number and math.isfinite(held) else None


def moment(held: Any) -> float | None:
    """Seconds since 1970; a time without a zone is taken as it is written."""
    if isinstance(held, int | float):
        milliseconds = number(held)
        seconds = None if milliseconds is None else milliseconds / 1_000
    else:
        try:
            read = datetime.fromisoformat(str(held)[:40])
            seconds = (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None
    return seconds if seconds is not None and _EARLIEST <= seconds <= _LATEST else None


def word(held: Any) -> str:
    """The name of a group."""
    if held is None:
        return "null"
    if isinstance(held, float) and held.is_integer():
        return str(int(held))[:60]
    return str(held)[:60] if isinstance(held, str | int | float) else "…"


def place(held: Any, kind: Kind) -> Place | None:
    """A value of a row as a place on an axis of this kind; None if it has none there."""
    match kind:
        case "number":
            return number(held)
        case "time":
            return moment(held)
        case "group":
            return word(held)


def by_size_or_name(group: str) -> tuple[int, float, str]:
    """A key that puts numbers first, by size, then words by name."""
    try:
        size = float(group)
    except ValueError:
        size = math.nan
    return (0, size, group) if math.isfinite(size) else (1, 0.0, group)


def lines(held: Any) -> tuple[str, ...]:
    """The lines of a title, however it is written."""
    text = mapping(held).get("text") if isinstance(held, dict) else held
    if isinstance(text, str):
        return tuple(line[:300] for line in text.splitlines()[:_MOST_LINES])
    if isinstance(text, list):
        return tuple(str(line)[:300] for line in cast(list[Any], text)[:_MOST_LINES] if isinstance(line, str | int))
    return ()


def _mean(found: Sequence[float]) -> float:
    return sum(found) / len(found)


def _median(found: Sequence[float]) -> float:
    ordered = sorted(found)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


AGGREGATES: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "mean": _mean,
    "average": _mean,
    "sum": sum,
    "min": min,
    "max": max,
    "median": _median,
    "count": len,
}
