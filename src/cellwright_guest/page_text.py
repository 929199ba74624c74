"""A web page as text: headings, paragraphs, lists, tables and links; nothing that a reader would not see."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urljoin

_SKIPPED: Final = frozenset(
    {"script", "style", "noscript", "template", "svg", "iframe", "object", "head", "nav", "footer", "form", "button"}
)
_AROUND: Final = frozenset({"navigation", "search", "banner", "contentinfo"})
"""Roles of what stands around a page's own text."""
_EMPTY: Final = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_BLOCKS: Final = frozenset(
    {"p", "div", "section", "article", "main", "ul", "ol", "table", "blockquote", "pre", "dl", "dt", "dd", "hr"}
)
_HEADINGS: Final = {f"h{level}": f"\n\n{'#' * level} " for level in range(1, 7)}
_SMALL: Final = {"li": "\n- ", "td": " | ", "th": " | ", "br": "\n", "tr": "\n"}
_BEGINNINGS: Final = _HEADINGS | dict.fromkeys(_BLOCKS, "\n\n") | _SMALL
"""What stands where a tag begins."""
_INVISIBLE: Final = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0(?!\.)", re.I
)
_BLANK_LINES: Final = re.compile(r"\n\s*\n\s*")


def readable(html: str, address: str) -> tuple[str, str]:
    """Title and text of a page; links are absolute."""
    reader = _PageReader(address)
    reader.feed(html)
    reader.close()
    text = _BLANK_LINES.sub("\n\n", "".join(reader.parts))
    lines = [re.sub(r"[ \t\xa0]+", " ", line).strip() for line in text.splitlines()]
    return " ".join("".join(reader.title).split()), "\n".join(lines).strip()


class _PageReader(HTMLParser):
    def __init__(self, address: str) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title: list[str] = []
        self._address = address
        self._skipped_in: list[str] = []
        """The tags open since the first one that is not shown."""
        self._is_title = False
        self._links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_title = tag == "title"
        if self._skipped_in == ["p"] and (tag in _BLOCKS or tag in _HEADINGS):
            # A paragraph ends where the next block begins, though nothing says so.
            self._skipped_in.clear()
        given = dict(attrs)
        # What nobody would see is no part of what the page says; often it is there for models only.
        is_hidden = (
            "hidden" in given or given.get("aria-hidden") == "true" or _INVISIBLE.search(given.get("style") or "")
        )
        is_around = (given.get("role") or "").strip().lower() in _AROUND
        if self._skipped_in or tag in _SKIPPED or is_hidden or is_around:
            if tag not in _EMPTY:
                self._skipped_in.append(tag)
            return
        self.parts.append(_BEGINNINGS.get(tag, ""))
        if tag == "a":
            self._links.append(_absolute(self._address, given.get("href") or ""))

    def handle_endtag(self, tag: str) -> None:
        self._is_title = False
        if tag in self._skipped_in:
            # Pages forget to close tags: everything opened inside ends with it.
            at = len(self._skipped_in) - 1 - self._skipped_in[::-1].index(tag)
            del self._skipped_in[at:]
        elif self._skipped_in:
            return
        elif tag == "a" and self._links:
            link = self._links.pop()
            self.parts.append(f" ({link})" if link else "")
        elif tag in _HEADINGS or tag in _BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if self._is_title:
            self.title.append(data)
        elif not self._skipped_in:
            self.parts.append(data)


def _absolute(address: str, link: str) -> str:
    try:
        found = urljoin(address, link)
    except ValueError:
        return ""
    return found if found.startswith(("http://", "https://")) and len(found) < 500 else ""
