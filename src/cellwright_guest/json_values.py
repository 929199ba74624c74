"""JSON at the border of the notebook: a function's parameters as a schema, arguments in, values out."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, get_type_hints

import msgspec
from marimo._plugins.ui._core.ui_element import UIElement

from cellwright_guest import report_wire
from cellwright_guest.previews import identity, preview, within

_KEYED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_DEFINITIONS: Final = "$defs"


class BadArguments(Exception):
    """The arguments do not fit; `str()` says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One parameter that a caller may fill."""

    name: str
    schema: dict[str, Any]
    hint: Any
    """What an argument is made into; `Any` where JSON says nothing about the type."""
    is_required: bool
    is_positional: bool


def slots_of(function: Callable[..., Any]) -> list[Slot]:
    """The parameters that can be filled by name. `*rest` and `**more` cannot."""
    try:
        hints = get_type_hints(inspect.unwrap(function), include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError):
        # A name only a type checker knows: then its types are not known here either.
        hints = dict[str, Any]()
    return [
        _slot(parameter, hints.get(name, Any))
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind in (*_KEYED, inspect.Parameter.POSITIONAL_ONLY)
    ]


def schema_of(slots: list[Slot]) -> dict[str, Any]:
    """The JSON schema of an object with these slots."""
    definitions: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    for slot in slots:
        part = dict(slot.schema)
        for name, definition in part.pop(_DEFINITIONS, {}).items():
            if definitions.setdefault(name, definition) != definition:
                part = {}
        properties[slot.name] = part
    schema = {
        "type": "object",
        "properties": properties,
        "required": [slot.name for slot in slots if slot.is_required],
        "additionalProperties": False,
    }
    return schema | ({_DEFINITIONS: definitions} if definitions else {})


def fit(slots: list[Slot], arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments as the function takes them. Raises `BadArguments`."""
    problems = list(_mismatches(slots, arguments))
    positional: list[Any] = []
    keyed: dict[str, Any] = {}
    for slot in slots:
        if slot.name in arguments:
            try:
                value = msgspec.convert(arguments[slot.name], slot.hint, dec_hook=_decode)
            except (msgspec.ValidationError, ValueError, TypeError) as error:
                problems.append(f"{slot.name}: {error}")
                continue
            if slot.is_positional:
                positional.append(value)
            else:
                keyed[slot.name] = value
    if problems:
        raise BadArguments("; ".join(problem[:300] for problem in problems[:5]))
    return positional, keyed


def _mismatches(slots: list[Slot], arguments: Mapping[str, Any]) -> Iterator[str]:
    known = {slot.name for slot in slots}
    yield from (f"{slot.name} is missing" for slot in slots if slot.is_required and slot.name not in arguments)
    yield from (f"there is no parameter {name[:60]!r}" for name in arguments if name not in known)
    left_out = False
    for slot in slots:
        if slot.is_positional and left_out and slot.name in arguments:
            yield f"{slot.name} cannot be given without those before it"
        left_out = left_out or (slot.is_positional and slot.name not in arguments)


# ── one parameter ──


def _slot(parameter: inspect.Parameter, hint: Any) -> Slot:
    schema, known = _schema(hint)
    description = _description(hint)
    schema |= {"description": description} if description else {}
    is_required = parameter.default is inspect.Parameter.empty
    if not is_required and (default := _plain(parameter.default)) is not None:
        schema |= {"default": default[0]}
    return Slot(
        name=parameter.name,
        schema=schema,
        hint=known,
        is_required=is_required,
        is_positional=parameter.kind is inspect.Parameter.POSITIONAL_ONLY,
    )


def _schema(hint: Any) -> tuple[dict[str, Any], Any]:
    try:
        return msgspec.json.schema(hint, schema_hook=_of_model), hint
    except (TypeError, NotImplementedError, NameError, RecursionError):
        return {}, Any


def _description(hint: Any) -> str:
    """`Annotated[int, "the year"]`, or what msgspec's and pydantic's own notes say."""
    for note in getattr(hint, "__metadata__", ()):
        text: Any = note if type(note) is str else getattr(note, "description", None)
        if type(text) is str:
            return text[:1_000]
    return ""


def _plain(value: object) -> tuple[Any] | None:
    """The value, in a tuple, if JSON can say it and it is short."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return None
    return (json.loads(text),) if len(text) <= 1_000 else None


def _of_model(kind: type) -> dict[str, Any]:
    """A pydantic model's own schema, if it refers to no other."""
    make = getattr(kind, "model_json_schema", None)
    if make is None:
        raise NotImplementedError
    schema = make()
    return schema if _DEFINITIONS not in schema else {"type": "object"}


def _decode(kind: type, value: Any) -> Any:
    make = getattr(kind, "model_validate", None)
    if make is None:
        raise NotImplementedError
    return make(value)


_ITEMS: Final = 50_000
"""Limit of values inside a value; more is data, not an answer to read."""
_VALUE_TIMEOUT_SECONDS: Final = 2.0


def value_of(name: str, value: object, *, tokens: int, json_bytes: int) -> report_wire.Value:
    """What the host may know of a value; of a `mo.ui` element, its value."""
    # What it was set to is what a caller asks for, not how it is drawn.
    held = value.value if isinstance(value, UIElement) else value
    return report_wire.Value(
        variable=preview(name, held, tokens=tokens),
        json=within(_VALUE_TIMEOUT_SECONDS, lambda: _json(held, json_bytes), lambda _: b""),
    )


def _json(value: object, json_bytes: int) -> bytes:
    if not _is_small(value, json_bytes):
        return b""
    body = msgspec.json.encode(value, enc_hook=_plain_value)
    return body if len(body) <= json_bytes else b""


def _is_small(value: object, json_bytes: int) -> bool:
    """Without making it: writing 1 GB of JSON to learn that it is too much would take the kernel's memory."""
    waiting, items, letters = [value], 0, 0
    while waiting:
        held: Any = waiting.pop()
        kind = type(held)
        items += 1
        if kind in (str, bytes, bytearray):
            letters += len(held)
        elif kind is dict:
            items += len(held)
            waiting += held.values() if items <= _ITEMS else ()
        elif kind in (list, tuple, set, frozenset):
            items += len(held)
            waiting += held if items <= _ITEMS else ()
        if items > _ITEMS or letters > json_bytes:
            return False
    return True


def _plain_value(value: Any) -> Any:
    """What msgspec does not know: numpy's numbers and small arrays, pydantic's models."""
    kind = type(value)
    if identity.is_kind(kind, "numpy", "generic"):
        return value.item()
    if identity.is_kind(kind, "numpy", "ndarray") and value.size <= _ITEMS:
        return value.tolist()
    if identity.is_kind(kind, "pydantic", "BaseModel"):
        return value.model_dump(mode="json")
    raise NotImplementedError
