"""Which models are asked, in what order, and why: a pure function of the question and of what is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

from pydantic_ai.messages import BinaryContent, ImageUrl

from cellwright.errors import ModelUnavailable, RefusedByPolicy
from cellwright.models.calls import Request
from cellwright.models.config.catalogue import Traits
from cellwright.models.config.names import Ability, ModelName
from cellwright.models.money.prices import Rates
from cellwright.models.routing.breaker import Health
from cellwright.policy.money import Money
from cellwright.remedies import remedy

Why = Literal["private", "not-ready", "ability", "context", "budget"]
"""Why a model is not asked."""

_LACKING: Final[Mapping[Ability, str]] = {
    "tools": "cannot call tools",
    "schema": "cannot keep to a schema",
    "images": "cannot see images",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteRequest:
    """What matters of a call for choosing who answers it."""

    needs: frozenset[Ability] = frozenset()
    context_tokens: int = 0
    """What is sent, estimated."""
    answer_tokens: int = 0
    """What may come back: it must fit beside what is sent, and be paid."""
    private: bool = False
    """Nothing may leave this machine."""
    budget_left: Money | None = None
    """None: money is not bounded."""
    named: bool = False
    """The person named these models: their order is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One model that might answer."""

    name: ModelName
    traits: Traits
    position: int
    """In its chain, the strongest first."""
    is_ready: bool = True
    """Its key is there, or it needs none."""
    health: Health = "closed"
    rates: Rates | None = None
    """None: nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteRefusal:
    """Why a model is not asked at all."""

    why: Why
    reason: str

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Whom to ask, first to last. Every candidate is either in `order`, with a reason, or `refused`, with one."""

    order: tuple[ModelName, ...]
    reasons: Mapping[ModelName, str]
    refused: Mapping[ModelName, RouteRefusal]

    @property
    def is_unaffordable(self) -> bool:
        """Nothing is left, and with more money something would be: the person can be asked."""
        whys = {refusal.why for refusal in self.refused.values()}
        return not self.order and "budget" in whys and "private" not in whys

    def error(self) -> RefusedByPolicy | ModelUnavailable:
        """What to raise where nothing is left to ask."""
        listed = "; ".join(f"{name}: {refusal}" for name, refusal in self.refused.items()) or "the chain is empty"
        if any(refusal.why == "private" for refusal in self.refused.values()):
            return RefusedByPolicy(
                f"No model on this machine can answer, and nothing may leave it ({listed}).",
                hint=remedy("without_private", lead="Add a local model to the chain in models.toml, or"),
            )
        return ModelUnavailable(
            f"No model can be asked ({listed}).", hint=remedy("see_doctor", says="shows what each provider needs")
        )


def route(question: RouteRequest, candidates: Sequence[Candidate]) -> Route:
    """Order those who can answer; refuse, with the reason, those who cannot.

    Named models keep their order. Of a tier, endpoints that failed lately come last, and where money is bounded, models
    of unknown price after the rest.
    """
    known: dict[ModelName, Candidate] = {}
    for candidate in sorted(candidates, key=lambda candidate: candidate.position):
        known.setdefault(candidate.name, candidate)
    refused = {name: refusal for name, one in known.items() if (refusal := refuse(question, one)) is not None}
    order = [candidate for name, candidate in known.items() if name not in refused]
    if not question.named:
        order.sort(key=lambda candidate: _rank(question, candidate))
    return Route(
        order=tuple(candidate.name for candidate in order),
        reasons={candidate.name: _reason(question, candidate) for candidate in order},
        refused=refused,
    )


def refuse(question: RouteRequest, candidate: Candidate) -> RouteRefusal | None:
    """Why this model cannot answer; None if it can. Privacy comes before everything."""
    traits = candidate.traits
    if question.private and not traits.local:
        return RouteRefusal(why="private", reason="it is not on this machine")
    if not candidate.is_ready:
        return RouteRefusal(why="not-ready", reason="it has no key")
    for ability, lacking in _LACKING.items():
        if ability in question.needs and not can(traits, ability):
            return RouteRefusal(why="ability", reason=f"it {lacking}")
    tokens = question.context_tokens + question.answer_tokens
    if traits.context_tokens is not None and tokens > traits.context_tokens:
        return RouteRefusal(why="context", reason=f"it reads {traits.context_tokens} tokens, this needs about {tokens}")
    cost = cost_of(question, candidate)
    left = question.budget_left
    if left is not None and cost is not None and cost.currency == left.currency and cost.amount > left.amount:
        return RouteRefusal(
            why="budget", reason=f"it would cost about {cost.amount.normalize():f} {cost.currency}, and {left} is left"
        )
    return None


def can(traits: Traits, ability: Ability) -> bool:
    """Whether a model can do that, in whichever way it is put to it: tools and schemas stand in for each other."""
    return traits.tools or traits.schema if ability in ("tools", "schema") else getattr(traits, ability)


def needs_of(request: Request) -> frozenset[Ability]:
    """What the request itself shows: tools, a shape of the answer, images."""
    needs: dict[Ability, bool] = {
        "tools": bool(request.tools),
        "schema": request.output is not None,
        "images": any(
            isinstance(each, ImageUrl) or (isinstance(each, BinaryContent) and each.is_image)
            for each in request.contents
        ),
    }
    return frozenset(ability for ability, is_needed in needs.items() if is_needed)


def cost_of(question: RouteRequest, candidate: Candidate) -> Money | None:
    """About what it would cost there; None where nobody knows. What runs here costs nothing."""
    if (rates := candidate.rates) is None:
        return Money(amount=Decimal(0)) if candidate.traits.local else None
    into, out = rates.input_per_million, rates.output_per_million
    amount = (question.context_tokens * into + question.answer_tokens * out) / 1_000_000
    return Money(amount=amount, currency=rates.currency)


def _rank(question: RouteRequest, candidate: Candidate) -> tuple[bool, bool, int]:
    is_risk = question.budget_left is not None and cost_of(question, candidate) is None
    return candidate.health == "open", is_risk, candidate.position


def _reason(question: RouteRequest, candidate: Candidate) -> str:
    notes = [f"number {candidate.position + 1} of the {'models named' if question.named else 'chain'}"]
    if question.private:
        notes.append("on this machine")
    if candidate.health == "open":
        notes.append("its endpoint failed lately")
    return ", ".join(notes)
