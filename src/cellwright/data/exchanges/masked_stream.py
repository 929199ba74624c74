"""A secret that comes back is replaced by stars of the same length, wherever it stands in a stream of bytes.

Also found are letters in the other case, percent-encoded, escaped as in JSON, HTML or Python, broken into lines, the
secret inside of base64 of any alignment, and in hexadecimal. What a server does on purpose is not.
"""

from __future__ import annotations

import base64
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

MIN_LENGTH: Final = 6
"""A shorter secret would be found in everything."""
_ESCAPE: Final = re.compile(
    rb"%(?:25)?([0-9A-Fa-f]{2})|\\\\{0,3}(?:u00|x)([0-9A-Fa-f]{2})|\\\\{0,3}([\"\\/&<>'])|&#0{0,4}([0-9]{1,3});"
    rb"|&#[xX]0{0,4}([0-9A-Fa-f]{1,2});|&(quot|amp|lt|gt|apos);|\r\n?|\n|\\\\{0,3}r\\{1,4}n|\\\\{0,3}n"
)
"""Each way begins with a character of its own, which makes the search four times as fast."""
_BEGUN_ESCAPE: Final = re.compile(
    rb"(?:%(?:25?)?[0-9A-Fa-f]?|\\{1,4}(?:u0{0,2}|x|u00[0-9A-Fa-f]|x[0-9A-Fa-f]|r|r\\{1,4})?|&[#a-zA-Z0-9]{0,9}|\r)\Z"
)
_NAMED: Final = {b"quot": b'"', b"amp": b"&", b"lt": b"<", b"gt": b">", b"apos": b"'"}
_TO_PLAIN_BASE64: Final = bytes.maketrans(b"-_", b"+/")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unescaped:
    """Bytes without their escapes, and where each was."""

    text: bytes
    starts: list[int]
    """Where parts begin in the text; each part is as it was, or one escape."""
    parts: list[tuple[int, int]]
    """Where they begin in the bytes as they came, and how long an escape is there, 0 for what is as it was."""

    def begin(self, at: int) -> int:
        """Where a byte of the text begins in what came."""
        part = bisect_right(self.starts, at) - 1
        start, escape = self.parts[part]
        return start if escape else start + at - self.starts[part]

    def end(self, at: int) -> int:
        """Where the byte before this place ends in what came."""
        part = bisect_right(self.starts, at - 1) - 1
        start, escape = self.parts[part]
        return start + (escape or at - self.starts[part])


class MaskedStream:
    """Bytes in, bytes out, the same number of them in all; what may be the beginning of a secret is held back."""

    def __init__(self, secrets: Iterable[str]) -> None:
        known = [secret.encode() for secret in secrets if len(secret) >= MIN_LENGTH]
        # One that has itself what looks like an escape is known with it and without it.
        told = {form for secret in known for form in (secret, _unescape(secret).text, secret.hex().encode())}
        self._plain = [secret.lower() for secret in told]
        self._base64 = [core for secret in known for core in _base64_cores(secret)]
        self._held = b""
        self.has_masked = False

    def feed(self, data: bytes) -> bytes:
        """What may pass of it and of what was held."""
        if not self._plain:
            return data
        data = self._held + data
        spans, hold = self._look(data)
        # What is held begins no later than any secret that reaches into it: half of one would not be known again.
        for start, end in sorted(spans, reverse=True):
            hold = start if start < hold < end else hold
        masked = bytearray(data[:hold])
        for start, end in spans:
            if end <= hold:
                masked[start:end] = b"*" * (end - start)
                self.has_masked = True
        self._held = data[hold:]
        return bytes(masked)

    def finish(self) -> bytes:
        """What was held: it is no whole secret."""
        rest, self._held = self._held, b""
        return rest

    def whole(self, data: bytes) -> bytes:
        """A text that is complete by itself."""
        return self.feed(data) + self.finish()

    def _look(self, data: bytes) -> tuple[list[tuple[int, int]], int]:
        """Where secrets are, and from where on it cannot be said yet."""
        begun = _BEGUN_ESCAPE.search(data, max(0, len(data) - 16))
        hold = begun.start() if begun is not None else len(data)
        spans = list[tuple[int, int]]()
        plain = _unescape(data[:hold])
        views = [(plain.text.lower(), self._plain), (plain.text.translate(_TO_PLAIN_BASE64), self._base64)]
        for text, secrets in views:
            for secret in secrets:
                spans += [(plain.begin(at), plain.end(at + len(secret))) for at in _all(secret, text)]
                if begins := _begun(secret, text):
                    hold = min(hold, plain.begin(len(text) - begins))
        # As it came: without escapes, a secret that has some is no longer itself.
        text = data.lower()
        for secret in self._plain:
            spans += [(at, at + len(secret)) for at in _all(secret, text)]
            hold = min(hold, len(text) - _begun(secret, text))
        return spans, hold


def _unescape(data: bytes) -> _Unescaped:
    text, starts, parts, at, length = list[bytes](), [0], [(0, 0)], 0, 0
    for found in _ESCAPE.finditer(data):
        start, end = found.span()
        text += [data[at:start], (plain := _plain_of(found))]
        length += start - at
        starts += [length, length + len(plain)]
        parts += [(start, end - start), (end, 0)]
        length, at = length + len(plain), end
    text.append(data[at:])
    return _Unescaped(text=b"".join(text), starts=starts, parts=parts)


def _plain_of(found: re.Match[bytes]) -> bytes:
    percent, unicode, single, decimal, hexadecimal, named = found.groups()
    if digits := percent or unicode or hexadecimal:
        return bytes([int(digits, 16)])
    if decimal:
        return bytes([int(decimal)]) if int(decimal) < 256 else b"?"
    return single or _NAMED.get(named, b"")


def _all(secret: bytes, text: bytes) -> Iterator[int]:
    at = text.find(secret)
    while at >= 0:
        yield at
        at = text.find(secret, at + 1)


def _begun(secret: bytes, text: bytes) -> int:
    """How many bytes at the end of the text may be the beginning of a secret."""
    most = min(len(secret) - 1, len(text))
    return next((count for count in range(most, 0, -1) if text.endswith(secret[:count])), 0)


def _base64_cores(plain: bytes) -> set[bytes]:
    """What is the same in base64 whatever stands before and after, for each of the three ways to be aligned."""
    cores = set[bytes]()
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + plain)
        first = -(-before * 8 // 6)
        cores.add(encoded[first : (before + len(plain)) * 8 // 6])
    return {core for core in cores if len(core) >= MIN_LENGTH}
