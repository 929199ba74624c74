"""Budgets of model calls: what is in flight is held, so that calls at the same time cannot pass a limit together.

`models` measures, `policy` decides; here the one is put to the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Protocol, assert_never

from cellwright import policy
from cellwright.models.calls import BudgetReached, Call, Payer, Usage
from cellwright.models.ledger import utc_now
from cellwright.models.names import CallId
from cellwright.policy import Limit, Money, Price, Reached, Unpriced, Use, UseId, Within
from cellwright.policy.money import subtract


class Totals(Protocol):
    """Where what was used is written down."""

    def policy_ledger(self, payer: Payer, limits: Sequence[Limit]) -> policy.Ledger:
        """What the payer's parties used of what is limited."""
        ...


class Budgets:
    """What calls in flight may use, on top of what was used. To be called from one thread, without a pause between."""

    def __init__(self, totals: Totals, clock: Callable[[], datetime] = utc_now) -> None:
        self._totals = totals
        self._clock = clock
        self._held = dict[UseId, Use]()

    def reserve(self, call: Call, estimate: Usage, price: Price) -> BudgetReached | None:
        """Hold what a call is expected to use until `release`; or say which limit it would pass, and hold nothing.

        Reserving again, for a fallback with another price, replaces what was held.
        """
        if call.limits:
            standing = self._totals.policy_ledger(call.payer, call.limits)
            reached = decide(call, estimate, price, replace(standing, held=dict(self._held)), self._clock())
            if reached is not None:
                return reached
        use = use_of(call, estimate, price)
        self._held[use.id] = use
        return None

    def release(self, id: CallId) -> None:
        """The call ended; what it really used is in the ledger by now."""
        self._held.pop(UseId(id), None)

    def left(self, call: Call) -> Money | None:
        """The least money its limits leave this call; None where money is not bounded or nobody can say.

        With limits in several currencies, the first limit's: they cannot be compared.
        """
        limits = tuple(limit for limit in call.limits if limit.measure == "money")
        ledger = replace(self._totals.policy_ledger(call.payer, limits), held=dict(self._held))
        lefts = [left for limit in limits if (left := _left(ledger, call, limit, self._clock())) is not None]
        same = [left.amount for left in lefts if left.currency == lefts[0].currency]
        return Money(amount=min(same), currency=lefts[0].currency) if lefts else None

    @property
    def held(self) -> Mapping[UseId, Use]:
        """What is held now."""
        return dict(self._held)


def decide(call: Call, estimate: Usage, price: Price, ledger: policy.Ledger, now: datetime) -> BudgetReached | None:
    """None if the call may be sent; else which limit stands against it, and what to ask the person."""
    decision = policy.reserve(ledger, use_of(call, estimate, price), now)
    match decision:
        case Within():
            return None
        case Reached():
            return BudgetReached(
                limit=decision.limit,
                party=decision.party,
                question=decision.describe(),
                estimate=estimate,
                price=price,
                used=decision.used,
            )
        case Unpriced():
            return BudgetReached(
                limit=decision.limit,
                party=decision.party,
                question=decision.describe(),
                estimate=estimate,
                price=price,
            )
        case _:
            assert_never(decision)


def use_of(call: Call, usage: Usage, price: Price) -> Use:
    """A call's use as `policy` counts it."""
    payer = call.payer
    return Use(
        id=UseId(call.id),
        run=payer.run,
        person=payer.person,
        team=payer.team,
        price=price,
        tokens=max(usage.tokens, 0),
    )


def _left(ledger: policy.Ledger, call: Call, limit: Limit, now: datetime) -> Money | None:
    """What one limit leaves; None if it is not about this call, or a price before it is unknown."""
    probe = use_of(call, Usage(), Money(amount=Decimal(0), currency=limit.currency))
    if not probe.party(limit.per):
        return None
    # An empty use against a limit of nothing: what it would stand at is what was used and is held.
    alone = replace(ledger, limits=(replace(limit, at_most=Decimal(-1)),))
    decision = policy.reserve(alone, probe, now)
    if isinstance(decision, Reached):
        return Money(amount=max(subtract(limit.at_most, decision.used), Decimal(0)), currency=limit.currency)
    return None
