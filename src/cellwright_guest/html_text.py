"""HTML as text a model can read: words, table rows, and what marimo's own elements are.

Only a prefix is looked at, long attributes and scripts are removed before parsing, and parsing stops when there is
enough text: ten million characters of markup cost about as much as a hundred thousand.
"""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any, Final

from cellwright_guest.previews.plain import one_line

_PREFIX: Final = 2_000_000
_PARSED: Final = 100_000
_CHUNK: Final = 8_192
_LONG_ATTRIBUTE: Final = re.compile(r"""=\s*(?:"[^"]{4096,}"|'[^']{4096,}')""")
_SILENT_START: Final = re.compile(r"<(script|style|template|svg)\b", re.IGNORECASE)
_BLOCKS: Final = frozenset({
    "address", "article", "aside", "blockquote", "dd", "div", "dl", "dt", "figcaption", "footer", "form", "h1", "h2",
    "h3", "h4", "h5", "h6", "header", "li", "main", "nav", "ol", "p", "pre", "section", "table", "tbody", "thead", "tr",
    "ul", "details", "summary", "br", "hr",
})  # fmt: skip
_HEADINGS: Final = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_NESTED_DEPTH: Final = 2


class _Enough(Exception):
    pass


def readable(markup: str, room: int, *, depth: int = 0) -> tuple[str, bool]:
    """(text of at most about `room` characters, whether something was left out)."""
    prefix = _without_silent(_LONG_ATTRIBUTE.sub("=''", markup[:_PREFIX]))
    reader = _TextExtractor(room, depth)
    is_cut = len(markup) > _PREFIX or len(prefix) > _PARSED
    try:
        for start in range(0, min(len(prefix), _PARSED), _CHUNK):
            reader.feed(prefix[start : min(start + _CHUNK, _PARSED)])
        reader.close()
    except _Enough:
        is_cut = True
    return reader.result(), is_cut


def _without_silent(markup: str) -> str:
    parts: list[str] = []
    position = 0
    while found := _SILENT_START.search(markup, position):
        parts.append(markup[position : found.start()])
        if found[1].lower() == "svg":
            parts.append("[image/svg+xml]")
        end = re.compile(f"</{found[1]}\\s*>", re.IGNORECASE).search(markup, found.end())
        if end is None:
            return "".join(parts)
        position = end.end()
    parts.append(markup[position:])
    return "".join(parts)


class _TextExtractor(HTMLParser):
    """Collects text until `room` is used up."""

    def __init__(self, room: int, depth: int) -> None:
        super().__init__(convert_charrefs=True)
        self._room = room
        self._depth = depth
        self._used = 0
        self._parts: list[str] = []
        self._preformatted = 0
        self._is_row_start = True

    def result(self) -> str:
        """The text, without empty lines."""
        lines = (line.rstrip() for line in "".join(self._parts).split("\n"))
        return "\n".join(line for line in lines if line.strip())

    def handle_data(self, data: str) -> None:
        """Words."""
        if self._preformatted:
            self._add(data)
        elif data.strip():
            lead = " " if data[:1].isspace() else ""
            self._add(lead + one_line(data) + (" " if data[-1:].isspace() else ""))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Line breaks, cells, and what an element is when it has no words."""
        if tag in _BLOCKS:
            self._add("\n" + _HEADINGS.get(tag, "- " if tag == "li" else ""))
        if tag == "pre":
            self._preformatted += 1
        elif tag == "tr":
            self._is_row_start = True
        elif tag in {"td", "th"}:
            self._add("" if self._is_row_start else " | ")
            self._is_row_start = False
        elif tag == "img":
            words = one_line((dict(attrs).get("alt") or "")[:200])
            self._add(f"[image {words}]" if words else "[image]")
        elif tag in {"video", "audio", "iframe", "canvas"}:
            self._add(f"[{tag}]")
        elif tag.startswith("marimo-"):
            told = _element(tag.removeprefix("marimo-"), dict(attrs), self._room, self._depth)
            self._add(f"\n{told}\n" if told else "")

    def handle_endtag(self, tag: str) -> None:
        """Line breaks."""
        if tag == "pre":
            self._preformatted = max(0, self._preformatted - 1)
        if tag in _BLOCKS:
            self._add("\n")

    def _add(self, text: str) -> None:
        self._parts.append(text)
        self._used += len(text)
        if self._used > self._room or len(self._parts) > self._room + 1_000:
            raise _Enough


def _element(name: str, attributes: dict[str, str | None], room: int, depth: int) -> str:
    """marimo's custom elements keep their content in attributes."""
    if name in {"ui-element", "tex", "accordion", "carousel", "sidebar", "routes", "lazy"}:
        return ""
    label = _words(attributes.get("data-label"), room, depth)
    if name in {"callout-output", "mermaid", "json-output"}:
        held = {"callout-output": "data-html", "mermaid": "data-diagram", "json-output": "data-json-data"}[name]
        return _words(attributes.get(held), room, depth)
    if name == "stat":
        return f"[{label or 'stat'}: {_words(attributes.get('data-value'), room, depth)}]"
    if name == "table":
        rows, columns = attributes.get("data-total-rows") or "?", attributes.get("data-total-columns") or "?"
        return f"[table {rows[:20]} rows × {columns[:20]} columns{f' {label!r}' if label else ''}]"
    value = _words(attributes.get("data-initial-value"), 80, depth)
    return f"[{name[:40]}{f' {label!r}' if label else ''}{f' = {value}' if value not in {'', '{}', '[]'} else ''}]"


def _words(held: str | None, room: int, depth: int) -> str:
    """An attribute is JSON; a string in it may be markup again."""
    if not held or held == "null":
        return ""
    try:
        value: Any = json.loads(held)
    except (ValueError, RecursionError):
        return ""
    if type(value) is not str:
        return held[:room]
    if "<" not in value or depth >= _NESTED_DEPTH:
        return one_line(value[:room])
    return one_line(readable(value, room, depth=depth + 1)[0])
