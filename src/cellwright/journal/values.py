"""What a step may give back: JSON, or something whose type says how to make it JSON and back.

A result always passes through JSON, the first time too: what a caller gets live is what it gets on replay.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import TypeAdapter

from cellwright.errors import Defect

T = TypeVar("T")
Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]


def dump(value: object) -> str:
    """The value as JSON. Raises `Defect` for what JSON does not have."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Defect(
            f"A {type(value).__name__} cannot be kept as JSON: {error}.",
            hint="Give back plain JSON values, or say with `returns=` of which type the result is.",
        ) from error


def load(text: str) -> Any:
    """The value of its JSON."""
    return json.loads(text)


def to_json(value: object, kind: type[Any] | None) -> Json:
    """A value of this type as plain JSON values."""
    return load(dump(value)) if kind is None else _adapter(kind).dump_python(value, mode="json")


def from_json(value: Json, kind: type[T] | None) -> T | Any:
    """The value of this type that plain JSON values stand for."""
    return value if kind is None else _adapter(kind).validate_python(value)


@lru_cache(maxsize=512)
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
