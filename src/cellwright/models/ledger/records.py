"""How a call stands in the ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cellwright.models.calls import Answered, Attempt, Cancelled, Payer, Usage
from cellwright.models.names import CallId
from cellwright.policy import Price

PriceOf = Callable[[str, Usage], Price]
"""What so much use of a model (`provider:model`) costs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What is known of a call that was sent and whose answer is not known."""

    id: CallId
    model: str
    sent_at: str
    """UTC, ISO 8601."""
    idempotency_key: str = ""
    response_id: str = ""
    """The provider's own name for the answer, where it told one."""
    is_background: bool = False
    """Whether the provider makes the answer on its own, so that `response_id` can fetch it."""

    @property
    def is_resumable(self) -> bool:
        """Whether the answer can still be fetched."""
        return self.is_background and bool(self.response_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """It may be sent: nothing is known of it, every model failed before, or the caller risks paying again."""

    request_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """It ended before, and this is how. Nothing is to be sent."""

    outcome: Answered | Cancelled


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlight:
    """This very process is asking it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """It was sent by a gateway that died, may have been paid, and is in flight no more."""

    sent: Sent


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """The id belongs to another request."""


Begun = New | Kept | InFlight | Unknown | Mismatch


@dataclass(slots=True, kw_only=True)
class Flight:
    """A call this process has begun and not ended."""

    request_hash: str
    payer: Payer
    begun_at: str
    charged: list[Attempt] = field(default_factory=list[Attempt])
    """Failed attempts whose use is in the book already."""
