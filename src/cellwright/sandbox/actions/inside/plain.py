"""A program's values as JSON: what JSON has no word for is turned into the nearest thing, or refused."""

from __future__ import annotations

import datetime
import decimal
import math
import pathlib
from collections.abc import Callable
from typing import Any, cast

DEEPEST = 32
_LARGEST = 1 << 63

Otherwise = Callable[[object, str], Any]
"""What to do with a value that has no place in JSON, and why it has none."""


class NotPlain(Exception):
    """A value that is no JSON; `str()` says in what way."""


def refuse(value: object, why: str) -> Any:
    """For a tool's arguments: the program is told."""
    raise NotPlain(why)


def describe(value: object, why: str) -> Any:
    """For a program's result: text is better than nothing."""
    return repr(value)[:1000] if isinstance(value, int | float | bytes) else f"<{type(value).__name__}: {why}>"


def plain(value: Any, otherwise: Otherwise, depth: int = 0) -> Any:
    """The value as JSON has it."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if -_LARGEST <= value < _LARGEST else otherwise(value, "it has more than 64 bits")
        case float():
            return value if math.isfinite(value) else otherwise(value, f"{value} is no JSON number")
        case _ if depth >= DEEPEST:
            return otherwise(value, f"it is nested more than {DEEPEST} deep")
        case list() | tuple() | set() | frozenset():
            items = cast("list[Any]", value)
            return [plain(item, otherwise, depth + 1) for item in items]
        case dict():
            entries = cast("dict[Any, Any]", value)
            return {_key(key, otherwise): plain(item, otherwise, depth + 1) for key, item in entries.items()}
        case datetime.date() | datetime.time():
            return value.isoformat()
        case decimal.Decimal() | pathlib.PurePath():
            return str(value)
        case BaseException():
            return f"{type(value).__name__}: {value}"[:1000]
        case _:
            return _instance(value, otherwise, depth)


def _instance(value: Any, otherwise: Otherwise, depth: int) -> Any:
    """An object of a class the program made: its attributes."""
    attributes = getattr(value, "attributes", None)
    if isinstance(attributes, dict):
        return plain(attributes, otherwise, depth)
    return otherwise(value, f"a {type(value).__name__} is no JSON value")


def _key(key: Any, otherwise: Otherwise) -> str:
    match key:
        case str():
            return key
        case bool() | int() | float() | None:
            return str(key)
        case datetime.date():
            return key.isoformat()
        case _:
            told = otherwise(key, f"a {type(key).__name__} cannot be a key of a JSON object")
            return told if isinstance(told, str) else repr(told)
