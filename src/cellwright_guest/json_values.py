"""JSON at the border of the notebook: a function's parameters as a schema, arguments in, values out."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any, Final, get_type_hints

import msgspec
from marimo._plugins.ui._core.ui_element import UIElement

from cellwright_guest import report_wire
from cellwright_guest.previews import identity, preview, within

_FILLED: Final = (
    inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY,
)  # fmt: skip


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The JSON schema of an object with its parameters. `*rest` and `**more` cannot be filled by name."""
    described = msgspec.json.schema(_arguments_type(function), schema_hook=_of_model)
    definitions = described["$defs"]
    schema = definitions.pop(described["$ref"].rpartition("/")[2])
    del schema["title"]
    for parameter, hint in _parameters(function):
        more = schema["properties"][parameter.name]
        if description := _description(hint):
            more["description"] = description
        if parameter.default is not parameter.empty and (default := _plain(parameter.default)) is not None:
            more["default"] = default[0]
    return schema | ({"$defs": definitions} if definitions else {})


def fit(function: Callable[..., Any], arguments: bytes) -> tuple[list[Any], dict[str, Any]]:
    """The arguments, a JSON object, as the function takes them. Raises `msgspec.MsgspecError`."""
    held = msgspec.json.decode(arguments, type=_arguments_type(function), dec_hook=_decode)
    positional: list[Any] = []
    keyed: dict[str, Any] = {}
    for parameter, _ in _parameters(function):
        if parameter.kind is parameter.POSITIONAL_ONLY:
            positional.append(getattr(held, parameter.name))
        else:
            keyed[parameter.name] = getattr(held, parameter.name)
    return positional, keyed


def _arguments_type(function: Callable[..., Any]) -> type[msgspec.Struct]:
    fields: list[tuple[str, Any, Any]] = []
    for parameter, hint in _parameters(function):
        default = parameter.default
        # The function's own default, whatever it is: nobody looks into it.
        own = (
            msgspec.NODEFAULT
            if default is parameter.empty
            else msgspec.field(default_factory=lambda held=default: held)
        )
        fields.append((parameter.name, hint if _is_known(hint) else Any, own))
    return msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)


def _parameters(function: Callable[..., Any]) -> list[tuple[inspect.Parameter, Any]]:
    """Those that can be filled by name, with what an argument is made into."""
    try:
        hints = get_type_hints(inspect.unwrap(function), include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError):
        # A name only a type checker knows: then its types are not known here either.
        hints = dict[str, Any]()
    every = inspect.signature(function).parameters.values()
    return [(each, hints.get(each.name, Any)) for each in every if each.kind in _FILLED]


def _is_known(hint: Any) -> bool:
    """Whether JSON says something about the type."""
    try:
        msgspec.json.schema(hint, schema_hook=_of_model)
        msgspec.json.Decoder(hint, dec_hook=_decode)
    except (TypeError, NotImplementedError, NameError, RecursionError):
        return False
    return True


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
    return schema if "$defs" not in schema else {"type": "object"}


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
