"""Values on their way to the host: a preview of any, and JSON of those that are small and plain enough."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from marimo._plugins.ui._core.ui_element import UIElement

from cellwright_guest import wire
from cellwright_guest.previews import identity, preview, within

_ITEMS: Final = 50_000
"""Values inside a value; more is no answer to read but data."""
_SECONDS: Final = 2.0


def value_of(name: str, value: object, *, tokens: int, json_bytes: int) -> wire.Value:
    """What the host may know of a value; of a `mo.ui` element, its value."""
    # What it was set to is what a caller asks for, not how it is drawn.
    held = value.value if isinstance(value, UIElement) else value
    return wire.Value(
        variable=preview(name, held, tokens=tokens),
        json=within(_SECONDS, lambda: _json(held, json_bytes), lambda _: b""),
    )


def _json(value: object, json_bytes: int) -> bytes:
    if not _is_small(value, json_bytes):
        return b""
    body = msgspec.json.encode(value, enc_hook=_plain)
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


def _plain(value: Any) -> Any:
    """What msgspec does not know: numpy's numbers and small arrays, pydantic's models."""
    kind = type(value)
    if identity.is_kind(kind, "numpy", "generic"):
        return value.item()
    if identity.is_kind(kind, "numpy", "ndarray") and value.size <= _ITEMS:
        return value.tolist()
    if identity.is_kind(kind, "pydantic", "BaseModel"):
        return value.model_dump(mode="json")
    raise NotImplementedError
