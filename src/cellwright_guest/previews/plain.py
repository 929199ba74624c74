"""Builtin values as bounded text: slice first, then format; nothing is copied, hashed or compared.

`brief` walks exact builtin types itself and gives every other value to `other`. Without such values no code of
anybody else runs, so no time limit is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Final

from cellwright_guest.previews.text_budget import ELLIPSIS

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
    shown: list[str] = []
    left = room - 16 if count > 8 else room
    for value in islice(values, count):
        if left < 3 and shown:
            shown.append(f"{ELLIPSIS} {count - len(shown):,} more")
            break
        text = brief(value, max(left, 8), other, depth + 1)
        shown.append(text)
        left -= len(text) + _SEPARATOR_LENGTH
    return ", ".join(shown)


def pairs(items: Iterable[tuple[Any, Any]], count: int, room: int, other: Other, depth: int) -> str:
    """The first `key: value` pairs, as many as fit."""
    shown: list[str] = []
    left = room - 16 if count > 4 else room
    for key, value in islice(items, count):
        if left < 6 and shown:
            shown.append(f"{ELLIPSIS} {count - len(shown):,} more")
            break
        name = brief(key, max(left // 2, 8), other, depth + 1)
        text = f"{name}: {brief(value, max(left - len(name) - 2, 8), other, depth + 1)}"
        shown.append(text)
        left -= len(text) + _SEPARATOR_LENGTH
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
