"""One call to a model: what is asked, what is emitted while it is answered, and how it can end.

These values cross the socket between a caller and the gateway whole; pydantic-ai's messages travel inside them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ModelResponseStreamEvent,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_json

from cellwright.models.config.names import CallId, ModelName, Tier
from cellwright.policy.budgets import Limit
from cellwright.policy.money import Price

Source = Literal["provider", "record", "cache", "replay"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSchema:
    """The shape the answer must have. The answer is then one text part holding JSON of that shape."""

    name: str
    schema: dict[str, Any]
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the model reads. How a tool or a shape is put to a model is not the caller's care."""

    messages: Sequence[ModelMessage]
    tools: Sequence[ToolDefinition] = ()
    output: OutputSchema | None = None
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    """pydantic-ai's `ModelSettings`: max_tokens, temperature, thinking, cache …"""

    @property
    def contents(self) -> list[object]:
        """What it holds besides plain texts: in prompts, and in the results of tools."""
        parts = [part for message in self.messages if isinstance(message, ModelRequest) for part in message.parts]
        prompts = [part.content for part in parts if isinstance(part, UserPromptPart)]
        told = [part.files for part in parts if isinstance(part, ToolReturnPart)]
        return [content for held in (*prompts, *told) if not isinstance(held, str) for content in held]

    @property
    def hash(self) -> str:
        """Names exactly this request; the times stamped on its messages do not count."""
        messages = ModelMessagesTypeAdapter.dump_python(list(self.messages), mode="json")
        content = to_json(
            [
                [_without_stamps(message) for message in messages],
                [[tool.name, tool.description, tool.parameters_json_schema, tool.strict] for tool in self.tools],
                None if self.output is None else [self.output.name, self.output.schema, self.output.description],
                self.settings,
            ]
        )
        return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which models may answer: named ones in this order, else a tier's chain from the settings."""

    models: tuple[ModelName, ...] = ()
    tier: Tier = "smart"
    private: bool = False
    """Nothing may leave this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payer:
    """On whose account a call goes."""

    run: str = ""
    step: str = ""
    role: str = ""
    person: str = ""
    team: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One request, once."""

    id: CallId
    request: Request
    choice: Choice = field(default_factory=Choice)
    payer: Payer = field(default_factory=Payer)
    limits: tuple[Limit, ...] = ()
    """What the caller's budget allows; the gateway measures, `policy` decides."""
    deadline_seconds: float = 600
    """For everything together: retries and fallbacks included."""
    stream: bool = False
    """Whether pieces are emitted while the answer is made."""
    cache: bool = False
    """Whether an equal request answered before may answer this one."""
    if_unknown: Literal["tell", "again"] = "tell"
    """What to do if it was sent once and nobody knows what came of it: tell, or risk paying again."""


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """What a call used, as the provider counted it, or as we estimated before."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    is_estimate: bool = False

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Input, output, and what of the input was read from a cache and written to one."""
        return self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_write_tokens

    @property
    def tokens(self) -> int:
        """Input and output together; cached tokens are part of the input."""
        return self.input_tokens + self.output_tokens


FailureKind = Literal[
    "rejected", "unauthorised", "not-found", "rate-limited", "overloaded", "server-error", "timed-out",
    "connection", "broken-answer", "context-too-long", "breaker-open", "not-ready",
]  # fmt: skip
"""Why an attempt gave no answer."""

ENDPOINT_FAILURES: Final[frozenset[FailureKind]] = frozenset(
    {"server-error", "overloaded", "connection", "timed-out", "rate-limited"}
)
"""What says that the endpoint is unwell. Every other answer, a refusal too, says that it is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedAttempt:
    """One try at one model that gave no answer."""

    model: str
    failing: FailureKind
    detail: str
    """Short, masked text; never a key, never a whole body."""
    milliseconds: int = 0
    usage: TokenUsage | None = None
    """What the provider says was used all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A model was chosen and is being asked."""

    model: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of the answer as it comes."""

    event: ModelResponseStreamEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarted:
    """Forget every piece so far: another attempt begins from nothing."""

    failed: FailedAttempt


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """The whole answer."""

    response: ModelResponse
    model: str
    """`provider:model` as we call it; the response also carries the provider's own name."""
    usage: TokenUsage
    price: Price
    reason: str
    """Why this model."""
    attempts: tuple[FailedAttempt, ...] = ()
    """What was tried before."""
    source: Source = "provider"
    milliseconds: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetReached:
    """Nothing was sent: it would pass a limit, or its price is unknown where money is bounded."""

    limit: Limit
    party: str
    question: str
    """What to ask the person."""
    estimate: TokenUsage
    price: Price
    used: Decimal | None = None
    """With this call; None where a price is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerUnknown:
    """It was sent, the gateway died, and nobody knows what came of it. It may have been paid."""

    model: str
    sent_at: str
    """UTC, ISO 8601."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """The caller took it back. What was used until then is counted."""

    model: str
    usage: TokenUsage
    price: Price


Outcome = ModelAnswer | BudgetReached | AnswerUnknown | Cancelled
"""How a call ends, unless every model failed: that raises `ModelUnavailable`."""

Update = Started | Piece | Restarted
"""What is emitted while a call goes on."""

OnUpdate = Callable[[Update], None]
"""Hears what is emitted, in order. Must not take long."""


def call_id(*, run: str, step: str, request: Request) -> CallId:
    """The id of a step's request: the same after a crash."""
    return CallId(f"{run}/{step}/{request.hash[:32]}")


_STAMPED: Final = frozenset({"timestamp", "run_id", "conversation_id"})
"""What pydantic-ai stamps on messages and their parts, anew in each process."""


def _without_stamps(message: dict[str, Any]) -> dict[str, Any]:
    """Only the stamps: a tool's argument may well be called `timestamp`."""
    plain = {key: value for key, value in message.items() if key not in _STAMPED}
    plain["parts"] = [
        {key: value for key, value in part.items() if key not in _STAMPED} for part in message.get("parts", ())
    ]
    return plain
