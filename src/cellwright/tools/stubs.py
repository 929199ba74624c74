"""Tools as typed Python functions: what the prompt shows and what programs are checked against. Pure.

JSON schemas become Python types in the words a type checker and a model both read.
"""

from __future__ import annotations

import builtins
import json
import keyword
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, cast

from cellwright.errors import UserError

_SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_DEEPEST = 12
_DEFINED: Final = "#/$defs/"

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


_IMPORTS = "from typing import Any, Literal, NotRequired, TypedDict"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSignature:
    """A tool as programs see it."""

    name: str
    description: str = ""
    """Becomes the docstring."""
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """A JSON schema of type object, its properties in the order of the arguments."""
    returns: Mapping[str, Any] | None = None
    """A JSON schema; None says nothing about the result."""

    def __post_init__(self) -> None:
        if not is_name(self.name) or self.name.startswith("__"):
            raise UserError(f"{self.name!r} is no name for a function.", hint="Letters, digits and underscores.")
        if hasattr(builtins, self.name):
            raise UserError(f"A tool cannot be called {self.name!r}: Python has that name.", hint="Choose another.")
        odd = [name for name in self.properties if not is_name(name)]
        if odd:
            raise UserError(f"{odd[0]!r} is no name for a parameter of {self.name!r}.", hint="Rename it.")

    @property
    def properties(self) -> Mapping[str, Any]:
        """The schema of each parameter."""
        return mapping(self.parameters.get("properties"))

    @property
    def required(self) -> tuple[str, ...]:
        """Parameters without which it cannot be called."""
        return tuple(name for name in names_in(self.parameters.get("required")) if name in self.properties)

    @property
    def is_open(self) -> bool:
        """Whether it takes arguments its schema does not name."""
        return self.parameters.get("additionalProperties", not self.parameters) is not False


class Contract:
    """A set of tools as its programs need it, worked out once: most programs of an agent have the same tools."""

    def __init__(self, tools: tuple[ToolSignature, ...]) -> None:
        self.tools = tools
        self.names = frozenset(tool.name for tool in tools)

    @cached_property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """How arguments are taken, by the tools' names."""
        return {
            tool.name: {
                "names": parameter_order(tool.parameters),
                "required": list(tool.required),
                "is_open": tool.is_open,
            }
            for tool in self.tools
        }

    @cached_property
    def stubs(self) -> str:
        """What programs are checked against."""
        return stubs(self.tools)


def stubs(tools: Iterable[ToolSignature]) -> str:
    """All tools as a stub file: the classes of their values, then the functions with their docstrings."""
    names = TypeNames()
    functions = [_function(tool, names) for tool in tools]
    return "\n\n".join([_IMPORTS, *names.classes.values(), *functions]) + "\n"


def signature_of(schema: Schema) -> str:
    """The arguments of an object schema as a parameter list: `(path: str, lines: int = 200)`."""
    return f"({', '.join(_parameters(schema, '', TypeNames()))})"


def _function(tool: ToolSignature, names: TypeNames) -> str:
    stem = class_name(tool.name)
    words = _parameters(tool.parameters, stem, names) + (["**others: Any"] if tool.is_open else [])
    result = "Any" if tool.returns is None else names.of(tool.returns, stem + "Result")
    head = f"async def {tool.name}({', '.join(words)}) -> {result}:"
    return "\n".join([head, *_docstring(tool), "    ..."])


def _parameters(schema: Schema, stem: str, names: TypeNames) -> list[str]:
    properties, required = mapping(schema.get("properties")), names_in(schema.get("required"))
    words: list[str] = []
    for name in parameter_order(schema):
        kind = names.of(properties[name], stem + class_name(name), schema.get("$defs"))
        words.append(f"{name}: {kind}" if name in required else f"{name}: {kind} = {_default(properties[name])}")
    return words


def parameter_order(schema: Schema) -> list[str]:
    """The order positional arguments are taken in: as in the stub, required ones first."""
    required = names_in(schema.get("required"))
    return sorted(mapping(schema.get("properties")), key=lambda name: name not in required)


def _default(schema: object) -> str:
    value = mapping(schema).get("default", ...)
    return repr(value) if value in (None, [], {}) or isinstance(value, bool | int | float | str) else "..."


def _docstring(tool: ToolSignature) -> list[str]:
    described = [
        f"{name}: {mapping(schema)['description']}"
        for name, schema in tool.properties.items()
        if "description" in mapping(schema)
    ]
    text = "\n".join(part for part in (tool.description.strip(), *described) if part)
    if not text:
        return []
    lines = _quoted(text).split("\n")
    return [f'    """{lines[0]}', *(f"    {line}" if line else "" for line in lines[1:]), '    """']


def _quoted(text: str) -> str:
    """Text that ends no string and starts no escape."""
    printable = "".join(character if character.isprintable() or character == "\n" else " " for character in text)
    return printable.replace("\\", "\\\\").replace('"""', "'''")


_UNTOLD: Final = frozenset(
    {"default", "minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum"}
)


def short_schema(schema: Schema) -> Any:
    """What a model needs to write a call: every request carries it. A bound is told when it is passed."""
    text, definitions = json.dumps(schema, default=str), mapping(schema.get("$defs"))
    # A shape that is referred to once stands where it is used; it cannot have itself among its parts.
    once = {name: shape for name, shape in definitions.items() if text.count(f'"{_DEFINED}{name}"') == 1}
    kept = {name: shape for name, shape in definitions.items() if name not in once}
    bare = {name: value for name, value in schema.items() if name != "$defs"}
    return _shortened({**bare, "$defs": kept} if kept else bare, once)


def _shortened(schema: Any, once: Schema, *, is_names: bool = False) -> Any:
    match schema:
        case {"anyOf": [dict() as only, {"type": "null"}], **more} if not is_names:
            # What may be null may be left out.
            return _shortened({**only, **more}, once)
        case {"$ref": str() as place, **more} if not is_names and place.removeprefix(_DEFINED) in once:
            return _shortened({**once[place.removeprefix(_DEFINED)], **more}, once)
        case dict():
            return {
                name: _shortened(value, once, is_names=name in ("properties", "$defs") and not is_names)
                for name, value in schema.items()
                if is_names or (name not in _UNTOLD and (name, value) != ("additionalProperties", False))
            }
        case list():
            return [_shortened(value, once) for value in schema]
        case _:
            return schema
