"""What monty says: its protocol's events, taken apart. Each ends a turn but `Printed`."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from . import values
from .protobuf import BadMessage, fields, first, pair, varints

_DOUBLE = struct.Struct("<d")
_SLEEP, _SLEEP_ASYNC = 27, 28


@dataclass(frozen=True, slots=True)
class Printed:
    """Some output; more may come."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function is called that the program did not define."""

    id: int
    name: str
    is_method: bool
    is_awaited: bool
    """Nothing else can run until it is answered, so it may be answered as awaited."""
    nodes: int
    """Of how many values its arguments are made."""
    _arguments: tuple[bytes, list[int], list[tuple[int, int]]]

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """By position, and by name."""
        row, positional, named = self._arguments
        known = values.read(row)
        return tuple(known[item] for item in positional), {known[key]: known[item] for key, item in named}


@dataclass(frozen=True, slots=True)
class Sleep:
    """It wants to wait."""

    id: int
    seconds: float


@dataclass(frozen=True, slots=True)
class SystemCall:
    """It wants a file, a variable of the environment, a module: something monty leaves to others."""

    id: int


@dataclass(frozen=True, slots=True)
class Lookup:
    """A name nobody defined."""

    name: str
    is_attribute: bool


@dataclass(frozen=True, slots=True)
class Awaiting:
    """Nothing goes on without the answers to these calls."""

    ids: list[int]


@dataclass(frozen=True, slots=True)
class Complete:
    """The end, with the value of the last expression."""

    nodes: int
    _root: int
    _row: bytes

    def value(self) -> Any:
        """It, as Python has it."""
        return values.read(self._row)[self._root]


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception ended it."""

    kind: str
    message: str
    line: int | None


@dataclass(frozen=True, slots=True)
class Mistyped:
    """The type checker's report; nothing ran."""

    report: str


@dataclass(frozen=True, slots=True)
class Dumped:
    """The state that was asked for."""

    state: bytes


@dataclass(frozen=True, slots=True)
class Done:
    """What was asked for is done."""


@dataclass(frozen=True, slots=True)
class Fatal:
    """The interpreter's last words."""

    message: str


Event = Printed | Call | Sleep | SystemCall | Lookup | Awaiting | Complete | Raised | Mistyped | Dumped | Done | Fatal


def read(message: bytes) -> Event:
    """The event in one message; `BadMessage` for anything else."""
    number, body = first(message)
    match number:
        case 1:
            return Printed("".join(_text(2, segment) for field, _, segment in fields(body) if field == 1))
        case 2:
            return _call(body)
        case 3:
            return _system_call(body)
        case 4:
            return Lookup(_text(1, body), any(field == 2 for field, _, _ in fields(body)))
        case 5:
            return Awaiting([item for field, _, packed in fields(body) if field == 1 for item in varints(packed)])
        case 6:
            return _complete(body)
        case 7:
            return _raised(_body(1, body))
        case 8:
            return Mistyped(_text(1, body))
        case 9:
            return Dumped(_body(1, body))
        case 10:
            return Done()
        case 11:
            return Fatal(_text(1, body))
        case _:
            raise BadMessage("an event nobody knows")


def _call(body: bytes) -> Call:
    number, name, is_method, is_awaited, row = 0, "", False, False, b""
    positional: list[int] = []
    named: list[tuple[int, int]] = []
    for field, whole, content in fields(body):
        match field:
            case 1:
                name = content.decode()
            case 2:
                positional += varints(content)
            case 3:
                named.append(pair(content))
            case 4:
                number = whole
            case 5:
                is_method = True
            case 6:
                is_awaited = bool(whole)
            case 7:
                row = content
            case _:
                pass
    return Call(number, name, is_method, is_awaited, values.size_of(row), (row, positional, named))


def _system_call(body: bytes) -> Sleep | SystemCall:
    number = _whole(1, body)
    for field, _, content in fields(body):
        if field in {_SLEEP, _SLEEP_ASYNC}:
            seconds = _body(1, content)
            return Sleep(number, _DOUBLE.unpack(seconds)[0] if seconds else 0.0)
    return SystemCall(number)


def _complete(body: bytes) -> Complete:
    row = _body(2, body)
    return Complete(values.size_of(row), _whole(1, body), row)


def _raised(body: bytes) -> Raised:
    frames = [content for field, _, content in fields(body) if field == 3]
    line = _whole(1, _body(2, frames[-1])) if frames else None
    return Raised(_text(1, body), _text(2, body), line)


def _whole(wanted: int, body: bytes) -> int:
    return next((whole for field, whole, _ in fields(body) if field == wanted), 0)


def _body(wanted: int, body: bytes) -> bytes:
    return next((content for field, _, content in fields(body) if field == wanted), b"")


def _text(wanted: int, body: bytes) -> str:
    return _body(wanted, body).decode()
