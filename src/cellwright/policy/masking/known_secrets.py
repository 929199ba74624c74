"""Known secrets found in a text by the prints of their forms, in time linear in the text.

A text is looked at as it stands, with escapes undone, without blanks, and as bare letters and digits.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Final

WINDOW: Final = 8
"""Number of consecutive bytes of a secret that are never shown."""

LONGEST_CHAIN: Final = 9
"""Limit of consecutive matches that any form needs before it counts as found."""

# Encodings use few characters, so eight of them turn up by chance; what counts is eight bytes of the secret itself.
_PLAIN_CHAIN: Final = 1
_BASE64_CHAIN: Final = 3


def print_of(window: bytes, salt: bytes) -> bytes:
    """The print of eight bytes."""
    return hashlib.blake2b(window, digest_size=8, key=salt).digest()


def has_blanks(secret: bytes) -> bool:
    """Whether parts of the secret can be told only where blanks are kept."""
    return without_blanks(_visible(secret)) != secret.lower()


def _forms(secret: bytes) -> Iterator[tuple[bytes, int]]:
    """Every spelling that is looked for, as it stands, without blanks, and as bare letters and digits.

    With each, how many prints in a row must be found before it counts as found.
    """
    yield from _squeezed(secret.replace(b" ", b"+"), _PLAIN_CHAIN)
    yield from _squeezed(secret, _PLAIN_CHAIN)
    yield from _squeezed(secret.decode("utf-8", "surrogatepass")[::-1].encode("utf-8", "surrogatepass"), _PLAIN_CHAIN)
    for offset in range(3):
        for encode in (base64.standard_b64encode, base64.urlsafe_b64encode):
            yield from _squeezed(_stable_base64(encode(bytes(offset) + secret), offset, len(secret)), _BASE64_CHAIN)
    yield from _squeezed(secret.hex().encode(), LONGEST_CHAIN)
    yield from _squeezed("".join(f"0x{byte:x}" for byte in secret).encode(), LONGEST_CHAIN)
    yield from _squeezed("".join(str(byte) for byte in secret).encode(), LONGEST_CHAIN)


def _stable_base64(encoded: bytes, offset: int, length: int) -> bytes:
    """The characters that hold bits of the secret only, whatever stands before and behind it."""
    first = -(-offset * 8 // 6)
    return encoded[first : (offset + length) * 8 // 6]


def _squeezed(spelling: bytes, chain: int) -> Iterator[tuple[bytes, int]]:
    visible = _visible(spelling)
    for form in {spelling.lower(), without_blanks(visible), bare(visible)}:
        if len(form) >= WINDOW:
            yield form, min(chain, len(form) - WINDOW + 1)


def _visible(spelling: bytes) -> bytes:
    return INVISIBLE.sub("", spelling.decode("utf-8", "surrogatepass")).encode("utf-8", "surrogatepass")


INVISIBLE: Final = re.compile(
    "[\u0080-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f"
    "\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]+"
)
"""Blanks, zero-width, direction and other format characters outside of ASCII."""

_LOWER: Final = bytes(range(256)).lower()
_BLANKS: Final = bytes(range(33)) + b"\x7f"
_NOT_BARE: Final = bytes(byte for byte in range(128) if not chr(byte).isalnum())

KEPT_WITHOUT_BLANKS: Final = bytes(byte not in _BLANKS for byte in range(256))
KEPT_BARE: Final = bytes(byte not in _NOT_BARE for byte in range(256))


def without_blanks(text: bytes) -> bytes:
    """Lower case, without control characters and blanks."""
    return text.translate(_LOWER, _BLANKS)


def bare(text: bytes) -> bytes:
    """Lower case, without any ASCII character that is no letter or digit."""
    return text.translate(_LOWER, _NOT_BARE)


DEEPEST_ESCAPE: Final = 2
"""Limit of nested escapes that are undone: JSON in JSON, a URL in a URL."""

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
    for data, kept in ((without_blanks(visible.data), KEPT_WITHOUT_BLANKS), (bare(visible.data), KEPT_BARE)):
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


# Every window of eight holds, at one of four neighbouring places, a block of five that starts at a multiple of four.
# Only these blocks are looked up, in a small lossy table; what it lets through is checked by print.
_STRIDE: Final = 4
_BLOCK: Final = WINDOW - _STRIDE + 1
_TABLE_MASK: Final = (1 << 20) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretFinding:
    """What was found, and where: in bytes of a text, and of what the masker gives back in its characters."""

    name: str
    is_known: bool
    """Whether it is a known value, rather than something that looks like a secret."""
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSecrets:
    """The prints of all secrets: enough to find them, not to show them. Good only in the process that made it."""

    salt: bytes = field(repr=False)
    prints: Mapping[bytes, tuple[int, str]] = field(repr=False)
    """By print: how many in a row are needed, and whose it is."""
    table: bytes = field(repr=False)
    """Not zero at the hash of every block and window; so most of a text is passed over quickly."""
    with_blanks: bool
    """Whether blanks are part of a secret."""

    @classmethod
    def of(cls, secrets: Mapping[str, bytes], salt: bytes) -> KnownSecrets:
        """The prints of these secrets, each at least eight bytes long."""
        prints, table = dict[bytes, tuple[int, str]](), bytearray(_TABLE_MASK + 1)
        for name, secret in secrets.items():
            for spelling, chain in set(_forms(secret)):
                for window in _pieces(spelling, WINDOW):
                    found = print_of(window, salt)
                    prints[found] = min(prints.get(found, (chain, name)), (chain, name))
                    table[hash(window) & _TABLE_MASK] = 1
                for block in _pieces(spelling, _BLOCK):
                    table[hash(block) & _TABLE_MASK] = 1
        with_blanks = any(has_blanks(secret) for secret in secrets.values())
        return cls(salt=salt, prints=prints, table=bytes(table), with_blanks=with_blanks)

    def find(self, raw: bytes) -> Iterator[SecretFinding]:
        """Every place where eight bytes or more of a secret stand, in any form; places may overlap."""
        if self.prints:
            for view in views_of(raw, with_blanks=self.with_blanks):
                yield from self._find_in(view)

    def _find_in(self, view: View) -> Iterator[SecretFinding]:
        chains = list(self._chains(view.data))
        if chains:
            starts, ends = view.locate()
            for first, last, name in chains:
                yield SecretFinding(name=name, is_known=True, start=starts[first], end=ends[last])

    def _chains(self, data: bytes) -> Iterator[tuple[int, int, str]]:
        """First and last byte of each run of windows that are known, if it is long enough."""
        first, previous, needed, name = 0, -2, 0, ""
        for at, (chain, owner) in self._windows(data):
            if at != previous + 1:
                if previous - first + 1 >= needed > 0:
                    yield first, previous + WINDOW - 1, name
                first, needed, name = at, chain, owner
            elif chain < needed:
                needed, name = chain, owner
            previous = at
        if previous - first + 1 >= needed > 0:
            yield first, previous + WINDOW - 1, name

    def _windows(self, data: bytes) -> Iterator[tuple[int, tuple[int, str]]]:
        """Every place at which a known window starts, in order."""
        table, end = self.table, len(data) - _BLOCK + 1
        # The one loop over all of the text, so kept to a single expression.
        places = [at for at in range(0, end, _STRIDE) if table[hash(data[at : at + _BLOCK]) & _TABLE_MASK]]
        for place in places:
            for at in range(max(0, place - _STRIDE + 1), place + 1):
                window = data[at : at + WINDOW]
                if table[hash(window) & _TABLE_MASK] and (found := self.prints.get(print_of(window, self.salt))):
                    yield at, found


def _pieces(spelling: bytes, size: int) -> set[bytes]:
    return {spelling[start : start + size] for start in range(len(spelling) - size + 1)}
