"""HTML read as a row of tokens, as browsers read it, in one pass: hostile markup costs no more than its length.

The parser of the standard library takes quadratic time for broken tags. What is read here is never written again as it
stands, so a token that a browser would read differently does no harm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Final

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


@dataclass(frozen=True, slots=True)
class Text:
    """Words, with character references resolved."""

    text: str


@dataclass(frozen=True, slots=True)
class Start:
    """An element begins."""

    tag: str
    attributes: dict[str, str]
    """The first of each name, as browsers take them."""


@dataclass(frozen=True, slots=True)
class End:
    """An element ends."""

    tag: str


Token = Text | Start | End


def tokens(markup: str) -> Iterator[Token]:
    """The tokens in order. A tag or comment that never ends takes the rest with it."""
    at = 0
    while at < len(markup):
        found = _TEXT.search(markup, at)
        if found is None or found.start() > at:
            end = found.start() if found else len(markup)
            yield Text(unescape(markup[at:end]))
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
        attributes, at_end = _attributes(markup, name.end())
        tag = name[0].lower()
        if at_end < 0:
            return
        yield End(tag) if markup[at + 1] == "/" else Start(tag, attributes)
        at = _after_raw(markup, at_end, tag) if tag in _RAW and markup[at + 1] != "/" else at_end


def _after(markup: str, what: str, at: int) -> int:
    found = markup.find(what, at)
    return len(markup) if found < 0 else found + len(what)


def _after_comment(markup: str, at: int) -> int:
    if not markup.startswith("<!--", at):
        return _after(markup, ">", at)
    if markup.startswith((">", "->"), at + 4):
        return _after(markup, ">", at)
    return min(_after(markup, "-->", at + 4), _after(markup, "--!>", at + 4))


def _after_raw(markup: str, at: int, tag: str) -> int:
    """Where its end tag stands."""
    found = re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE).search(markup, at)
    return len(markup) if found is None else found.start()


def _attributes(markup: str, at: int) -> tuple[dict[str, str], int]:
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
