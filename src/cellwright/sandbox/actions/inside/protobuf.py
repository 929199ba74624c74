"""The few shapes of Protocol Buffers that monty speaks: whole numbers, and things with a length."""

from __future__ import annotations

_SMALL = tuple(bytes([number]) for number in range(128))
_VARINT, _EIGHT_BYTES, _WITH_LENGTH = 0, 1, 2
_LONGEST_VARINT = 10


class BadMessage(Exception):
    """Bytes that are no message."""


def varint(number: int) -> bytes:
    """A whole number, seven bits a byte."""
    if number < 128:
        return _SMALL[number]
    if number < 16384:
        return bytes((number & 127 | 128, number >> 7))
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def part(number: int, body: bytes) -> bytes:
    """A field with a length: text, bytes or a message."""
    return varint(number << 3 | _WITH_LENGTH) + varint(len(body)) + body


def count(number: int, value: int) -> bytes:
    """A field that is a whole number."""
    return varint(number << 3) + varint(value)


def fields(message: bytes) -> list[tuple[int, int, bytes]]:
    """Every field in its order: its number, and either a whole number or a body."""
    found: list[tuple[int, int, bytes]] = []
    at, end = 0, len(message)
    try:
        while at < end:
            key = message[at]
            at += 1
            if key > 127:
                key, at = _long(message, at - 1)
            size = message[at]
            at += 1
            shape = key & 7
            if shape == _EIGHT_BYTES:
                found.append((key >> 3, 0, message[at - 1 : at + 7]))
                at += 7
                continue
            if size > 127:
                size, at = _long(message, at - 1)
            if shape == _VARINT:
                found.append((key >> 3, size, b""))
            elif shape == _WITH_LENGTH:
                found.append((key >> 3, 0, message[at : at + size]))
                at += size
            else:
                raise BadMessage(f"a field of shape {shape}")
    except IndexError as error:
        raise BadMessage("a message cut short") from error
    if at != end:
        raise BadMessage("a message cut short")
    return found


def first(message: bytes) -> tuple[int, bytes]:
    """The number and the body of the first field, without looking at the rest."""
    try:
        key, at = _long(message, 0)
        size, at = _long(message, at)
    except IndexError as error:
        raise BadMessage("a message cut short") from error
    if key & 7 != _WITH_LENGTH or at + size > len(message):
        raise BadMessage("a message that begins oddly")
    return key >> 3, message[at : at + size]


def first_count(message: bytes) -> int:
    """The first field, which is a whole number, without looking at the rest."""
    return _long(message, 1)[0]


def varints(packed: bytes) -> list[int]:
    """Whole numbers one after the other."""
    if not packed or max(packed) < 128:
        return list(packed)
    numbers: list[int] = []
    at = 0
    while at < len(packed):
        number, at = _long(packed, at)
        numbers.append(number)
    return numbers


def pair(message: bytes) -> tuple[int, int]:
    """The whole numbers of a message that has two; one that is left out is 0."""
    try:
        left, at = _long(message, 1) if message[:1] == b"\x08" else (0, 0)
        right = 0
        if message[at : at + 1] == b"\x10":
            right, at = _long(message, at + 1)
    except IndexError as error:
        raise BadMessage("a message cut short") from error
    if at != len(message):
        raise BadMessage("a pair that is none")
    return left, right


def _long(message: bytes, at: int) -> tuple[int, int]:
    """The number that begins there, and where it ends."""
    number = message[at]
    if number < 128:
        return number, at + 1
    number = 0
    for place in range(_LONGEST_VARINT):
        byte = message[at + place]
        number |= (byte & 127) << (7 * place)
        if byte < 128:
            return number, at + place + 1
    raise BadMessage("a number without end")
