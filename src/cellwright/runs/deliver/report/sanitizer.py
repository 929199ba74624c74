"""HTML of strangers made harmless: only known elements and attributes are written anew, everything else is left out.

It is read as a row of tokens, as browsers read it, in one pass: hostile markup costs no more than its length.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from html import escape, unescape
from typing import Final, Literal
from urllib.parse import urlsplit

_NAME: Final = re.compile(r"[A-Za-z][^\s/>\x00]{0,100}")
_SPACE: Final = re.compile(r"[\s/]*")
_ATTRIBUTE: Final = re.compile(r"[^\s/>=\x00][^\s/>=]*|=[^\s/>=]*")
_EQUALS: Final = re.compile(r"\s*=\s*")
_BARE: Final = re.compile(r"[^\s>]*")
_TEXT: Final = re.compile(r"<(?=[A-Za-z/!?])")
_RAW: Final = frozenset({
    "iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "textarea", "title", "xmp",
})  # fmt: skip
"""What stands inside is no markup: it ends at the end tag of the same name, or never."""
_MOST_ATTRIBUTES: Final = 200


HtmlToken = tuple[Literal["text", "start", "end"], str, Mapping[str, str]]
"""Words with character references resolved, or a tag with its attributes: the first of each name, as browsers do."""


def tokens(markup: str) -> Iterator[HtmlToken]:
    """The tokens in order. A tag or comment that never ends takes the rest with it."""
    at = 0
    while at < len(markup):
        found = _TEXT.search(markup, at)
        if found is None or found.start() > at:
            end = found.start() if found else len(markup)
            yield "text", unescape(markup[at:end]), {}
            at = end
            continue
        if markup[at + 1] in "!?":
            at = _after_comment(markup, at)
            continue
        name = _NAME.match(markup, at + 1 + (markup[at + 1] == "/"))
        if name is None:
            # `</>` and `</ x>` are comments.
            at = _after(markup, ">", at)
            continue
        attributes, at_end = _tag_attributes(markup, name.end())
        tag = name[0].lower()
        if at_end < 0:
            return
        yield "end" if markup[at + 1] == "/" else "start", tag, attributes
        at = _after_raw(markup, at_end, tag) if tag in _RAW and markup[at + 1] != "/" else at_end


def _after(markup: str, what: str, at: int) -> int:
    found = markup.find(what, at)
    return len(markup) if found < 0 else found + len(what)


def _after_comment(markup: str, at: int) -> int:
    if not markup.startswith("<!--", at) or markup.startswith((">", "->"), at + 4):
        return _after(markup, ">", at)
    return min(_after(markup, "-->", at + 4), _after(markup, "--!>", at + 4))


def _after_raw(markup: str, at: int, tag: str) -> int:
    """Where its end tag stands."""
    found = re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE).search(markup, at)
    return len(markup) if found is None else found.start()


def _tag_attributes(markup: str, at: int) -> tuple[dict[str, str], int]:
    """(the attributes, where the tag ends); -1 where it does not end."""
    attributes: dict[str, str] = {}
    while True:
        space = _SPACE.match(markup, at)
        at = space.end() if space else at
        if at >= len(markup):
            return attributes, -1
        if markup[at] == ">":
            return attributes, at + 1
        name = _ATTRIBUTE.match(markup, at)
        if name is None:
            at += 1
            continue
        value, at = _value(markup, name.end())
        if at < 0:
            return attributes, -1
        if len(attributes) < _MOST_ATTRIBUTES:
            attributes.setdefault(name[0].lower(), unescape(value))


def _value(markup: str, at: int) -> tuple[str, int]:
    equals = _EQUALS.match(markup, at)
    if equals is None:
        return "", at
    at = equals.end()
    if at < len(markup) and markup[at] in "\"'":
        end = markup.find(markup[at], at + 1)
        return (markup[at + 1 : end], end + 1) if end >= 0 else ("", -1)
    bare = _BARE.match(markup, at)
    return (bare[0], bare.end()) if bare else ("", at)


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
_CITED: Final = re.compile(r"(?:evidence|doubt)-[0-9]{1,5}")
"""Places on the page that a citation leads to."""
_ROW: Final = re.compile(r"flex-direction:\s*row\b")

Replace = Callable[[str, Mapping[str, str]], str | None]
"""What stands for an element of its own kind: safe HTML, or None to read on inside it."""


def clean(markup: str, *, replace: Replace = lambda tag, attributes: None) -> str:
    """The markup as far as it is harmless. `replace` may stand in for custom elements, with HTML that is safe."""
    cleaner = _Cleaner(replace)
    for token in tokens(text_of(markup[:LONGEST])):
        cleaner.read(*token)
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
        return "".join([*self._parts, *(f"</{tag}>" for tag in reversed(self._open))])

    def read(self, kind: Literal["text", "start", "end"], text: str, attributes: Mapping[str, str]) -> None:
        """One more token."""
        if kind == "start":
            self._start(text, attributes)
        elif kind == "end":
            self._end(text)
        elif not self._silent:
            self._parts.append(escaped(text))

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._tags += 1
        if self._silent:
            self._nested += tag == self._silent
        elif tag in _SILENT:
            self._silent, self._nested = tag, 0
        elif tag in _LEFT_OUT or self._tags > _MOST_TAGS:
            return
        elif "-" in tag:
            if (replaced := self._replace(tag, attributes)) is not None:
                self._parts.append(replaced)
                # What stands inside such an element is for its script, not for a reader.
                self._silent, self._nested = tag, 0
        elif tag in _PLAIN:
            self._plain(tag, attributes)

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
            href = given.get("href", "")
            if _CITED.fullmatch(href.removeprefix("#")) and href.startswith("#"):
                kept["href"] = href
            elif href := _address(href):
                kept |= {"href": href, "rel": "noopener noreferrer nofollow"}
            if _CITED.fullmatch(given.get("id", "")):
                kept["id"] = given["id"]
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
