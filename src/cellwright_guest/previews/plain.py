"""Builtin values as bounded text: slice first, then format; nothing is copied, hashed or compared.

`brief` walks exact builtin types itself and gives every other value to `other`. Without such values no code of
anybody else runs, so no time limit is needed. `bounded` makes any text safe to send, and no longer than promised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Final

# ── text ──

BYTES_PER_TOKEN: Final = 3
"""Low on purpose: prose has four bytes a token, tables and numbers have fewer."""

ELLIPSIS: Final = "…"
_ELLIPSIS_BYTES: Final = 3

_CONTROL: Final = {code: "�" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"} | {13: None}


def room_of(tokens: int) -> int:
    """How many UTF-8 bytes fit into `tokens`; at least a few, so that there is room to say something."""
    return max(tokens, 8) * BYTES_PER_TOKEN


def bounded(text: str, room: int) -> str:
    """`text` without control characters, cut to `room` UTF-8 bytes with an ellipsis. Looks only at what it keeps."""
    if len(text) <= room and text.isascii() and text.isprintable():
        return text
    was_cut = len(text) > room
    kept = text[:room].translate(_CONTROL).encode("utf-8", "replace")
    if was_cut or len(kept) > room:
        kept = kept[: max(room - _ELLIPSIS_BYTES, 0)]
        return kept.decode("utf-8", "ignore") + ELLIPSIS
    return kept.decode("utf-8")


def one_line(text: str) -> str:
    """Runs of white space as one blank."""
    return " ".join(text.split())


def exact(text: str) -> str:
    """A real `str` of the same characters, whatever a subclass pretends to be."""
    return text if type(text) is str else str.__str__(text)


# ── builtin values ──

Other = Callable[[Any, int, int], str]
"""(value, room, depth) → text, for a value that is no builtin."""

DEPTH: Final = 4
_LONG_INTEGER_BITS: Final = 2_000
_SEPARATOR_LENGTH: Final = 2
_SCALARS: Final = frozenset({bool, float, complex, type(None), type(...), type(NotImplemented)})
_BRACKETS: Final = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
}


class NotBuiltin(Exception):
    """The value holds something that is no builtin: look at it under a time limit."""


def refuse(value: object, room: int, depth: int) -> str:
    """An `other` for callers who have no time limit in place."""
    raise NotBuiltin


def brief(value: Any, room: int, other: Other = refuse, depth: int = 0) -> str:
    """One line, at most about `room` characters: whoever sends it cuts it exactly."""
    kind: type = type(value)
    if kind in _SCALARS:
        return repr(value)
    if kind is int:
        return integer(value)
    if kind is str:
        return string(value, room)
    if kind is bytes or kind is bytearray:
        return octets(value, room)
    if kind in _BRACKETS:
        return _sequence(value, kind, room, other, depth)
    if kind is dict:
        return _mapping(value, room, other, depth)
    return other(value, room, depth)


def integer(value: int) -> str:
    """The digits, or how many there are: printing a huge integer takes quadratic time."""
    bits = int.bit_length(value)
    if bits > _LONG_INTEGER_BITS:
        return f"{'-' if int.__lt__(value, 0) else ''}<integer of about {int(bits * 0.30103):,} digits>"
    return int.__repr__(value)


def string(value: str, room: int) -> str:
    """Quoted, with the full length when it is cut."""
    length = str.__len__(value)
    if length <= room - 2:
        return str.__repr__(value)
    tail = f"{ELLIPSIS}({length:,} characters)"
    return repr(str.__getitem__(value, slice(0, max(room - len(tail) - 2, 8)))) + tail


def octets(value: bytes | bytearray, room: int) -> str:
    """Like `string`; a byte may take four characters."""
    length = len(value)
    if length * 4 <= room - 3:
        return repr(value)
    tail = f"{ELLIPSIS}({length:,} bytes)"
    shown = repr(bytes(value[: max(room, 8)]))
    return shown if length < room and len(shown) <= room else shown[: max(room - len(tail), 8)] + tail


def elements(values: Iterable[Any], count: int, room: int, other: Other, depth: int) -> str:
    """The first values of an iterable, as many as fit."""
    return fitting(values, count, room, lambda value, left: brief(value, max(left, 8), other, depth + 1))


def pairs(items: Iterable[tuple[Any, Any]], count: int, room: int, other: Other, depth: int) -> str:
    """The first `key: value` pairs, as many as fit."""

    def pair(item: tuple[Any, Any], left: int) -> str:
        name = brief(item[0], max(left // 2, 8), other, depth + 1)
        return f"{name}: {brief(item[1], max(left - len(name) - 2, 8), other, depth + 1)}"

    return fitting(items, count, room, pair)


def fitting(items: Iterable[Any], count: int, room: int, write: Callable[[Any, int], str]) -> str:
    """The first of so many, each written into what room is left."""
    shown: list[str] = []
    left = room - 16 if count > 6 else room
    for item in islice(items, count):
        if left < 4 and shown:
            shown.append(f"{ELLIPSIS} {count - len(shown):,} more")
            break
        shown.append(write(item, left))
        left -= len(shown[-1]) + _SEPARATOR_LENGTH
    return ", ".join(shown)


def _sequence(value: Any, kind: type, room: int, other: Other, depth: int) -> str:
    count = len(value)
    opening, closing = _BRACKETS[kind]
    if count == 0:
        return repr(value)
    if depth >= DEPTH:
        return f"{opening}{ELLIPSIS} {count:,} items{closing}"
    if kind is tuple and count == 1:
        closing = ",)"
    return opening + elements(value, count, room - len(opening) - len(closing), other, depth) + closing


def _mapping(value: dict[Any, Any], room: int, other: Other, depth: int) -> str:
    count = len(value)
    if depth >= DEPTH and count:
        return f"{{{ELLIPSIS} {count:,} keys}}"
    return "{" + pairs(value.items(), count, room - 2, other, depth) + "}"
