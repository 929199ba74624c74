"""What monty is asked: its protocol's requests, as frames."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from .protobuf import count, part, varint
from .values import Row

_LENGTH = struct.Struct("<I")
_PROTOCOL_VERSION = 6
_JSON_LINES = 5
_ASSERTION_BYTES = 120
# Its clock in UTC, its own entropy, no process clock; and every sleep is asked for.
_POLICY = b'\x0a\x00"\x02\x0a\x00*\x02\x12\x002\x00J\x00'

EXCEPTIONS = frozenset({
    "Exception", "BaseException", "SystemExit", "KeyboardInterrupt", "ArithmeticError", "OverflowError",
    "ZeroDivisionError", "LookupError", "IndexError", "KeyError", "RuntimeError", "NotImplementedError",
    "RecursionError", "AttributeError", "FrozenInstanceError", "NameError", "UnboundLocalError", "ValueError",
    "UnicodeDecodeError", "UnicodeEncodeError", "json.JSONDecodeError", "tomllib.TOMLDecodeError", "_csv.Error",
    "ImportError", "ModuleNotFoundError", "OSError", "FileNotFoundError", "FileExistsError", "IsADirectoryError",
    "NotADirectoryError", "PermissionError", "io.UnsupportedOperation", "AssertionError", "MemoryError",
    "StopIteration", "SyntaxError", "TimeoutError", "TypeError", "re.PatternError", "binascii.Error",
    "binascii.Incomplete", "decimal.DecimalException", "decimal.Clamped", "decimal.InvalidOperation",
    "decimal.ConversionSyntax", "decimal.DivisionByZero", "decimal.DivisionImpossible", "decimal.DivisionUndefined",
    "decimal.Inexact", "decimal.InvalidContext", "decimal.Rounded", "decimal.Subnormal", "decimal.Overflow",
    "decimal.Underflow", "decimal.FloatOperation",
})  # fmt: skip
"""What can be raised in a program, by monty's names."""

Outcome = dict[str, Any]
"""Of a call: `value`, or the `type` and `message` of what it raised."""


@lru_cache(maxsize=16)
def configure(
    *, version: str, memory_bytes: int, recursion_depth: int, suspensions: int, seconds: float, stubs: str
) -> bytes:
    """What the next program may use, and what it is checked against: nearly always the same."""
    limits = count(2, memory_bytes) + count(4, recursion_depth) + count(5, suspensions) + count(6, int(seconds * 1e6))
    checking = count(3, 1) + part(4, stubs.encode()) if stubs else b""
    kept = part(1, b"main.py") + part(2, limits) + checking + part(5, version.encode())
    told = count(6, _ASSERTION_BYTES) + count(7, _JSON_LINES) + count(9, _PROTOCOL_VERSION) + part(11, _POLICY)
    return _frame(1, kept + told)


def feed(code: str, *, is_checked: bool) -> bytes:
    """Run this; a session's first run is in the root."""
    return _frame(3, part(1, code.encode()) + part(3, b"") + (b"" if is_checked else count(4, 1)) + part(5, b"/"))


def answer_call(number: int, outcome: Outcome) -> bytes:
    """The call's result, at once."""
    row = Row()
    return _frame(4, _called(number) + part(2, _result(outcome, row)) + part(3, row.message()))


def answer_later(number: int) -> bytes:
    """The call's result comes when it is awaited."""
    return _frame(4, _called(number) + part(2, count(3, number)))


def answer_not_here(number: int) -> bytes:
    """There is no such thing here: monty says so in its own words."""
    return _frame(4, _called(number) + part(2, part(5, b"")))


def answer_name(function: str | None) -> bytes:
    """The name is a tool's; or nobody's."""
    if function is None:
        return _frame(5, part(3, b""))
    node = part(25, part(1, function.encode()))
    return _frame(5, part(1, count(1, 1) + part(2, node)) + count(2, 0))


def answer_awaited(outcomes: Iterable[tuple[int, Outcome]]) -> bytes:
    """The results of calls that are awaited."""
    row = Row()
    results = [part(1, _called(number) + part(2, _result(outcome, row))) for number, outcome in outcomes]
    return _frame(6, b"".join(results) + part(2, row.message()))


def load(state: bytes) -> bytes:
    """Be where this was taken."""
    return _frame(8, part(1, state))


def _frame(kind: int, body: bytes) -> bytes:
    message = part(kind, body)
    return _LENGTH.pack(len(message)) + message


DUMP = _frame(7, b"")
RESET = _frame(9, b"")


def _called(number: int) -> bytes:
    return varint(1 << 3) + varint(number)


def _result(outcome: Outcome, row: Row) -> bytes:
    if "value" in outcome:
        return count(1, row.add(outcome["value"]))
    return part(2, part(1, outcome["type"].encode()) + part(2, outcome["message"].encode("utf-8", "replace")))
