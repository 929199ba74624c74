"""One envelope for a whole plan: everything it will touch, agreed to once. Inside it nothing asks.

An envelope turns questions into answers, never a no into a yes: what a rule denies stays denied.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce

from cellwright.policy.actions import KINDS, TRAITS, Action, Fingerprint, fingerprint_of
from cellwright.policy.money import Money, add
from cellwright.policy.targets import Malformed, PriceTarget, Scope, scope_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """What a plan will touch, and at most use. Only one a person agreed to counts: see `approvals`."""

    project: str
    scopes: frozenset[Scope] = frozenset()
    money: Money | None = None
    """At most so much in all. None: the envelope allows no spending of its own."""
    wall_seconds: Decimal | None = None
    """At most so long in all."""

    @property
    def fingerprint(self) -> Fingerprint:
        """Names exactly this envelope."""
        scopes = sorted(scope.fingerprint for scope in self.scopes)
        return fingerprint_of(("envelope", self.project, scopes, str(self.money), str(self.wall_seconds)))

    def describe(self) -> str:
        """The whole envelope for the person who is to agree, grouped by what is touched."""
        lines = list[str]()
        for kind in KINDS:
            reaches = sorted(scope.describe() for scope in self.scopes if scope.kind == kind)
            lines += [f"{TRAITS[kind].heading}:", *(f"  {reach}" for reach in reaches)] if reaches else []
        if self.money is not None:
            lines.append(f"Money: at most {self.money} in all")
        if self.wall_seconds is not None:
            lines.append(f"Time: at most {self.wall_seconds:f} seconds")
        return "\n".join(lines) or "Nothing that needs to be asked about"


def envelope_of(actions: Iterable[Action], *, project: str, money: Money | None = None) -> Envelope | Malformed:
    """The envelope that holds exactly these planned actions.

    Known prices in one currency are summed into `money` unless it is given; a price nobody knows cannot be agreed to
    in advance and is left out, so it will ask.
    """
    scopes, prices = set[Scope](), list[Money]()
    for action in actions:
        scope = scope_of(action, project)
        if isinstance(scope, Malformed):
            return scope
        if TRAITS[action.kind].needs_person:
            # Never agreed to in advance: it will ask.
            continue
        if not isinstance(scope.target, PriceTarget):
            scopes.add(scope)
        elif isinstance(scope.target.price, Money):
            prices.append(scope.target.price)
    if money is None and len({price.currency for price in prices}) == 1:
        money = Money(amount=reduce(add, (price.amount for price in prices)), currency=prices[0].currency)
    return Envelope(project=project, scopes=frozenset(scopes), money=money)


def covers(envelope: Envelope, action: Action) -> bool:
    """Whether the action lies inside. A payment does when its price is known and not above the whole; budgets sum."""
    scope = scope_of(action, envelope.project)
    if isinstance(scope, Malformed) or TRAITS[action.kind].needs_person:
        return False
    if not isinstance(scope.target, PriceTarget):
        return scope in envelope.scopes
    price, money = scope.target.price, envelope.money
    return (
        isinstance(price, Money)
        and money is not None
        and price.currency == money.currency
        and price.amount <= money.amount
    )
