"""Values as they travel to and from monty: a row of nodes, each after the nodes it is made of.

So there is nothing to recurse into, and a value that stands in two places is one node.
"""

from __future__ import annotations

import datetime
import decimal
import pathlib
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from .protobuf import BadMessage, count, fields, first_count, pair, part, varint, varints

_NODE_COUNT, _NODE = 1, 2
_PLAIN: Final = {None: b"\x12\x02\x12\x00", True: b"\x12\x02\x20\x01", False: b"\x12\x02\x20\x00"}
_DOUBLE = struct.Struct("<d")
_INT, _BIG, _FLOAT, _TEXT, _LIST, _DICT = 5, 6, 7, 8, 11, 14
_FLOAT_KEY = varint(_FLOAT << 3 | 1)
_INT_KEY, _TEXT_KEY = _INT << 3, _TEXT << 3 | 2
_WHOLE_HEADS = [bytes((_NODE << 3 | 2, size + 1, _INT_KEY)) for size in range(11)]
_LARGEST = 1 << 63


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """An object of a class the program made."""

    attributes: dict[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Odd:
    """Something that has no counterpart here: a type, a function, a file."""

    kind: str


class Row:
    """Values to be sent: what `add` was given, in one message."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._texts: dict[str, int] = {}

    def add(self, value: Any) -> int:
        """Its number, for whoever refers to it; the value is JSON's."""
        kind = type(value)
        if kind is str:
            return self._text(value)
        if kind is int:
            node = _whole(value)
        elif kind is dict:
            pairs = [count(1, self._text(key)) + count(2, self.add(item)) for key, item in value.items()]
            node = _length(_DICT, b"".join([part(1, entry) for entry in pairs]))
        elif kind is list:
            items = b"".join([varint(self.add(item)) for item in value])
            node = _length(_LIST, part(1, items) if items else b"")
        elif kind is float:
            node = part(_NODE, _FLOAT_KEY + _DOUBLE.pack(value))
        else:
            node = _PLAIN[value]
        self._nodes.append(node)
        return len(self._nodes) - 1

    def message(self) -> bytes:
        """All of them."""
        return count(_NODE_COUNT, len(self._nodes)) + b"".join(self._nodes) if self._nodes else b""

    def _text(self, text: str) -> int:
        """Once for all its places: a table has the names of its columns in every row."""
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = len(self._nodes)
            self._nodes.append(_length(_TEXT, text.encode("utf-8", "replace")))
        return known


def size_of(row: bytes) -> int:
    """How many nodes a message has, by its own word; `read` believes only what is there."""
    return first_count(row) if row else 0


def read(row: bytes) -> list[Any]:
    """The values in a message, by their numbers."""
    values: list[Any] = []
    for number, _, node in fields(row):
        if number != _NODE:
            continue
        size = len(node)
        # Short texts and small numbers are nearly everything there is.
        if 2 <= size < 130 and node[0] == _TEXT_KEY and node[1] == size - 2:
            values.append(node[2:].decode())
        elif size == 2 and node[0] == _INT_KEY and (whole := node[1]) < 128:
            values.append((whole >> 1) ^ -(whole & 1))
        else:
            values.append(_value(node, values))
    return values


def _length(kind: int, body: bytes) -> bytes:
    return part(_NODE, part(kind, body))


def _whole(value: int) -> bytes:
    if -_LARGEST <= value < _LARGEST:
        body = varint(value << 1 if value >= 0 else (-value << 1) - 1)
        return _WHOLE_HEADS[len(body)] + body
    size = (value.bit_length() + 7) // 8
    return _length(_BIG, (count(1, 1) if value < 0 else b"") + part(2, abs(value).to_bytes(size)))


def _value(node: bytes, values: list[Any]) -> Any:
    found = fields(node)
    if len(found) != 1:
        raise BadMessage("a value that is not one")
    kind, whole, body = found[0]
    if kind == _TEXT:
        return body.decode()
    if kind == _INT:
        return (whole >> 1) ^ -(whole & 1)
    if (make := _SIMPLE.get(kind)) is not None:
        return make(whole, body)
    if (assemble := _MADE_OF.get(kind)) is not None:
        try:
            return assemble(body, values)
        except IndexError as error:
            raise BadMessage("a value made of one that is not there") from error
    return Odd("value")


def _whole_fields(body: bytes) -> dict[int, int]:
    """Signed ones: a negative number travels as its two's complement."""
    return {
        number: whole - (1 << 64) if whole >= _LARGEST else whole for number, whole, rest in fields(body) if not rest
    }


def _text_field(wanted: int, body: bytes) -> str | None:
    return next((rest.decode() for number, _, rest in fields(body) if number == wanted), None)


def _big(_: int, body: bytes) -> int:
    found = fields(body)
    size = next((rest for number, _, rest in found if number == 2), b"")
    return -int.from_bytes(size) if (1, 1, b"") in found else int.from_bytes(size)


def _date(_: int, body: bytes) -> datetime.date:
    known = _whole_fields(body)
    return datetime.date(known[1], known[2], known[3])


def _time(_: int, body: bytes) -> datetime.time:
    known = _whole_fields(body)
    parts = [known.get(number, 0) for number in range(1, 5)]
    return datetime.time(*parts, tzinfo=_zone_of(known.get(5)))


def _datetime(_: int, body: bytes) -> datetime.datetime:
    known = _whole_fields(body)
    year, month, day, hour, minute, second, microsecond = [known.get(number, 0) for number in range(1, 8)]
    return datetime.datetime(year, month, day, hour, minute, second, microsecond, tzinfo=_zone_of(known.get(8)))


def _timedelta(_: int, body: bytes) -> datetime.timedelta:
    known = _whole_fields(body)
    return datetime.timedelta(known.get(1, 0), known.get(2, 0), known.get(3, 0))


def _zone_of(offset_seconds: int | None) -> datetime.timezone | None:
    return None if offset_seconds is None else datetime.timezone(datetime.timedelta(seconds=offset_seconds))


def _exception(_: int, body: bytes) -> str:
    return f"{_text_field(1, body)}: {_text_field(2, body) or ''}"[:1000]


def _text(_: int, body: bytes) -> str:
    return body.decode()


def _items(body: bytes, values: list[Any]) -> list[Any]:
    return [values[item] for number, _, packed in fields(body) if number == 1 for item in varints(packed)]


def _pairs(body: bytes, values: list[Any]) -> dict[Any, Any]:
    pairs = [pair(content) for number, _, content in fields(body) if number == 1]
    return {values[key]: values[item] for key, item in pairs}


def _named_tuple(body: bytes, values: list[Any]) -> tuple[Any, ...]:
    return tuple(values[item] for number, _, packed in fields(body) if number == 3 for item in varints(packed))


def _instance(body: bytes, values: list[Any]) -> Instance:
    attributes = next((rest for number, _, rest in fields(body) if number == 3), b"")
    return Instance(_pairs(attributes, values))


_SIMPLE: dict[int, Callable[[int, bytes], Any]] = {
    1: lambda whole, body: Odd("ellipsis"),
    2: lambda whole, body: None,
    3: lambda whole, body: Odd("NotImplementedType"),
    4: lambda whole, body: bool(whole),
    6: _big,
    7: lambda whole, body: _DOUBLE.unpack(body)[0],
    9: lambda whole, body: body,
    17: _date,
    18: _time,
    19: _datetime,
    20: _timedelta,
    21: lambda whole, body: Odd("timezone"),
    22: _exception,
    23: lambda whole, body: Odd("type"),
    25: lambda whole, body: _text_field(1, body) or "",
    26: lambda whole, body: Odd("function"),
    27: lambda whole, body: pathlib.PurePosixPath(body.decode()),
    28: lambda whole, body: Odd("file"),
    29: _text,
    30: _text,
    33: lambda whole, body: decimal.Decimal(body.decode()),
}
_MADE_OF: dict[int, Callable[[bytes, list[Any]], Any]] = {
    11: _items,
    12: lambda body, values: tuple(_items(body, values)),
    13: _named_tuple,
    14: _pairs,
    15: lambda body, values: set(_items(body, values)),
    16: lambda body, values: frozenset(_items(body, values)),
    24: _instance,
}
