"""Budgets: what has been used and is held, against the limits of what may be. `models` measures, this room decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import reduce
from typing import Final, Literal, NewType, get_args

from cellwright.errors import Defect
from cellwright.policy.money import Money, Price, UnknownPrice, add, is_amount

Measure = Literal["money", "tokens", "wall-seconds", "kernel-seconds", "rows", "steps"]
MEASURES: tuple[Measure, ...] = get_args(Measure)

Per = Literal["run", "person", "team"]
PARTIES: tuple[Per, ...] = get_args(Per)

Window = Literal["ever", "day"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """At most so much of one thing, for each run, person or team, in all or in a day (UTC)."""

    measure: Measure
    per: Per
    at_most: Decimal
    window: Window = "ever"
    currency: str = ""
    """Only for money."""
    where: str = ""
    """The file and line that set it."""

    def describe(self) -> str:
        """The limit in words."""
        unit = self.currency if self.measure == "money" else self.measure
        return f"{self.at_most:f} {unit} per {self.per}{' and day' if self.window == 'day' else ''}"


UseId = NewType("UseId", str)
"""Names one use for good; the same use reported twice counts once."""

_NOTHING: Final = Decimal(0)
_FREE: Final = Money(amount=_NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What one step used or will use, and on whose account."""

    id: UseId
    run: str
    person: str
    team: str = ""
    price: Price = _FREE
    tokens: int = 0
    wall_seconds: Decimal = _NOTHING
    kernel_seconds: Decimal = _NOTHING
    rows: int = 0
    steps: int = 0

    def __post_init__(self) -> None:
        is_sound = self.price.is_sound if isinstance(self.price, Money) else True
        if not is_sound or not all(is_amount(self.amount(measure)) for measure in MEASURES):
            raise Defect(f"Use {self.id!r} was measured as negative, endless or too fine to count.")

    def amount(self, measure: Measure) -> Decimal:
        """How much of one thing; an unknown price counts nothing here and is remembered apart."""
        if measure == "money":
            return self.price.amount if isinstance(self.price, Money) else _NOTHING
        # The others are fields of the same names.
        return Decimal(getattr(self, measure.replace("-", "_")))

    def party(self, per: Per) -> str:
        """Whose account it is."""
        return {"run": self.run, "person": self.person, "team": self.team}[per]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What is summed together: one measure of one party, on one day (UTC) or ever."""

    measure: Measure
    per: Per
    party: str
    currency: str = ""
    """Only for money."""
    day: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLedger:
    """What is held and what was used, each use once."""

    limits: tuple[Limit, ...] = ()
    held: Mapping[UseId, Use] = field(default_factory=dict[UseId, Use])
    totals: Mapping[Account, Decimal] = field(default_factory=dict[Account, Decimal])
    settled: frozenset[UseId] = frozenset()
    unpriced: Mapping[UseId, tuple[Use, date]] = field(default_factory=dict[UseId, tuple[Use, date]])
    """Settled uses whose price nobody knows yet, and their day."""
    prices: Mapping[UseId, Money] = field(default_factory=dict[UseId, Money])
    """What a person has put on uses whose price nobody knew, or that are in another currency."""
    uncounted: frozenset[str] = frozenset()
    """Runs that go on although nobody knows what some of their uses cost: what is known still counts."""

    def used(self, account: Account) -> Decimal:
        """What was used, reservations not counted."""
        return self.totals.get(account, _NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """Go on."""

    ledger: BudgetLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """Pause and ask: this limit is reached."""

    ledger: BudgetLedger
    """What happened is in it; what was only to be reserved is not."""
    limit: Limit
    party: str
    used: Decimal
    """With what is held, and with this use."""

    def describe(self) -> str:
        """The question to the person."""
        where = f" ({self.limit.where})" if self.limit.where else ""
        return f"{self.limit.describe()}{where} is reached: {self.party} would stand at {self.used:f}. Go on?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpriced:
    """Pause and ask: money is bounded, and nobody knows what a use costs."""

    ledger: BudgetLedger
    limit: Limit
    party: str
    why: str
    use: UseId | None = None
    """The use that has no price in the limit's currency; None if it is a sum in another one."""

    def describe(self) -> str:
        """The question to the person."""
        return f"{self.limit.describe()} holds for {self.party}, but {self.why}. Go on?"


Budget = Within | Reached | Unpriced


def reserve(ledger: BudgetLedger, estimate: Use, now: datetime) -> Budget:
    """Hold what a call is expected to use, or say which limit it would pass. Reserving again replaces."""
    if estimate.id in ledger.settled:
        return Within(ledger=ledger)
    estimate = _with_price(ledger, estimate)
    held = replace(ledger, held={**ledger.held, estimate.id: estimate})
    answer = _check(held, estimate, _day(now))
    return answer if isinstance(answer, Within) else replace(answer, ledger=ledger)


def settle(ledger: BudgetLedger, actual: Use, now: datetime) -> Budget:
    """Count what a call really used and let go of what was held for it, if anything. Counted once, and always."""
    if actual.id in ledger.settled:
        return Within(ledger=ledger)
    actual = _with_price(ledger, actual)
    day = _day(now)
    is_unpriced = isinstance(actual.price, UnknownPrice)
    counted = replace(
        release(ledger, actual.id),
        totals=_with(ledger.totals, actual, MEASURES, day),
        settled=ledger.settled | {actual.id},
        unpriced={**ledger.unpriced, actual.id: (actual, day)} if is_unpriced else ledger.unpriced,
    )
    return _check(counted, actual, day)


def release(ledger: BudgetLedger, use: UseId) -> BudgetLedger:
    """Let go of what was held for a call that never happened."""
    return replace(ledger, held={key: held for key, held in ledger.held.items() if key != use})


def price(ledger: BudgetLedger, use: UseId, money: Money) -> BudgetLedger:
    """The ledger once the unknown price of a use is known, or a person has put one on it, before or after it."""
    if use in ledger.unpriced:
        unpriced, day = ledger.unpriced[use]
        return replace(
            ledger,
            totals=_with(ledger.totals, replace(unpriced, price=money), ("money",), day),
            unpriced={key: entry for key, entry in ledger.unpriced.items() if key != use},
        )
    if use in ledger.settled:
        return ledger
    priced = replace(ledger, prices={**ledger.prices, use: money})
    return replace(priced, held={key: _with_price(priced, held) for key, held in ledger.held.items()})


def leave_uncounted(ledger: BudgetLedger, run: str) -> BudgetLedger:
    """The ledger once a person lets a run go on without knowing what some of its uses cost."""
    return replace(ledger, uncounted=ledger.uncounted | {run})


def _with_price(ledger: BudgetLedger, use: Use) -> Use:
    """The use at the price a person has put on it, unless its own can be compared with that."""
    given = ledger.prices.get(use.id)
    if given is None or (isinstance(use.price, Money) and use.price.currency == given.currency):
        return use
    return replace(use, price=given)


def _with(
    totals: Mapping[Account, Decimal], use: Use, measures: tuple[Measure, ...], day: date
) -> dict[Account, Decimal]:
    more = dict(totals)
    for measure in measures:
        amount = use.amount(measure)
        currency = use.price.currency if measure == "money" and isinstance(use.price, Money) else ""
        for per in PARTIES if amount else ():
            for when in (None, day):
                account = Account(measure=measure, per=per, party=use.party(per), currency=currency, day=when)
                more[account] = add(more.get(account, _NOTHING), amount)
    return more


def _check(ledger: BudgetLedger, use: Use, day: date) -> Budget:
    """The first limit of this use's accounts that is passed; one used up exactly is not passed yet."""
    for limit in ledger.limits:
        party, when = use.party(limit.per), day if limit.window == "day" else None
        if not party:
            continue
        account = Account(measure=limit.measure, per=limit.per, party=party, currency=limit.currency, day=when)
        if limit.measure == "money" and use.run not in ledger.uncounted and (found := _incomparable(ledger, account)):
            return Unpriced(ledger=ledger, limit=limit, party=party, use=found[0], why=found[1])
        held = (each.amount(limit.measure) for each in _held_by(ledger, account))
        used = reduce(add, held, ledger.used(account))
        if used > limit.at_most:
            return Reached(ledger=ledger, limit=limit, party=party, used=used)
    return Within(ledger=ledger)


def _incomparable(ledger: BudgetLedger, account: Account) -> tuple[UseId | None, str] | None:
    """Which money of this account cannot be set against its limit: unknown, or of another currency."""
    settled = [use for use, day in ledger.unpriced.values() if account.day in (None, day)]
    for use in (*_held_by(ledger, account), *settled):
        if use.party(account.per) == account.party and isinstance(use.price, UnknownPrice):
            return use.id, f"use {use.id} has {use.price}"
        if isinstance(use.price, Money) and use.price.currency != account.currency and use.price.amount:
            return use.id, f"use {use.id} costs {use.price}"
    for other, total in ledger.totals.items():
        if replace(other, currency=account.currency) == account and other != account:
            return None, f"{total:f} {other.currency} were spent"
    return None


def _held_by(ledger: BudgetLedger, account: Account) -> list[Use]:
    return [use for use in ledger.held.values() if use.party(account.per) == account.party]


def _day(now: datetime) -> date:
    if now.tzinfo is None:
        raise Defect("A time without its zone names no day.")
    return now.astimezone(UTC).date()
