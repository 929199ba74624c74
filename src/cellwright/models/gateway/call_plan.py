"""Which models a call goes to and whether it may be paid.

Embeddings, whose use is only estimated, are asked at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cellwright.errors import CellwrightError, UserError
from cellwright.models.calls import BudgetReached, Choice, FailedAttempt, ModelCall, Payer, TokenUsage
from cellwright.models.config.names import ModelName
from cellwright.models.gateway.model_registry import ModelRegistry
from cellwright.models.money.budgets import BYTES_PER_TOKEN, Budgets, estimate
from cellwright.models.money.ledger import Ledger
from cellwright.models.providers.failures import failure_of
from cellwright.models.providers.request_adapter import check_settings
from cellwright.models.routing.fallback import RouteExhausted
from cellwright.models.routing.route import Route, RouteRequest, needs_of, route


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPlan:
    """How a call goes out."""

    route: Route
    estimate: TokenUsage


@dataclass(frozen=True, slots=True)
class CallPlanner:
    """Decides for one call at a time; what calls in flight will use is held until they end."""

    registry: ModelRegistry
    budgets: Budgets

    async def plan(self, call: ModelCall) -> CallPlan | BudgetReached:
        """Who is asked, unless it would pass a limit. Raises where nobody may be asked."""
        check_settings(call.request.settings)
        estimated = estimate(call.request)
        candidates = await self.registry.candidates(call.choice)
        question = RouteRequest(
            needs=needs_of(call.request),
            context_tokens=estimated.input_tokens,
            answer_tokens=estimated.output_tokens,
            private=call.choice.private,
            budget_left=self.budgets.left(call) if call.limits else None,
            named=bool(call.choice.models),
        )
        chosen = route(question, candidates)
        if chosen.is_unaffordable:
            # The person is asked about the model that would have been first.
            chosen = route(replace(question, budget_left=None), candidates)
        if not chosen.order:
            raise chosen.error()
        plan = CallPlan(route=chosen, estimate=estimated)
        return self.reserve(call, plan, chosen.order[0]) or plan

    def reserve(self, call: ModelCall, plan: CallPlan, model: ModelName) -> BudgetReached | None:
        """Hold what this call will use at this model, unless that would pass a limit."""
        if not call.limits:
            return None
        return self.budgets.reserve(call, plan.estimate, self.registry.price_of(model, plan.estimate))


async def embed(registry: ModelRegistry, ledger: Ledger, texts: Sequence[str], choice: Choice) -> list[list[float]]:
    """One vector per text. What it used is estimated: providers of vectors seldom say. Raises where nobody answers."""
    question = RouteRequest(private=choice.private, named=bool(choice.models))
    chosen = route(question, await registry.candidates(choice))
    if not chosen.order:
        raise chosen.error()
    attempts: list[FailedAttempt] = []
    for name in chosen.order:
        try:
            vectors = await registry.embed(name, texts)
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - SDKs raise whatever they like; `failure_of` knows what it means
            failing, detail, _ = failure_of(error)
            if isinstance(error, CellwrightError):
                failing, detail = "not-ready", error.message
            attempts.append(FailedAttempt(model=str(name), failing=failing, detail=registry.mask(detail)))
            continue
        usage = TokenUsage(
            input_tokens=sum(-(-len(text.encode()) // BYTES_PER_TOKEN) for text in texts), is_estimate=True
        )
        ledger.charge(model=str(name), usage=usage, price=registry.price_of(name, usage), payer=Payer())
        return vectors
    raise RouteExhausted(attempts=tuple(attempts)).error()
