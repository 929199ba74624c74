"""The forms in which a secret may stand in a text, and their prints.

A print is a keyed hash of eight bytes in a row. A masker keeps the prints of every eight bytes of every form and not
the secret; so it finds parts of a secret as well as the whole, and neither logging nor dumping it shows one.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

WINDOW: Final = 8
"""So many bytes in a row of a secret are never shown."""

LONGEST_CHAIN: Final = 9
"""So many prints in a row the most demanding form needs before it counts as found."""

# Encodings use few characters, so eight of them turn up by chance; what counts is eight bytes of the secret itself.
_PLAIN_CHAIN: Final = 1
_BASE64_CHAIN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One spelling of a secret."""

    spelling: bytes
    chain: int
    """So many prints in a row must be found before the form counts as found."""


def print_of(window: bytes, salt: bytes) -> bytes:
    """The print of eight bytes."""
    return hashlib.blake2b(window, digest_size=8, key=salt).digest()


def has_blanks(secret: bytes) -> bool:
    """Whether parts of the secret can be told only where blanks are kept."""
    return without_blanks(_visible(secret)) != secret.lower()


def forms_of(secret: bytes) -> set[Form]:
    """Every spelling that is looked for, as it stands, without blanks, and as bare letters and digits."""
    return set(_forms(secret))


def _forms(secret: bytes) -> Iterator[Form]:
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


def _squeezed(spelling: bytes, chain: int) -> Iterator[Form]:
    visible = _visible(spelling)
    for form in {spelling.lower(), without_blanks(visible), bare(visible)}:
        if len(form) >= WINDOW:
            yield Form(spelling=form, chain=min(chain, len(form) - WINDOW + 1))


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
