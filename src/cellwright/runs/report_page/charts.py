"""Charts of a report: found in what cells show, drawn together in a cage by whoever can, shown as still pictures."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from cellwright.runs.report_page.cleaning import escaped

_WIDTH: Final = 640
"""Of a chart that would be as wide as the page it is on."""
_HELD: Final = frozenset({"values", "datasets"})
"""Where rows of data are: what is called like a part of a specification there is none."""
_LONGEST_WORDS: Final = 480


@dataclass(slots=True)
class Charts:
    """The charts of one page. Its cells are gone through twice: to find them, and to show what was drawn meanwhile."""

    drawn: Mapping[str, str] = field(default_factory=dict[str, str])
    """SVG by specification."""
    found: dict[str, None] = field(default_factory=dict[str, None])
    """The specifications that can be drawn, in order."""

    def html(self, spec: object) -> str | None:
        """The chart as an image, in which nothing runs and from which nothing is fetched; None if it was not drawn."""
        if not isinstance(spec, dict):
            return None
        spec = cast("dict[str, Any]", spec)
        text = _text(spec)
        if text is None:
            return None
        self.found[text] = None
        svg = self.drawn.get(text)
        if svg is None:
            return None
        source = base64.b64encode(svg.encode("utf-8", "replace")).decode()
        return f'<img src="data:image/svg+xml;base64,{source}" alt="{escaped(_words(spec))}" class="chart">'


def _text(spec: dict[str, Any]) -> str | None:
    """The specification as it is drawn; None if it does not hold its own data: it would be drawn empty."""
    fitted = {**spec, "width": _WIDTH} if spec.get("width") == "container" else dict(spec)
    if fitted.get("height") == "container":
        del fitted["height"]
    for part in _parts(fitted):
        # A picture has no links.
        part.pop("href", None)
        if not str(part.get("url", "data:")).startswith("data:"):
            return None
    try:
        return json.dumps(fitted, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):
        return None


def _parts(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every object in it, in order, but for the rows of its data."""
    left: list[Any] = [spec]
    while left:
        match left.pop():
            case dict() as part:
                yield part
                left += [held for name, held in reversed(part.items()) if name not in _HELD]
            case list() as parts:
                left += reversed(parts)
            case _:
                pass


# ── for those who cannot see it ──


def _words(spec: dict[str, Any]) -> str:
    """Title, marks and axes in one sentence."""
    parts = list(_parts(spec))
    marks = dict.fromkeys(_kind(part["mark"]) for part in parts if "mark" in part)
    shown = [f"chart ({', '.join(mark for mark in marks if mark)})" if any(marks) else "chart"]
    channels = [part["encoding"] for part in parts if isinstance(part.get("encoding"), dict)]
    for name, said in (("x", "across"), ("y", "up"), ("color", "colours")):
        titles = (_named(channel.get(name)) for channel in channels)
        shown += [f"{said}: {title}" for title in titles if title][:1]
    told = ", ".join(shown)
    # Altair leaves the title of layers with the first of them.
    titles = (" ".join(_lines(part.get("title"))) for part in parts if part is spec or "mark" in part)
    title = next(filter(None, titles), "")
    return f"{title} ({told})"[:_LONGEST_WORDS] if title else told[:_LONGEST_WORDS]


def _kind(mark: object) -> str:
    return str(cast("dict[str, Any]", mark).get("type", "")) if isinstance(mark, dict) else str(mark)


def _named(channel: object) -> str:
    """The title of an axis, or the field on it."""
    if not isinstance(channel, dict):
        return ""
    channel = cast("dict[str, Any]", channel)
    title = " ".join(_lines(channel.get("title")))
    return title or " of ".join(str(channel[part]) for part in ("aggregate", "field") if channel.get(part))


def _lines(title: object) -> list[str]:
    match title:
        case str():
            return title.split()
        case list():
            return [str(line) for line in title]
        case dict():
            return [*_lines(title.get("text")), *_lines(title.get("subtitle"))]
        case _:
            return []
