"""JSON schemas as Python types, in the words a type checker and a model both read. Pure.

What a schema says beyond its types (ranges, patterns, formats) is left to whoever checks the arguments.
"""

from __future__ import annotations

import json
import keyword
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

_SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_DEEPEST = 12

Schema = Mapping[str, Any]


@dataclass(slots=True)
class TypeNames:
    """The types of one set of tools; objects with known keys become classes, collected here in order."""

    classes: dict[str, str] = field(default_factory=dict[str, str])
    """Class statements by name."""
    _of_shape: dict[str, str] = field(default_factory=dict[str, str])
    _taken: set[str] = field(default_factory=set[str])

    def of(self, schema: object, name: str, definitions: Schema | None = None, depth: int = 0) -> str:
        """The type of a schema; `name` is for a class, should one be needed."""
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return "Any"
        known = cast("Schema", schema)
        known_definitions = mapping(known.get("$defs") or definitions)
        match known:
            case {"$ref": str(reference)}:
                return self._referred(reference, known_definitions, depth)
            case {"const": value}:
                return _literal([value])
            case {"enum": list(values)} if values:
                return _literal(cast("list[Any]", values))
            case {"anyOf": list(options)} | {"oneOf": list(options)}:
                return self._union(cast("list[Any]", options), name, known_definitions, depth)
            case {"type": list(kinds)}:
                options = [{**known, "type": kind} for kind in cast("list[Any]", kinds)]
                return self._union(options, name, known_definitions, depth)
            case {"type": "array"}:
                return f"list[{self.of(known.get('items'), name + 'Item', known_definitions, depth + 1)}]"
            case {"type": "object"} | {"properties": _}:
                return self._object(known, name, known_definitions, depth)
            case {"type": str(kind)}:
                return _SIMPLE.get(kind, "Any")
            case _:
                return "Any"

    def _referred(self, reference: str, definitions: Schema, depth: int) -> str:
        _, _, name = reference.rpartition("/")
        if name not in definitions:
            return "Any"
        return self.of(definitions[name], class_name(name), definitions, depth + 1)

    def _union(self, options: list[Any], name: str, definitions: Schema, depth: int) -> str:
        types = [self.of(option, name, definitions, depth + 1) for option in options]
        return "Any" if "Any" in types else " | ".join(dict.fromkeys(types)) or "Any"

    def _object(self, schema: Schema, name: str, definitions: Schema, depth: int) -> str:
        properties = mapping(schema.get("properties"))
        if not properties:
            others = schema.get("additionalProperties")
            return f"dict[str, {self.of(others, name + 'Value', definitions, depth + 1)}]"
        shape = json.dumps([name, schema], sort_keys=True, default=str)
        if shape in self._of_shape:
            return self._of_shape[shape]
        chosen = name
        while chosen in self._taken:
            chosen += "_"
        self._taken.add(chosen)
        # Known before its entries are: a schema may refer to itself.
        self._of_shape[shape] = chosen
        required = names_in(schema.get("required"))
        entries = [
            (key, self.of(value, chosen + class_name(key), definitions, depth + 1), key in required)
            for key, value in properties.items()
        ]
        self.classes[chosen] = _class(chosen, entries)
        return chosen


def mapping(value: object) -> Schema:
    """The value if it is one; schemas come from outside and may be anything."""
    return cast("Schema", value) if isinstance(value, Mapping) else {}


def names_in(value: object) -> list[str]:
    """The words of a list, likewise."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str)]


def is_name(word: str) -> bool:
    """Whether Python takes it as a name."""
    return word.isidentifier() and not keyword.iskeyword(word) and word.isascii()


def class_name(word: str) -> str:
    """A name in capitals: `cell_id` gives `CellId`."""
    parts = "".join(character if character.isalnum() and character.isascii() else " " for character in word).split()
    return "".join(part[0].upper() + part[1:] for part in parts) or "Thing"


def _class(name: str, entries: list[tuple[str, str, bool]]) -> str:
    typed = [(key, kind if is_required else f"NotRequired[{kind}]") for key, kind, is_required in entries]
    if all(is_name(key) for key, _ in typed):
        return "\n".join([f"class {name}(TypedDict):", *(f"    {key}: {kind}" for key, kind in typed)])
    body = ", ".join(f"{key!r}: {kind!r}" for key, kind in typed)
    return f"{name} = TypedDict({name!r}, {{{body}}})"


def _literal(values: list[Any]) -> str:
    if all(value is None or isinstance(value, str | int | bool) for value in values):
        return f"Literal[{', '.join(repr(value) for value in values)}]"
    return "Any"
