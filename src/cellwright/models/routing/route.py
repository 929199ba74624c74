"""Which models are asked, in what order, and why: a pure function of the question and of what is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

from pydantic_ai.messages import BinaryContent, ImageUrl, ModelRequest, ToolReturnPart, UserPromptPart

from cellwright.errors import ModelUnavailable, RefusedByPolicy
from cellwright.models.calls import Complexity, Request
from cellwright.models.config.catalogue import Traits
from cellwright.models.config.names import ABILITIES, Ability, ModelName
from cellwright.models.routing.breaker import Health
from cellwright.policy import Money
from cellwright.remedies import remedy

Why = Literal["private", "not-ready", "ability", "context", "budget"]
"""Why a model is not asked."""

_LACKING: Final[Mapping[Ability, str]] = {
    "tools": "cannot call tools",
    "schema": "cannot keep to a schema",
    "images": "cannot see images",
    "streaming": "cannot stream",
    "reasoning": "cannot reason first",
    "caching": "cannot keep a prompt between calls",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteRequest:
    """What matters of a call for choosing who answers it."""

    complexity: Complexity = "normal"
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
    price_per_million_in: Decimal | None = None
    price_per_million_out: Decimal | None = None
    """None: nobody knows."""
    currency: str = "USD"


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

    Named models keep their order. A tier is reordered: for a simple task the cheapest first, otherwise as its chain
    stands; endpoints that failed lately come last, and where money is bounded, models of unknown price after the rest.
    """
    order: list[Candidate] = []
    refused: dict[ModelName, RouteRefusal] = {}
    for candidate in _once_each(candidates):
        refusal = refuse(question, candidate)
        if refusal is None:
            order.append(candidate)
        else:
            refused[candidate.name] = refusal
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
    for ability in ABILITIES:
        if ability in question.needs and not can(traits, ability):
            return RouteRefusal(why="ability", reason=f"it {_LACKING[ability]}")
    tokens = question.context_tokens + question.answer_tokens
    if traits.context_tokens is not None and tokens > traits.context_tokens:
        return RouteRefusal(why="context", reason=f"it reads {traits.context_tokens} tokens, this needs about {tokens}")
    cost = cost_of(question, candidate)
    left = question.budget_left
    if left is not None and cost is not None and cost.currency == left.currency and cost.amount > left.amount:
        return RouteRefusal(why="budget", reason=f"it would cost about {_shown(cost)}, and {left} is left")
    return None


def can(traits: Traits, ability: Ability) -> bool:
    """Whether a model can do that, in whichever way it is put to it: tools and schemas stand in for each other."""
    match ability:
        case "tools" | "schema":
            return traits.tools or traits.schema
        case "images":
            return traits.images
        case "streaming":
            return traits.streaming
        case "reasoning":
            return traits.reasoning
        case "caching":
            return traits.caching


def needs_of(request: Request) -> frozenset[Ability]:
    """What the request itself shows: tools, a shape of the answer, images."""
    needs: set[Ability] = set()
    if request.tools:
        needs.add("tools")
    if request.output is not None:
        needs.add("schema")
    if any(_is_image(content) for content in _contents(request)):
        needs.add("images")
    return frozenset(needs)


def cost_of(question: RouteRequest, candidate: Candidate) -> Money | None:
    """About what it would cost there; None where nobody knows. What runs here costs nothing."""
    into, out = candidate.price_per_million_in, candidate.price_per_million_out
    if into is None or out is None:
        return Money(amount=Decimal(0), currency=candidate.currency) if candidate.traits.local else None
    amount = (question.context_tokens * into + question.answer_tokens * out) / 1_000_000
    return Money(amount=amount, currency=candidate.currency)


def _once_each(candidates: Sequence[Candidate]) -> Iterable[Candidate]:
    """In the order of the chain, the first of each name."""
    seen: set[ModelName] = set()
    for candidate in sorted(candidates, key=lambda candidate: candidate.position):
        if candidate.name not in seen:
            seen.add(candidate.name)
            yield candidate


def _rank(question: RouteRequest, candidate: Candidate) -> tuple[bool, bool, bool, Decimal, int]:
    cost = cost_of(question, candidate)
    is_cheapness_asked = question.complexity == "simple"
    return (
        candidate.health == "open",
        question.budget_left is not None and cost is None,
        is_cheapness_asked and cost is None,
        cost.amount if is_cheapness_asked and cost is not None else Decimal(0),
        candidate.position,
    )


def _reason(question: RouteRequest, candidate: Candidate) -> str:
    place = f"number {candidate.position + 1} of the {'models named' if question.named else 'chain'}"
    notes = [place]
    cost = cost_of(question, candidate)
    if question.complexity == "simple" and not question.named:
        notes.insert(0, "cheapest first for a simple task: " + ("price unknown" if cost is None else _shown(cost)))
    if question.private:
        notes.append("on this machine")
    if candidate.health == "open":
        notes.append("its endpoint failed lately")
    return ", ".join(notes)


def _shown(cost: Money) -> str:
    return f"{cost.amount.normalize():f} {cost.currency}"


def _contents(request: Request) -> Iterable[object]:
    for message in request.messages:
        if not isinstance(message, ModelRequest):
            continue
        for part in message.parts:
            if isinstance(part, UserPromptPart) and not isinstance(part.content, str):
                yield from part.content
            elif isinstance(part, ToolReturnPart):
                yield from part.files


def _is_image(content: object) -> bool:
    return isinstance(content, ImageUrl) or (isinstance(content, BinaryContent) and content.is_image)
