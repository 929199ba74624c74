"""A program's values as JSON, and a call's arguments under their parameters' names.

What JSON has no word for is turned into the nearest thing, or refused.
"""

from __future__ import annotations

import datetime
import decimal
import math
import pathlib
from collections.abc import Callable
from typing import Any, TypedDict, cast

from pydantic_monty._monty import MontyClassProxy, MontyStdTypeProxy

DEEPEST = 32
MOST = 100_000
_LARGEST = 1 << 63

Otherwise = Callable[[object, str], Any]
"""What to do with a value that has no place in JSON, and why it has none."""


class NotJson(Exception):
    """A value that is no JSON; `str()` says in what way."""


def refuse(value: object, why: str) -> Any:
    """For a tool's arguments: the program is told."""
    raise NotJson(why)


def describe(value: object, why: str) -> Any:
    """For a program's result: text is better than nothing."""
    return repr(value)[:1000] if isinstance(value, int | float | bytes) else f"<{_kind(value)}: {why}>"


def plain(value: Any, otherwise: Otherwise, *, most: int = MOST) -> Any:
    """The value as JSON has it. `NotJson` for more than `most` values: one that stands in two places is two."""
    return _JsonConverter(otherwise, most).of(value, 0)


class _JsonConverter:
    def __init__(self, otherwise: Otherwise, most: int) -> None:
        self._otherwise = otherwise
        self._most = self._left = most

    def of(self, value: Any, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise NotJson(f"it has more than {self._most:,} values")
        match value:
            case None | bool() | str():
                return value
            case int():
                return value if -_LARGEST <= value < _LARGEST else self._otherwise(value, "it has more than 64 bits")
            case float():
                return value if math.isfinite(value) else self._otherwise(value, f"{value} is no JSON number")
            case _ if depth >= DEEPEST:
                return self._otherwise(value, f"it is nested more than {DEEPEST} deep")
            case list() | tuple() | set() | frozenset():
                return [self.of(item, depth + 1) for item in cast("list[Any]", value)]
            case dict():
                entries = cast("dict[Any, Any]", value)
                return {_key(key, self._otherwise): self.of(item, depth + 1) for key, item in entries.items()}
            case datetime.date() | datetime.time():
                return value.isoformat()
            case decimal.Decimal() | pathlib.PurePath():
                return str(value)
            case MontyClassProxy():
                return self.of(value.attributes, depth)
            case BaseException():
                return f"{type(value).__name__}: {value}"[:1000]
            case _:
                return self._otherwise(value, f"a {_kind(value)} is no JSON value")


def _kind(value: object) -> str:
    return value.kind if isinstance(value, MontyStdTypeProxy) else type(value).__name__


def _key(key: Any, otherwise: Otherwise) -> str:
    match key:
        case str():
            return key
        case bool() | int() | float() | None:
            return str(key)
        case datetime.date():
            return key.isoformat()
        case _:
            described = otherwise(key, f"a {_kind(key)} cannot be a key of a JSON object")
            return described if isinstance(described, str) else repr(described)


class Parameters(TypedDict):
    """What a tool can be called with."""

    names: list[str]
    """In their order."""
    required: list[str]
    is_open: bool
    """Other names are taken too."""


def bind(tool: str, parameters: Parameters, positional: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name; `TypeError` as a Python function would raise it."""
    names = parameters["names"]
    if len(positional) > len(names):
        raise TypeError(f"{tool}() takes {len(names)} arguments but {len(positional)} were given")
    bound = dict(zip(names, positional, strict=False))
    for name, value in keywords.items():
        if name in bound:
            raise TypeError(f"{tool}() got multiple values for argument '{name}'")
        if name not in names and not parameters["is_open"]:
            known = ", ".join(names) or "nothing"
            raise TypeError(f"{tool}() got an unexpected keyword argument '{name}'; it takes {known}")
        bound[name] = value
    missing = [repr(name) for name in parameters["required"] if name not in bound]
    if missing:
        raise TypeError(f"{tool}() is missing required arguments: {', '.join(missing)}")
    return bound
