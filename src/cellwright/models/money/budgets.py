"""Budgets of model calls: what a call will use is estimated before it is sent, and held while it is in flight.

So calls at the same time cannot pass a limit together. `models` measures, `policy` decides; here the one is put to the
other. Estimates are always labelled as such.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import astuple, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, assert_never

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_core import to_json

from cellwright.models.calls import BudgetReached, ModelCall, Request, TokenUsage
from cellwright.models.config.names import CallId
from cellwright.models.money.ledger import Ledger
from cellwright.models.money.usage_book import utc_now
from cellwright.policy import budgets as policy
from cellwright.policy.budgets import Limit, Reached, Unpriced, Use, UseId, Within
from cellwright.policy.money import Money, Price, subtract

BYTES_PER_TOKEN: Final = 4
"""Of English and code; other scripts take more bytes a letter and more tokens."""
TOKENS_PER_IMAGE: Final = 1_500
TOKENS_PER_MESSAGE: Final = 4
EXPECTED_OUTPUT_TOKENS: Final = 1_000
"""Where the request sets no `max_tokens`."""


def estimate(request: Request, output_tokens: int | None = None) -> TokenUsage:
    """What this request may use: its text at four bytes a token, images at a flat rate, and all it may answer.

    Real counts lie between half and twice of it for ordinary text. The answer is taken at `output_tokens`, else at the
    request's `max_tokens`, else at a thousand.
    """
    size, images = 0, 0
    for message in request.messages:
        for content in _contents(message):
            match content:
                case str():
                    size += len(content) if content.isascii() else len(content.encode("utf-8", "surrogatepass"))
                case BinaryContent() if not content.media_type.startswith("image/"):
                    size += len(content.data)
                case _ if isinstance(content, BinaryContent) or hasattr(content, "url"):
                    images += 1
                case _:
                    size += len(to_json(content, fallback=str))
    tools = [(tool.name, tool.description, tool.parameters_json_schema) for tool in request.tools]
    size += len(to_json(tools)) if tools else 0
    size += len(to_json(request.output.schema)) if request.output is not None else 0
    into = -(-size // BYTES_PER_TOKEN) + images * TOKENS_PER_IMAGE + len(request.messages) * TOKENS_PER_MESSAGE
    out = output_tokens if output_tokens is not None else request.settings.get("max_tokens")
    out = out if isinstance(out, int) and out >= 0 else EXPECTED_OUTPUT_TOKENS
    return TokenUsage(input_tokens=into, output_tokens=out, is_estimate=True)


def _contents(message: ModelMessage) -> Iterable[Any]:
    if isinstance(message, ModelRequest) and message.instructions:
        yield message.instructions
    for part in message.parts:
        match part:
            case UserPromptPart(content=str() as content):
                yield content
            case UserPromptPart(content=contents):
                yield from contents
            case ToolCallPart():
                yield part.tool_name
                yield part.args_as_json_str()
            case ToolReturnPart():
                yield part.model_response_str()
            case _:
                yield getattr(part, "content", "") or ""


class Budgets:
    """What calls in flight may use, on top of what was used. To be called from one thread, without a pause between."""

    def __init__(self, ledger: Ledger, clock: Callable[[], datetime] = utc_now) -> None:
        self._ledger = ledger
        self._clock = clock
        self._held = dict[UseId, Use]()

    def reserve(self, call: ModelCall, estimate: TokenUsage, price: Price) -> BudgetReached | None:
        """Hold what a call is expected to use until `release`; or say which limit it would pass, and hold nothing.

        Reserving again, for a fallback with another price, replaces what was held.
        """
        if call.limits:
            standing = self._ledger.policy_ledger(call.payer, call.limits)
            reached = decide(call, estimate, price, replace(standing, held=dict(self._held)), self._clock())
            if reached is not None:
                return reached
        use = use_of(call, estimate, price)
        self._held[use.id] = use
        return None

    def release(self, id: CallId) -> None:
        """The call ended; what it really used is in the ledger by now."""
        self._held.pop(UseId(id), None)

    def left(self, call: ModelCall) -> Money | None:
        """The least money its limits leave this call; None where money is not bounded or nobody can say.

        With limits in several currencies, the first limit's: they cannot be compared.
        """
        limits = tuple(limit for limit in call.limits if limit.measure == "money")
        ledger = replace(self._ledger.policy_ledger(call.payer, limits), held=dict(self._held))
        lefts = [left for limit in limits if (left := _left(ledger, call, limit, self._clock())) is not None]
        same = [left.amount for left in lefts if left.currency == lefts[0].currency]
        return Money(amount=min(same), currency=lefts[0].currency) if lefts else None


def decide(
    call: ModelCall, estimate: TokenUsage, price: Price, ledger: policy.BudgetLedger, now: datetime
) -> BudgetReached | None:
    """None if the call may be sent; else which limit stands against it, and what to ask the person."""
    decision = policy.reserve(ledger, use_of(call, estimate, price), now)
    match decision:
        case Within():
            return None
        case Reached() | Unpriced():
            return BudgetReached(
                limit=decision.limit,
                party=decision.party,
                question=decision.describe(),
                estimate=estimate,
                price=price,
                used=decision.used if isinstance(decision, Reached) else None,
            )
        case _:
            assert_never(decision)


def use_of(call: ModelCall, usage: TokenUsage, price: Price) -> Use:
    """A call's use as `policy` counts it."""
    run, _, _, person, team = astuple(call.payer)
    return Use(id=UseId(call.id), run=run, person=person, team=team, price=price, tokens=max(usage.tokens, 0))


def _left(ledger: policy.BudgetLedger, call: ModelCall, limit: Limit, now: datetime) -> Money | None:
    """What one limit leaves; None if it is not about this call, or a price before it is unknown."""
    probe = use_of(call, TokenUsage(), Money(amount=Decimal(0), currency=limit.currency))
    if not probe.party(limit.per):
        return None
    # An empty use against a limit of nothing: what it would stand at is what was used and is held.
    alone = replace(ledger, limits=(replace(limit, at_most=Decimal(-1)),))
    decision = policy.reserve(alone, probe, now)
    if isinstance(decision, Reached):
        return Money(amount=max(subtract(limit.at_most, decision.used), Decimal(0)), currency=limit.currency)
    return None
