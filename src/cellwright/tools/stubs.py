"""JSON schemas as Python: how a tool is called, as a person or a model would write it."""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterator
from typing import Any, Final

_NAMES: Final = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "object": "dict[str, Any]",
    "array": "list[Any]",
}


def signature_of(schema: dict[str, Any]) -> str:
    """The arguments of an object schema as a parameter list: `(path: str, lines: int = 200)`."""
    required = set(schema.get("required", ()))
    properties: dict[str, Any] = schema.get("properties", {})
    first = [_parameter(name, part) for name, part in properties.items() if name in required]
    rest = [
        f"{_parameter(name, part)} = {_default(part.get('default'))}"
        for name, part in properties.items()
        if name not in required
    ]
    return f"({', '.join([*first, *rest])})"


def types_of(schema: dict[str, Any]) -> Iterator[str]:
    """The objects a schema names, each as a `TypedDict`."""
    for name, part in schema.get("$defs", {}).items():
        required = set(part.get("required", ()))
        if part.get("type") == "object":
            fields = [
                f"    {field}: {_type(inner) if field in required else f'NotRequired[{_type(inner)}]'}"
                for field, inner in part.get("properties", {}).items()
            ]
            yield "\n".join([f"class {_plain(name)}(TypedDict):", *(fields or ["    pass"])])
        else:
            yield f"{_plain(name)} = {_type(part)}"


def _parameter(name: str, schema: dict[str, Any]) -> str:
    return f"{name}_: {_type(schema)}" if keyword.iskeyword(name) else f"{name}: {_type(schema)}"


def _type(schema: Any) -> str:
    match schema:
        case {"$ref": str(reference)}:
            return _plain(reference.rsplit("/", 1)[-1])
        case {"const": value}:
            return f"Literal[{_default(value)}]"
        case {"enum": list(values)}:
            return f"Literal[{', '.join(map(_default, values))}]"
        case {"anyOf": list(parts)} | {"oneOf": list(parts)}:
            return " | ".join(dict.fromkeys(map(_type, parts)))
        case {"type": "array", "items": dict(items)}:
            return f"list[{_type(items)}]"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"dict[str, {_type(values)}]"
        case {"type": str(name)}:
            return _NAMES.get(name, "Any")
        case {"type": list(names)}:
            return " | ".join(_NAMES.get(name, "Any") for name in names)
        case _:
            return "Any"


def _default(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _plain(name: str) -> str:
    return name.strip("_").replace("-", "_")
