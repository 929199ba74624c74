"""What is decided before a call is sent: who is asked in which order, and whether it may be paid."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cellwright.models.asking import check_settings
from cellwright.models.budgeting import Budgets
from cellwright.models.calls import BudgetReached, Call, Usage
from cellwright.models.estimating import estimate
from cellwright.models.gateway.desk import Desk
from cellwright.models.names import ModelName
from cellwright.models.routing import Question, Route, needs_of, route
from cellwright.policy import Price


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a call goes out."""

    route: Route
    estimate: Usage


class Planning:
    """Decides for one call at a time; what calls in flight will use is held until they end."""

    def __init__(self, desk: Desk, budgets: Budgets) -> None:
        self._desk = desk
        self.budgets = budgets

    async def plan(self, call: Call) -> Plan | BudgetReached:
        """Who is asked, unless it would pass a limit. Raises where nobody may be asked."""
        check_settings(call.request.settings)
        estimated = estimate(call.request)
        candidates = await self._desk.candidates(call.choice)
        question = Question(
            complexity=call.choice.complexity,
            needs=needs_of(call.request) | call.choice.needs,
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
        plan = Plan(route=chosen, estimate=estimated)
        return self.reserve(call, plan, chosen.order[0]) or plan

    def reserve(self, call: Call, plan: Plan, model: ModelName) -> BudgetReached | None:
        """Hold what this call will use at this model, unless that would pass a limit."""
        return self.budgets.reserve(call, plan.estimate, self.price(plan, model)) if call.limits else None

    def price(self, plan: Plan, model: ModelName) -> Price:
        """What it would cost there."""
        return self._desk.price_of(model, plan.estimate)
