"""No secret enters a prompt: what a model will read passes through the masker here, and only here.

Only words are looked at. Ids, signatures and pictures are the provider's own and go back to it as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest

from cellwright.models.calls import Request

Mask = Callable[[str], str]

_WORDS = ("content", "args")
"""Where the parts of a message hold what people, tools and models said."""
_READ = frozenset({"system-prompt", "user-prompt", "tool-return", "retry-prompt", "text", "tool-call", "instruction"})
"""The kinds of parts that hold words; thinking is signed, and a changed one is refused."""


def masked_prompt(request: Request, mask: Mask) -> Request:
    """The request without secrets; the very same one if it holds none."""
    messages = [_message(message, mask) for message in request.messages]
    if all(new is old for new, old in zip(messages, request.messages, strict=True)):
        return request
    return replace(request, messages=messages)


def _message(message: ModelMessage, mask: Mask) -> ModelMessage:
    parts: list[Any] = [_part(part, mask) for part in message.parts]
    changes: dict[str, Any] = {}
    if any(new is not old for new, old in zip(parts, message.parts, strict=True)):
        changes["parts"] = parts
    value = message.instructions if isinstance(message, ModelRequest) else None
    if value is not None and (clean := mask(value)) != value:
        changes["instructions"] = clean
    return replace(message, **changes) if changes else message


def _part(part: Any, mask: Mask) -> Any:
    if part.part_kind not in _READ:
        return part
    changes = {
        name: clean
        for name in _WORDS
        if (value := getattr(part, name, None)) is not None and (clean := _masked(value, mask)) is not value
    }
    return replace(part, **changes) if changes else part


def _masked(value: Any, mask: Mask) -> Any:
    """The same value with every text in it masked; the very same object if none holds a secret."""
    match value:
        case str():
            clean = mask(value)
            return value if clean == value else clean
        case dict():
            inner = {key: _masked(value, mask) for key, value in value.items()}
            return inner if any(inner[key] is not value[key] for key in value) else value
        case bytes() | bytearray():
            return value
        case Sequence():
            items = [_masked(value, mask) for value in value]
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        case _:
            return value
