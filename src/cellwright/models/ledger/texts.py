"""Answers and attempts as text that a file can hold, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic_ai.messages import ModelResponse
from pydantic_core import PydanticSerializationError, to_json

from cellwright.models.calls import Attempt

_RESPONSE: Final[TypeAdapter[ModelResponse]] = TypeAdapter(ModelResponse)
_ATTEMPTS: Final[TypeAdapter[tuple[Attempt, ...]]] = TypeAdapter(tuple[Attempt, ...])


def response_json(response: ModelResponse) -> bytes:
    """A whole answer; half a character that a provider cut off becomes a mark."""
    try:
        return _RESPONSE.dump_json(response)
    except PydanticSerializationError:
        # Half a surrogate pair: an answer that was paid is kept all the same.
        return to_json(_writable_all(_RESPONSE.dump_python(response)))


def read_response(text: bytes) -> ModelResponse:
    """The answer that was written."""
    return _RESPONSE.validate_json(text)


def attempts_json(attempts: Sequence[Attempt], mask: Callable[[str], str]) -> str:
    """Failed attempts, with no secret in what they say."""
    masked = tuple(replace(attempt, detail=_writable(mask(attempt.detail))) for attempt in attempts)
    return _ATTEMPTS.dump_json(masked).decode() if masked else "[]"


def read_attempts(text: str) -> tuple[Attempt, ...]:
    """The attempts that were written."""
    return _ATTEMPTS.validate_json(text)


def _writable_all(value: Any) -> Any:
    match value:
        case str():
            return _writable(value)
        case dict():
            return {_writable_all(key): _writable_all(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_writable_all(inner) for inner in value]
        case _:
            return value


def _writable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
