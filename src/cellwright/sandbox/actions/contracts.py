"""Tools as typed Python functions: what the prompt shows and what programs are checked against. Pure."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from cellwright.errors import UserError
from cellwright.sandbox.actions.schema_types import TypeNames, class_name, is_name, mapping, names_in

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
        others = self.parameters.get("additionalProperties", not self.parameters)
        return others is not False


class Contract:
    """A set of tools as its programs need it, worked out once: most programs of an agent have the same tools."""

    def __init__(self, tools: tuple[ToolSignature, ...]) -> None:
        self.tools = tools
        self.names = frozenset(tool.name for tool in tools)

    @cached_property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """How arguments are taken, by the tools' names."""
        return {
            tool.name: {"names": parameter_order(tool), "required": list(tool.required), "is_open": tool.is_open}
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


def _function(tool: ToolSignature, names: TypeNames) -> str:
    stem = class_name(tool.name)
    definitions = tool.parameters.get("$defs")
    required = set(tool.required)
    ordered = sorted(tool.properties.items(), key=lambda entry: entry[0] not in required)
    words: list[str] = []
    for name, schema in ordered:
        kind = names.of(schema, stem + class_name(name), definitions)
        words.append(f"{name}: {kind}" if name in required else f"{name}: {kind} = {_default(schema)}")
    if tool.is_open:
        words.append("**others: Any")
    result = "Any" if tool.returns is None else names.of(tool.returns, stem + "Result")
    head = f"async def {tool.name}({', '.join(words)}) -> {result}:"
    return "\n".join([head, *_docstring(tool), "    ..."])


def parameter_order(tool: ToolSignature) -> list[str]:
    """The order positional arguments are taken in: as in the stub, required ones first."""
    required = set(tool.required)
    return sorted(tool.properties, key=lambda name: name not in required)


def _default(schema: object) -> str:
    value = mapping(schema).get("default", ...)
    return repr(value) if value is None or isinstance(value, bool | int | float | str) else "..."


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
