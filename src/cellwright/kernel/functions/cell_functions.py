"""Functions of a notebook that agents may call, and what became of a call: a cage's words as our own values.

A call runs in the live kernel and leaves the notebook as it was: no cell runs, no name is bound. Everything here was
said by a hostile process, so every text is bounded and a function's JSON schema is rebuilt from what describes
arguments. Whether arguments fit is for the cage to say.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from cellwright.ids import CellId
from cellwright.kernel.observation import CellFault, VariablePreview, fault_of, preview_of
from cellwright.kernel.process.live_kernel import LiveKernel
from cellwright.kernel.process.side_calls import SideCall, SideCalls
from cellwright_cells import tool
from cellwright_guest import wire

_DEPTH: Final = 8
_NODES: Final = 500
_SCHEMA_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "null", "object", "array"})
_REFERENCE: Final = "#/$defs/"
_NUMBERS: Final = frozenset({
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems"),
})  # fmt: skip
_SCHEMA_TEXT: Final = 1_000


class UnsoundSchema(Exception):
    """It is no description of arguments; `str()` says why."""


def sound_schema(raw: object) -> dict[str, Any]:
    """The schema of a function's arguments, rebuilt. Raises `UnsoundSchema`."""
    if not isinstance(raw, dict) or raw.get("type") != "object":
        raise UnsoundSchema("its parameters are no object")
    return _SchemaBuilder(raw).root()


def is_safe_name(text: object) -> bool:
    """Whether a name may stand in a prompt and in a program as it is."""
    return isinstance(text, str) and _SCHEMA_NAME.fullmatch(text) is not None


class _SchemaBuilder:
    """One schema, part by part."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self._raw = raw
        self._left = _NODES
        self._definitions: dict[str, Any] = _object(raw.get("$defs", {}))
        if not all(map(is_safe_name, self._definitions)):
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
        return self._reference(part["$ref"]) if "$ref" in part else dict(self._kept(part, depth))

    def _kept(self, part: dict[str, Any], depth: int) -> Iterator[tuple[str, Any]]:
        for key, value in part.items():
            match key:
                case "type" if value in _TYPES:
                    yield key, value
                case "type" if isinstance(value, list) and all(one in _TYPES for one in value):
                    yield key, value
                case "description" | "format" if isinstance(value, str):
                    yield key, value[:_SCHEMA_TEXT]
                case "properties":
                    yield key, self._properties(value, depth)
                case "required" if isinstance(value, list) and all(map(is_safe_name, value)):
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
        if not all(map(is_safe_name, properties)):
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
        return value[:_SCHEMA_TEXT]
    if value is None or isinstance(value, bool | int | float):
        return value
    raise UnsoundSchema("a choice is neither text nor number")


__all__ = ["BadCall", "CallFailed", "CallOutcome", "CallStopped", "CellFunction", "NotebookValue", "Returned", "tool"]

logger = logging.getLogger(__name__)

JSON_BYTES: Final = 1 << 18
"""The largest value that comes back whole."""
_FUNCTIONS: Final = 200
_DESCRIPTION: Final = 4_000
_LINE: Final = 2_000
_CONSOLE: Final = 25_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFunction:
    """A function that a cell defines and marks with `@cellwright.tool`."""

    name: str
    cell: CellId
    description: str = ""
    """Its docstring: the notebook's words, not ours."""
    parameters: dict[str, Any]
    """JSON schema of its arguments, an object."""
    problem: str = ""
    """Why it cannot be called; then the parameters say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookValue:
    """A value of the notebook."""

    preview: VariablePreview
    is_whole: bool
    """True when `json` is all of it; otherwise there is only the preview."""
    json: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """The function gave back a value."""

    value: NotebookValue
    console: str = ""
    rebound: tuple[str, ...] = ()
    """Names of the notebook it had bound with `global`; they are again as before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailed:
    """The function raised."""

    fault: CellFault
    """Its line is inside the cell that defines the function."""
    cell: CellId | None = None
    console: str = ""
    rebound: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BadCall:
    """It was not called: no such function, or arguments that do not fit."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStopped:
    """It did not finish."""

    reason: str
    is_late: bool = False
    """It was stopped at its deadline."""
    is_kernel_lost: bool = False
    """It took the kernel with it; the next call starts another and runs what had run."""
    console: str = ""


CallOutcome = Returned | CallFailed | BadCall | CallStopped


# ── asked of the kernel ──


async def list_functions(side_calls: SideCalls) -> tuple[CellFunction, ...]:
    """The functions that cells have defined and marked with `@cellwright.tool`."""
    return functions_of(await side_calls.ask_for(wire.Functions, lambda number: wire.ListFunctions(request=number)))


async def call_function(
    side_calls: SideCalls, live: LiveKernel, name: str, arguments: Mapping[str, object], *, seconds: float, tokens: int
) -> CallOutcome:
    """Call a marked function with JSON arguments. No cell runs, no name changes."""
    body = msgspec.json.encode(arguments)
    asked = await side_calls.ask(
        lambda number: wire.CallFunction(
            request=number, name=name, arguments=body, tokens=tokens, json_bytes=JSON_BYTES
        ),
        seconds,
    )
    end = live.kernel.end if live.kernel is not None else None
    return call_outcome(asked, seconds=seconds, end=end.reason if end is not None else "it is gone")


async def read_values(side_calls: SideCalls, names: Sequence[str], *, tokens: int) -> dict[str, NotebookValue]:
    """These variables whole, as far as JSON can say them; of a `mo.ui` element, its value."""
    wanted = list(names)
    taken = await side_calls.ask_for(
        wire.Taken,
        lambda number: wire.TakeValues(request=number, names=wanted, tokens=tokens, json_bytes=JSON_BYTES),
    )
    return {value.variable.name: value_of(value) for value in taken.values[:500]}


# ── from the wire ──


def functions_of(message: wire.Functions) -> tuple[CellFunction, ...]:
    """The functions a guest names, as far as they are sound."""
    named = [spec for spec in message.functions[:_FUNCTIONS] if is_safe_name(spec.name)]
    return tuple({spec.name: _function(spec) for spec in named}.values())


def call_outcome(asked: SideCall, *, seconds: float, end: str) -> CallOutcome:
    """What became of a call; `end` is how the kernel ended, if it did."""
    ended = asked.answer
    late = f"Stopped after {seconds:g} s, the limit for this call."
    if not isinstance(ended, wire.FunctionEnded):
        reason = late if asked.is_late else f"The kernel ended during the call: {end}."
        return CallStopped(reason=reason, is_late=asked.is_late, is_kernel_lost=True)
    if ended.refused:
        return BadCall(message=ended.refused[:_LINE])
    console, rebound = ended.console[:_CONSOLE], tuple(name[:100] for name in ended.rebound[:20])
    fault = fault_of(ended.error)
    if fault is not None and fault.type == "Interrupted":
        return CallStopped(reason=late if asked.is_late else fault.message, is_late=asked.is_late, console=console)
    if fault is not None:
        return CallFailed(fault=fault, cell=CellId(ended.cell[:200]), console=console, rebound=rebound)
    if ended.value is None:
        return CallFailed(fault=CellFault(type="Unknown", message="The kernel said nothing of its result."))
    return Returned(value=value_of(ended.value), console=console, rebound=rebound)


def value_of(value: wire.Value) -> NotebookValue:
    """A guest's value as our own."""
    shown = NotebookValue(preview=preview_of(value.variable), is_whole=False)
    if not value.json or len(value.json) > JSON_BYTES:
        return shown
    try:
        return replace(shown, is_whole=True, json=msgspec.json.decode(value.json))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return shown


def _function(spec: wire.FunctionSpec) -> CellFunction:
    parameters: dict[str, Any] = {"type": "object", "properties": {}}
    problem = spec.problem[:300]
    if not problem:
        try:
            parameters = sound_schema(msgspec.json.decode(spec.parameters))
        except (UnsoundSchema, msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            problem = f"What it takes cannot be told: {str(error)[:200]}."
    return CellFunction(
        name=spec.name,
        cell=CellId(spec.cell[:200]),
        description=spec.description[:_DESCRIPTION],
        parameters=parameters,
        problem=problem,
    )
