"""The JSON schema a notebook says its function has, made harmless: it came out of a cage and goes into prompts.

Only what describes arguments is kept, within bounds. Whether arguments fit is for the cage to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

_DEPTH: Final = 8
_NODES: Final = 500
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "null", "object", "array"})
_REFERENCE: Final = "#/$defs/"
_NUMBERS: Final = frozenset({
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems"),
})  # fmt: skip
_TEXT: Final = 1_000


class UnsoundSchema(Exception):
    """It is no description of arguments; `str()` says why."""


def sound_schema(raw: object) -> dict[str, Any]:
    """The schema of a function's arguments, rebuilt. Raises `UnsoundSchema`."""
    if not isinstance(raw, dict) or raw.get("type") != "object":
        raise UnsoundSchema("its parameters are no object")
    return _Rebuilding(raw).root()


def is_name(text: object) -> bool:
    """Whether a name may stand in a prompt and in a program as it is."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


class _Rebuilding:
    """One schema, part by part."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self._raw = raw
        self._left = _NODES
        self._definitions: dict[str, Any] = _object(raw.get("$defs", {}))
        if not all(map(is_name, self._definitions)):
            raise UnsoundSchema("a type has no proper name")

    def root(self) -> dict[str, Any]:
        properties = self._properties(self._raw.get("properties", {}), 0)
        required = self._raw.get("required", [])
        names = [name for name in properties if isinstance(required, list) and name in required]
        schema = {"type": "object", "properties": properties, "required": names, "additionalProperties": False}
        definitions = {name: self._part(part, 1) for name, part in self._definitions.items()}
        return schema | ({"$defs": definitions} if definitions else {})

    def _part(self, raw: object, depth: int) -> dict[str, Any]:
        self._left -= 1
        if depth > _DEPTH or self._left < 0:
            raise UnsoundSchema("its parameters are too involved")
        part = _object(raw)
        if "$ref" in part:
            return self._reference(part["$ref"])
        return dict(self._kept(part, depth))

    def _kept(self, part: dict[str, Any], depth: int) -> Iterator[tuple[str, Any]]:
        for key, value in part.items():
            match key:
                case "type" if value in _TYPES:
                    yield key, value
                case "type" if isinstance(value, list) and all(one in _TYPES for one in value):
                    yield key, value
                case "description" | "format" if isinstance(value, str):
                    yield key, value[:_TEXT]
                case "properties":
                    yield key, self._properties(value, depth)
                case "required" if isinstance(value, list) and all(map(is_name, value)):
                    yield key, value
                case "items" | "additionalProperties" if isinstance(value, dict):
                    yield key, self._part(value, depth + 1)
                case "items" | "additionalProperties" if isinstance(value, bool):
                    yield key, value
                case "anyOf" | "oneOf" | "prefixItems" if isinstance(value, list):
                    yield key, [self._part(one, depth + 1) for one in value]
                case "enum" if isinstance(value, list):
                    yield key, [_plain(one) for one in value[:100]]
                case "const":
                    yield key, _plain(value)
                case "default" if isinstance(value, str | int | float | bool | None):
                    yield key, _plain(value)
                case name if name in _NUMBERS and isinstance(value, int | float):
                    yield key, value
                case _:
                    pass

    def _properties(self, raw: object, depth: int) -> dict[str, Any]:
        properties = _object(raw)
        if not all(map(is_name, properties)):
            raise UnsoundSchema("a parameter has no proper name")
        return {name: self._part(part, depth + 1) for name, part in properties.items()}

    def _reference(self, target: object) -> dict[str, Any]:
        if not isinstance(target, str) or target.removeprefix(_REFERENCE) not in self._definitions:
            raise UnsoundSchema("it names a type it does not describe")
        return {"$ref": target}


def _object(raw: object) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise UnsoundSchema("a part of it is no object")
    return raw  # JSON: its keys are strings


def _plain(value: object) -> object:
    if isinstance(value, str):
        return value[:_TEXT]
    if value is None or isinstance(value, bool | int | float):
        return value
    raise UnsoundSchema("a choice is neither text nor number")
