"""How a call stands in the ledger, which answers may answer again, and how answers are written as text."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic_ai.messages import ModelResponse
from pydantic_core import PydanticSerializationError

from cellwright.errors import UserError
from cellwright.models.calls import Cancelled, FailedAttempt, ModelAnswer, Payer, TokenUsage
from cellwright.models.config.names import CallId
from cellwright.policy.money import Price

_WHOLE: Final = (None, "stop", "tool_call")


def is_worth_keeping(answer: ModelAnswer, first_model: str) -> bool:
    """Whether an equal request that would go to `first_model` may get this answer too.

    Not the answer of a fallback, which would outlive the fault it stood in for; not one cut short or withheld.
    """
    is_whole = answer.response.finish_reason in _WHOLE and bool(answer.response.parts)
    return is_whole and answer.model == first_model and answer.source == "provider"


PriceOf = Callable[[str, TokenUsage], Price]
"""What so much use of a model (`provider:model`) costs."""


@dataclass(frozen=True, slots=True)
class SentCall:
    """A call that a gateway sent and died: it may have been paid, and nobody knows its answer."""

    id: CallId
    model: str
    sent_at: str
    """UTC, ISO 8601."""
    idempotency_key: str = ""
    response_id: str = ""
    """The provider's own name for the answer, where it told one."""
    is_background: bool = False
    """Whether the provider makes the answer on its own, so that `response_id` can fetch it."""

    @classmethod
    def of(cls, row: Sequence[Any]) -> SentCall:
        """As the file has it: id, model, sent_at, idempotency_key, response_id, is_background."""
        id, model, sent_at, key, response_id, background = row
        return cls(id, model, sent_at, key, response_id, is_background=bool(background))

    @property
    def is_resumable(self) -> bool:
        """Whether the answer can still be fetched."""
        return self.is_background and bool(self.response_id)


CallStanding = ModelAnswer | Cancelled | SentCall | None
"""How it ended before, so that nothing is to be sent; or that it was sent. None: it may be sent."""


def another_request(id: CallId) -> UserError:
    """The error for an id that belongs to another request."""
    return UserError(
        f"The call {id!r} was made before, for another request.",
        hint="Give every request an id of its own; `call_id` makes one.",
    )


@dataclass(slots=True, kw_only=True)
class OpenCall:
    """A call this process has begun and not ended."""

    request_hash: str
    payer: Payer
    begun_at: str
    charged: list[FailedAttempt] = field(default_factory=list[FailedAttempt])
    """Failed attempts whose use is in the book already."""


_RESPONSE: Final[TypeAdapter[ModelResponse]] = TypeAdapter(ModelResponse)
_ATTEMPTS: Final[TypeAdapter[tuple[FailedAttempt, ...]]] = TypeAdapter(tuple[FailedAttempt, ...])


def response_json(response: ModelResponse) -> bytes:
    """A whole answer; a lone surrogate, half of a character that a provider cut, becomes a question mark."""
    try:
        return _RESPONSE.dump_json(response)
    except PydanticSerializationError:
        # A lone surrogate: an answer that was paid is kept all the same.
        plain = _RESPONSE.dump_python(response, mode="json")
        return json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace")


def read_response(text: bytes) -> ModelResponse:
    """The answer that was written."""
    return _RESPONSE.validate_json(text)


def attempts_json(attempts: Sequence[FailedAttempt], mask: Callable[[str], str]) -> str:
    """Failed attempts, with no secret in what they say."""
    masked = tuple(
        replace(attempt, detail=mask(attempt.detail).encode("utf-8", "replace").decode()) for attempt in attempts
    )
    return _ATTEMPTS.dump_json(masked).decode() if masked else "[]"


def read_attempts(text: str) -> tuple[FailedAttempt, ...]:
    """The attempts that were written."""
    return _ATTEMPTS.validate_json(text)
