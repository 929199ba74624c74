"""Ways to look at a text: as it stands, with escapes undone, without blanks, as bare letters and digits.

A view remembers how to find its bytes again in the text, and works that out only when something was found.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Final

from cellwright.policy.masking.forms import INVISIBLE, KEPT_BARE, KEPT_WITHOUT_BLANKS, bare, without_blanks

DEEPEST_ESCAPE: Final = 2
"""Escapes inside escapes are undone so often: JSON in JSON, a URL in a URL."""

_ESCAPE: Final = re.compile(
    rb"%(?P<percent>[0-9A-Fa-f]{2})"
    rb"|\\u(?P<high>[Dd][89ABab][0-9A-Fa-f]{2})\\u(?P<low>[Dd][C-Fc-f][0-9A-Fa-f]{2})"
    rb"|\\(?:u(?P<wide>[0-9A-Fa-f]{4})|u\{(?P<braced>[0-9A-Fa-f]{1,6})\}|U(?P<long>[0-9A-Fa-f]{8}))"
    rb"|\\x(?P<narrow>[0-9A-Fa-f]{2})"
    rb"|&(?P<entity>\#[0-9]{1,7}|\#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,8});"
    rb"|\\(?P<blank>[nrtbfv0])"
    rb"|\\(?P<literal>.)",
    flags=re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A text looked at in one way."""

    data: bytes
    locate: Callable[[], tuple[Sequence[int], Sequence[int]]]
    """For each byte of `data` the bytes of the text it stands for: first ones, and ends."""


def views_of(raw: bytes, *, with_blanks: bool) -> Iterator[View]:
    """Every way to look at a text, those that keep blanks only if told; the last one has the fewest bytes."""
    view = View(data=raw, locate=lambda: (range(len(raw)), range(1, len(raw) + 1)))
    yield from _squeezed_views(view, with_blanks=with_blanks)
    for _ in range(DEEPEST_ESCAPE):
        unescaped = _unescaped(view)
        if unescaped is None:
            return
        yield from _squeezed_views(unescaped, with_blanks=with_blanks)
        view = unescaped


def _squeezed_views(view: View, *, with_blanks: bool) -> Iterator[View]:
    if with_blanks:
        yield View(data=view.data.lower(), locate=view.locate)
    visible = _without_invisible(view)
    for data, kept in (
        (without_blanks(visible.data), KEPT_WITHOUT_BLANKS),
        (bare(visible.data), KEPT_BARE),
    ):
        yield View(data=data, locate=_choose(visible, lambda kept=kept: visible.data.translate(kept)))


def _choose(view: View, chosen: Callable[[], bytes]) -> Callable[[], tuple[Sequence[int], Sequence[int]]]:
    def locate() -> tuple[Sequence[int], Sequence[int]]:
        starts, ends = view.locate()
        mask = chosen()
        return list(compress(starts, mask)), list(compress(ends, mask))

    return locate


def _without_invisible(view: View) -> View:
    if view.data.isascii():
        return view
    # Bytes that are no text, once escapes are undone, become lone surrogates and so stay one byte each.
    text = view.data.decode("utf-8", "surrogateescape")
    spans = [found.span() for found in INVISIBLE.finditer(text)]
    if not spans:
        return view
    chosen, at = bytearray(), 0
    for start, end in spans:
        chosen += b"\1" * _size(text[at:start]) + bytes(_size(text[start:end]))
        at = end
    chosen += b"\1" * _size(text[at:])
    mask = bytes(chosen)
    return View(data=bytes(compress(view.data, mask)), locate=_choose(view, lambda: mask))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _unescaped(view: View) -> View | None:
    """The text with URL, JSON, Python and HTML escapes undone; None if there are none."""
    raw = view.data
    if b"\\" not in raw and b"%" not in raw and b"&" not in raw:
        return None
    matches = list(_ESCAPE.finditer(raw))
    if not matches:
        return None
    meanings = [_meaning(found) for found in matches]
    parts, at = list[bytes](), 0
    for found, meaning in zip(matches, meanings, strict=True):
        parts += (raw[at : found.start()], meaning)
        at = found.end()
    parts.append(raw[at:])

    def locate() -> tuple[Sequence[int], Sequence[int]]:
        first, last = view.locate()
        starts, ends, here = list[int](), list[int](), 0
        for found, meaning in zip(matches, meanings, strict=True):
            starts += [*first[here : found.start()], *[first[found.start()]] * len(meaning)]
            ends += [*last[here : found.start()], *[last[found.end() - 1]] * len(meaning)]
            here = found.end()
        return [*starts, *first[here:]], [*ends, *last[here:]]

    return View(data=b"".join(parts), locate=locate)


def _meaning(found: re.Match[bytes]) -> bytes:
    kind = found.lastgroup or ""
    text = found[kind]
    match kind:
        case "percent" | "narrow":
            return bytes.fromhex(text.decode())
        case "wide" | "braced" | "long":
            return _character(int(text, 16))
        case "low":
            return _character(0x10000 + ((int(found["high"], 16) & 0x3FF) << 10) + (int(text, 16) & 0x3FF))
        case "entity":
            return html.unescape(f"&{text.decode()};").encode("utf-8", "surrogatepass")
        case "blank":
            return b"\n"
        case _:
            return text


def _character(code: int) -> bytes:
    return chr(code).encode("utf-8", "surrogatepass") if code <= 0x10FFFF else b""
