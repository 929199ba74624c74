"""HTML of strangers made harmless: only known elements and attributes are written anew, everything else is left out.

Nothing is passed through. Text and attribute values are escaped, every element that is opened is closed, no element is
written whose content a browser reads differently (script, style, svg, math, templates, forms, frames).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from html import escape
from typing import Final, assert_never
from urllib.parse import urlsplit

from cellwright.runs.report_page.markup import End, Start, Text, Token, tokens

LONGEST: Final = 8 << 20
"""Characters of markup that are looked at; no output is allowed to be as long."""
_DEEPEST: Final = 60
_MOST_TAGS: Final = 100_000

_PLAIN: Final = frozenset({
    "a", "abbr", "b", "blockquote", "br", "caption", "cite", "code", "col", "colgroup", "dd", "del", "details", "dfn",
    "div", "dl", "dt", "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "ins", "kbd",
    "li", "mark", "ol", "p", "pre", "q", "s", "samp", "small", "span", "strong", "sub", "summary", "sup", "table",
    "tbody", "td", "tfoot", "th", "thead", "time", "tr", "u", "ul", "var", "wbr",
})  # fmt: skip
_VOID: Final = frozenset({"br", "col", "hr", "img", "wbr"})
_SILENT: Final = frozenset({
    "applet", "audio", "button", "canvas", "datalist", "dialog", "frameset", "head", "iframe", "map", "math", "noembed",
    "noframes", "noscript", "object", "option", "plaintext", "portal", "script", "select", "slot", "style", "svg",
    "template", "textarea", "title", "video", "xmp",
})  # fmt: skip
"""Elements that go with all that is in them."""
_LEFT_OUT: Final = frozenset({
    "area", "base", "embed", "frame", "input", "link", "meta", "param", "source", "track",
})  # fmt: skip
"""Elements that have nothing in them."""
_DEMOTED: Final = {f"h{level}": f"h{min(level + 1, 6)}" for level in range(1, 7)}
"""The page's own title is the only one of the first level."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_NUMBER: Final = re.compile(r"\d{1,4}(?:\.\d{1,6})?")
_PICTURE: Final = re.compile(
    r"data:image/(png|jpeg|gif|webp|svg\+xml)(?:;charset=utf-8)?;base64,([\w+/\s]+=*)\Z", re.ASCII
)
_ROW: Final = re.compile(r"flex-direction:\s*row\b")

Replace = Callable[[str, Mapping[str, str]], str | None]
"""What stands for an element of its own kind: safe HTML, or None to read on inside it."""


def _nothing(tag: str, attributes: Mapping[str, str]) -> str | None:
    return None


def clean(markup: str, *, replace: Replace = _nothing) -> str:
    """The markup as far as it is harmless. `replace` may stand in for custom elements, with HTML that is safe."""
    cleaner = _Cleaner(replace)
    for token in tokens(text_of(markup[:LONGEST])):
        cleaner.read(token)
    return cleaner.result()


def text_of(text: str) -> str:
    """Text without characters that no page may hold."""
    return _CONTROL.sub("�", text)


def escaped(text: str) -> str:
    """Text as it may stand in a page or an attribute."""
    return escape(text_of(text), quote=True)


def picture(url: str) -> str | None:
    """A picture as a data URL that an `img` may have; None for anything else. An SVG in an `img` runs no scripts."""
    found = _PICTURE.match(url.strip())
    if found is None:
        return None
    try:
        octets = base64.b64decode("".join(found[2].split()), validate=True)
    except (binascii.Error, ValueError):
        return None
    return f"data:image/{found[1]};base64,{base64.b64encode(octets).decode()}"


class _Cleaner:
    """Writes what is allowed, balanced."""

    def __init__(self, replace: Replace) -> None:
        self._replace = replace
        self._parts: list[str] = []
        self._open: list[str] = []
        self._silent = ""
        """The element that is left out with all that is in it."""
        self._nested = 0
        """How many of its kind are open inside it."""
        self._tags = 0

    def result(self) -> str:
        """What was written, with everything closed."""
        closing = (f"</{tag}>" for tag in reversed(self._open))
        return "".join([*self._parts, *closing])

    def read(self, token: Token) -> None:
        """One more token."""
        match token:
            case Text(text=text):
                if not self._silent:
                    self._parts.append(escaped(text))
            case Start(tag=tag, attributes=attributes):
                self._start(tag, attributes)
            case End(tag=tag):
                self._end(tag)
            case _:
                assert_never(token)

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._tags += 1
        if self._silent:
            self._nested += tag == self._silent
        elif tag in _SILENT:
            self._silence(tag)
        elif tag in _LEFT_OUT or self._tags > _MOST_TAGS:
            return
        elif "-" in tag:
            self._custom(tag, attributes)
        elif tag in _PLAIN:
            self._plain(tag, attributes)

    def _silence(self, tag: str) -> None:
        self._silent, self._nested = tag, 0

    def _end(self, tag: str) -> None:
        """An end without a beginning means nothing."""
        if self._silent:
            if tag == self._silent:
                self._nested -= 1
                self._silent = tag if self._nested >= 0 else ""
            return
        written = _DEMOTED.get(tag, tag)
        if written in self._open:
            while (closed := self._open.pop()) != written:
                self._parts.append(f"</{closed}>")
            self._parts.append(f"</{written}>")

    def _custom(self, tag: str, attributes: Mapping[str, str]) -> None:
        replaced = self._replace(tag, attributes)
        if replaced is not None:
            self._parts.append(replaced)
            # What stands inside such an element is for its script, not for a reader.
            self._silence(tag)

    def _plain(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag not in _VOID and len(self._open) >= _DEEPEST:
            return
        written = _DEMOTED.get(tag, tag)
        kept = _attributes(tag, attributes)
        if kept is None:
            return
        self._parts.append(f"<{written}{kept}>")
        if tag not in _VOID:
            self._open.append(written)


def _attributes(tag: str, given: Mapping[str, str]) -> str | None:
    """The attributes to write; None if without them the element makes no sense."""
    kept: dict[str, str] = {}
    if title := given.get("title", ""):
        kept["title"] = title[:500]
    match tag:
        case "a":
            if href := _address(given.get("href", "")):
                kept |= {"href": href, "rel": "noopener noreferrer nofollow"}
        case "img":
            source = picture(given.get("src", ""))
            if source is None:
                return None
            kept |= {"src": source, "alt": given.get("alt", "")[:500], **_sizes(given, "width", "height")}
        case "td" | "th":
            kept |= _sizes(given, "colspan", "rowspan")
        case "col" | "colgroup":
            kept |= _sizes(given, "span")
        case "ol":
            kept |= _sizes(given, "start")
        case "details" if "open" in given:
            kept["open"] = ""
        case "div" if _ROW.search(given.get("style", "")[:500]):
            kept["class"] = "row"
        case _:
            pass
    return "".join(f' {name}="{escaped(value)}"' for name, value in kept.items())


def _sizes(given: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: given[name] for name in names if _NUMBER.fullmatch(given.get(name, ""))}


def _address(href: str) -> str:
    """A link to somewhere else, spelled out; empty for anything that a browser could take for code."""
    address = re.sub(r"[\x00-\x20\x7f-\xa0]+", "", href)[:2_000]
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    is_known = (parts.scheme in {"http", "https"} and bool(parts.netloc)) or (parts.scheme == "mailto" and parts.path)
    return address if is_known else ""
