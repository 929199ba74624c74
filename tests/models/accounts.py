"""Calls, answers and ledgers for tests of what is written down and paid."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

from cellwright.models.calls import Cancelled, FailedAttempt, ModelAnswer, ModelCall, Payer, Request, TokenUsage
from cellwright.models.config.names import CallId
from cellwright.models.money.ledger import Ledger
from cellwright.policy.budgets import Limit
from cellwright.policy.masking.masker import Masker, Secret
from cellwright.policy.money import Money, Price, UnknownPrice

KEY = "sk-canary-5f2c9e8d7b6a4c3e"
MASKER = Masker.of([Secret(name="OPENAI_API_KEY", value=KEY)], salt=b"tests of the ledger")
NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
ANN = Payer(run="run-1", step="brief", role="planner", person="ann", team="data")
USED = TokenUsage(input_tokens=100, output_tokens=20)


def dollars(amount: str) -> Money:
    return Money(amount=Decimal(amount))


def mask(text: str) -> str:
    return MASKER.mask(text).text


def at_a_cent(model: str, usage: TokenUsage) -> Price:
    """A price list: a cent a call, and one model that is on no list."""
    return UnknownPrice(why=f"no list has {model}") if "strange" in model else dollars("0.01")


def noon() -> datetime:
    return NOON


def opened(folder: Path, clock: Callable[[], datetime] = noon) -> Ledger:
    return Ledger(folder / "models.db", mask=mask, price_of=at_a_cent, clock=clock, wait_seconds=0)


def asking(text: str) -> Request:
    return Request(messages=[ModelRequest(parts=[UserPromptPart(text)])])


def call(name: str = "one", *, text: str = "How many rows?", payer: Payer = ANN, **options: object) -> ModelCall:
    limits = options.pop("limits", ())
    assert isinstance(limits, tuple)
    again = options.pop("again", False)
    assert not options
    return ModelCall(
        id=CallId(name), request=asking(text), payer=payer, limits=limits, if_unknown="again" if again else "tell"
    )


def answer(
    text: str = "42",
    *,
    price: Price | None = None,
    model: str = "openai:gpt-5",
    attempts: tuple[FailedAttempt, ...] = (),
) -> ModelAnswer:
    return ModelAnswer(
        response=ModelResponse(parts=[TextPart(text)], finish_reason="stop", timestamp=NOON),
        model=model,
        usage=USED,
        price=dollars("0.25") if price is None else price,
        reason="first of the chain",
        attempts=attempts,
        milliseconds=7,
    )


def failed(
    model: str = "anthropic:claude-sonnet-4-5", *, usage: TokenUsage | None = USED, detail: str = "cut"
) -> FailedAttempt:
    return FailedAttempt(model=model, failing="connection", detail=detail, milliseconds=3, usage=usage)


def cancelled(price: Price | None = None) -> Cancelled:
    return Cancelled(model="openai:gpt-5", usage=USED, price=dollars("0.10") if price is None else price)


def send(ledger: Ledger, asked: ModelCall, *, price: Price | None = None, model: str = "openai:gpt-5") -> None:
    """Begin a call and record it as sent, expected to cost 50 cents."""
    ledger.begin(asked)
    ledger.sent(
        asked.id,
        model,
        idempotency_key=f"key of {asked.id}",
        estimate=TokenUsage(input_tokens=90, output_tokens=1_000, is_estimate=True),
        price=dollars("0.50") if price is None else price,
    )


def send_and_answer(ledger: Ledger, asked: ModelCall, answered: ModelAnswer | None = None) -> None:
    send(ledger, asked)
    ledger.answered(asked.id, answered or answer())


def at_most(amount: str, *, per: str = "run", window: str = "ever", measure: str = "money") -> Limit:
    return Limit(
        measure="tokens" if measure == "tokens" else "money",
        per="person" if per == "person" else "team" if per == "team" else "run",
        at_most=Decimal(amount),
        window="day" if window == "day" else "ever",
        currency="" if measure == "tokens" else "USD",
    )
