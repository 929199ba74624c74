"""Budgets count exactly, each use once, never below zero; reaching one pauses and asks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.errors import Defect
from cellwright.policy.budgets import (
    MEASURES,
    PARTIES,
    Account,
    Budget,
    BudgetLedger,
    Limit,
    Reached,
    Unpriced,
    Use,
    UseId,
    Within,
    leave_uncounted,
    price,
    release,
    reserve,
    settle,
)
from cellwright.policy.money import Money, Price, UnknownPrice, add, parse_money, subtract
from tests.policy.strategies import NOW, PROPERTY

DAY = NOW.date()


def usd(amount: str) -> Money:
    return Money(amount=Decimal(amount))


def used(number: int = 1, **more: Any) -> Use:
    known: dict[str, Any] = {"id": UseId(f"u{number}"), "run": "r1", "person": "ada", "team": "birds"}
    return Use(**(known | more))


def money_limit(amount: str, **more: Any) -> Limit:
    known: dict[str, Any] = {"measure": "money", "per": "run", "at_most": Decimal(amount), "currency": "USD"}
    return Limit(**(known | more))


def total(
    ledger: BudgetLedger, measure: Any = "money", per: Any = "run", party: str = "r1", day: Any = None
) -> Decimal:
    currency = "USD" if measure == "money" else ""
    return ledger.used(Account(measure=measure, per=per, party=party, currency=currency, day=day))


def within(budget: Budget) -> BudgetLedger:
    assert isinstance(budget, Within)
    return budget.ledger


@pytest.mark.parametrize(
    ("measure", "use"),
    [
        ("money", {"price": usd("3")}),
        ("tokens", {"tokens": 3}),
        ("wall-seconds", {"wall_seconds": Decimal(3)}),
        ("kernel-seconds", {"kernel_seconds": Decimal(3)}),
        ("rows", {"rows": 3}),
        ("steps", {"steps": 3}),
    ],
)
@pytest.mark.parametrize(("per", "party"), [("run", "r1"), ("person", "ada"), ("team", "birds")])
@pytest.mark.parametrize("window", ["ever", "day"])
def test_every_measure_is_limited_for_every_party_and_time(
    measure: Any, use: dict[str, Any], per: Any, party: str, window: Any
) -> None:
    currency = "USD" if measure == "money" else ""
    limit = Limit(measure=measure, per=per, window=window, at_most=Decimal(5), currency=currency, where="rules.toml:1")
    first = settle(BudgetLedger(limits=(limit,)), used(1, **use), NOW)
    second = settle(within(first), used(2, **use), NOW)
    assert isinstance(second, Reached)
    assert (second.limit, second.party, second.used) == (limit, party, Decimal(6))
    assert total(second.ledger, measure, per, party) == Decimal(6)
    assert second.describe() == f"{limit.describe()} (rules.toml:1) is reached: {party} would stand at 6. Go on?"


def test_a_limit_used_up_exactly_is_not_passed_but_the_next_use_is_not_reserved() -> None:
    full = within(settle(BudgetLedger(limits=(money_limit("5"),)), used(1, price=usd("5")), NOW))
    refused = reserve(full, used(2, price=usd("0.01")), NOW)
    assert isinstance(refused, Reached)
    assert refused.ledger == full
    assert "(" not in refused.describe()


def test_what_is_held_counts_and_settling_replaces_the_estimate() -> None:
    held = within(reserve(BudgetLedger(limits=(money_limit("5"),)), used(1, price=usd("4")), NOW))
    assert total(held) == 0
    assert isinstance(reserve(held, used(2, price=usd("2")), NOW), Reached)
    settled = within(settle(held, used(1, price=usd("1.25")), NOW))
    assert (total(settled), settled.held) == (Decimal("1.25"), {})
    assert within(reserve(settled, used(2, price=usd("2")), NOW)).held.keys() == {"u2"}


def test_reserving_again_replaces_and_a_call_that_never_happened_is_let_go() -> None:
    ledger = BudgetLedger(limits=(money_limit("5"),))
    held = within(reserve(within(reserve(ledger, used(price=usd("4")), NOW)), used(price=usd("5")), NOW))
    assert release(held, UseId("u1")) == ledger


def test_a_use_told_twice_counts_once() -> None:
    once = within(settle(BudgetLedger(), used(price=usd("1")), NOW))
    assert within(settle(once, used(price=usd("1")), NOW)) is once
    assert within(reserve(once, used(price=usd("1")), NOW)) is once


def test_a_new_day_begins_at_midnight_utc() -> None:
    ledger = BudgetLedger(limits=(money_limit("5", window="day"),))
    evening = datetime(2026, 3, 1, 23, 59, 59, tzinfo=UTC)
    full = within(settle(ledger, used(1, price=usd("5")), evening))
    assert isinstance(reserve(full, used(2, price=usd("1")), evening), Reached)
    assert isinstance(reserve(full, used(2, price=usd("1")), evening + timedelta(seconds=1)), Within)
    # 01:30 of the next day in Berlin is still the same day in UTC.
    berlin = datetime(2026, 3, 2, 0, 30, tzinfo=timezone(timedelta(hours=1)))
    assert isinstance(reserve(full, used(2, price=usd("1")), berlin), Reached)


def test_a_time_without_zone_is_our_mistake() -> None:
    with pytest.raises(Defect):
        settle(BudgetLedger(), used(), NOW.replace(tzinfo=None))


def test_a_limit_per_team_does_not_bind_who_has_none() -> None:
    ledger = BudgetLedger(limits=(money_limit("1", per="team"),))
    assert isinstance(settle(ledger, used(team="", price=usd("9")), NOW), Within)


def test_a_limit_binds_only_its_party() -> None:
    ledger = within(settle(BudgetLedger(limits=(money_limit("5"),)), used(1, price=usd("5")), NOW))
    assert isinstance(settle(ledger, used(2, run="r2", price=usd("5")), NOW), Within)


@pytest.mark.parametrize("unknown", [UnknownPrice(why="no price list"), Money(amount=Decimal(1), currency="EUR")])
def test_a_price_that_cannot_be_compared_asks_where_money_is_bounded(unknown: Price) -> None:
    bounded = BudgetLedger(limits=(money_limit("5"),))
    for budget in (reserve(bounded, used(price=unknown), NOW), settle(bounded, used(price=unknown), NOW)):
        assert isinstance(budget, Unpriced)
        assert budget.describe().startswith("5 USD per run holds for r1, but ")
    assert isinstance(settle(BudgetLedger(), used(price=unknown), NOW), Within)
    steps = Limit(measure="steps", per="run", at_most=Decimal(1))
    assert isinstance(settle(BudgetLedger(limits=(steps,)), used(price=unknown), NOW), Within)


def test_an_unknown_price_keeps_asking_until_somebody_puts_one_on_it() -> None:
    unpriced = settle(BudgetLedger(limits=(money_limit("5"),)), used(1, price=UnknownPrice(), tokens=7), NOW)
    assert isinstance(unpriced, Unpriced)
    assert isinstance(reserve(unpriced.ledger, used(2, price=usd("1")), NOW), Unpriced)
    known = price(unpriced.ledger, UseId("u1"), usd("4.5"))
    assert (total(known), total(known, "tokens"), known.unpriced) == (Decimal("4.5"), Decimal(7), {})
    assert isinstance(reserve(known, used(2, price=usd("1")), NOW), Reached)
    assert price(known, UseId("u1"), usd("4.5")) is known


def test_a_price_put_on_a_use_beforehand_holds_when_it_is_reserved_and_settled() -> None:
    priced = price(BudgetLedger(limits=(money_limit("5"),)), UseId("u1"), usd("3"))
    for unknown in (UnknownPrice(), Money(amount=Decimal(90), currency="EUR")):
        held = within(reserve(priced, used(1, price=unknown), NOW))
        assert isinstance(reserve(held, used(2, price=usd("2.01")), NOW), Reached)
        assert total(within(settle(held, used(1, price=unknown), NOW))) == 3
    assert total(within(settle(priced, used(1, price=usd("1")), NOW))) == 1


def test_a_price_put_on_a_held_use_counts_at_once() -> None:
    unbounded = within(reserve(BudgetLedger(), used(1, price=UnknownPrice()), NOW))
    bounded = BudgetLedger(limits=(money_limit("5"),), held=unbounded.held)
    asks = reserve(bounded, used(2, price=usd("1")), NOW)
    assert isinstance(asks, Unpriced)
    assert asks.use == "u1"
    assert isinstance(reserve(price(bounded, UseId("u1"), usd("4.5")), used(2, price=usd("1")), NOW), Reached)


def test_a_run_left_uncounted_asks_no_more_about_prices_and_other_runs_still_do() -> None:
    daily = BudgetLedger(limits=(money_limit("5", per="person"),))
    waived = leave_uncounted(settle(daily, used(1, price=UnknownPrice()), NOW).ledger, "r1")
    assert isinstance(reserve(waived, used(2, price=UnknownPrice()), NOW), Within)
    assert isinstance(reserve(waived, used(2, price=usd("6")), NOW), Reached)
    assert isinstance(reserve(waived, used(3, run="r2", price=usd("1")), NOW), Unpriced)


def test_an_unknown_price_of_another_day_or_party_does_not_ask() -> None:
    ledger = BudgetLedger(limits=(money_limit("5", window="day"),))
    unpriced = settle(ledger, used(1, price=UnknownPrice()), NOW)
    assert isinstance(reserve(unpriced.ledger, used(2), NOW + timedelta(days=1)), Within)
    assert isinstance(reserve(unpriced.ledger, used(2, run="r2"), NOW), Within)


@pytest.mark.parametrize(
    "wrong",
    [
        {"tokens": -1},
        {"wall_seconds": Decimal("-0.1")},
        {"kernel_seconds": Decimal("NaN")},
        {"rows": -1},
        {"steps": 10**19},
        {"price": Money(amount=Decimal("Infinity"))},
        {"price": Money(amount=Decimal("1e-19"))},
        {"price": Money(amount=Decimal(1), currency="dollars")},
    ],
)
def test_what_cannot_be_counted_is_our_mistake(wrong: dict[str, Any]) -> None:
    with pytest.raises(Defect):
        used(**wrong)


uses = st.builds(
    Use,
    id=st.integers(0, 12).map(lambda number: UseId(f"u{number}")),
    run=st.sampled_from(["r1", "r2"]),
    person=st.sampled_from(["ada", "bo"]),
    team=st.sampled_from(["birds", ""]),
    price=st.one_of(
        st.builds(Money, amount=st.decimals(0, 10, places=9), currency=st.sampled_from(["USD", "EUR"])),
        st.just(UnknownPrice()),
    ),
    tokens=st.integers(0, 1000),
    wall_seconds=st.decimals(0, 10, places=3),
    kernel_seconds=st.decimals(0, 10, places=3),
    rows=st.integers(0, 1000),
    steps=st.integers(0, 3),
)
moments = st.datetimes(datetime(2026, 3, 1), datetime(2026, 3, 4), timezones=st.just(UTC))
LIMITS = (money_limit("5"), Limit(measure="tokens", per="person", window="day", at_most=Decimal(900)))


@pytest.mark.slow
@PROPERTY
@given(recorded=st.lists(st.tuples(uses, moments), max_size=10), data=st.data())
def test_settled_totals_are_exact_never_negative_and_independent_of_order(
    recorded: list[tuple[Use, datetime]], data: st.DataObject
) -> None:
    first = {use.id: (use, now) for use, now in reversed(recorded)}
    ledger = BudgetLedger(limits=LIMITS)
    for use, now in recorded:
        estimate = data.draw(
            uses.map(lambda drawn, use=use: Use(id=use.id, run=use.run, person=use.person, price=drawn.price))
        )
        ledger = reserve(ledger, estimate, now).ledger
        ledger = settle(ledger, use, now).ledger
        assert use.id not in ledger.held
    shuffled = BudgetLedger(limits=LIMITS)
    for use, now in data.draw(st.permutations(list(first.values()))):
        shuffled = settle(shuffled, use, now).ledger
    assert shuffled == ledger
    for measure in MEASURES:
        for per in PARTIES:
            for party in {use.party(per) for use, _ in first.values()}:
                if measure != "money":
                    amounts = [use.amount(measure) for use, _ in first.values() if use.party(per) == party]
                    assert total(ledger, measure, per, party) == sum(amounts)
                days = [
                    total_on
                    for account, total_on in ledger.totals.items()
                    if account.day
                    and (account.measure, account.per, account.party, account.currency)
                    == (measure, per, party, "USD" if measure == "money" else "")
                ]
                assert total(ledger, measure, per, party) == sum(days)
    assert all(amount > 0 for amount in ledger.totals.values())


@PROPERTY
@given(recorded=st.lists(st.tuples(uses, moments), max_size=12))
def test_no_reservation_passes_a_limit(recorded: list[tuple[Use, datetime]]) -> None:
    ledger = BudgetLedger(limits=LIMITS)
    for use, now in recorded:
        budget = reserve(ledger, use, now)
        if isinstance(budget, Within):
            ledger = settle(budget.ledger, use, now).ledger
    assert all(total(ledger, "money", "run", run) <= 5 for run in ("r1", "r2"))


@PROPERTY
@given(recorded=st.lists(st.tuples(uses, moments), max_size=12))
def test_a_waiver_lets_no_known_money_pass_a_limit(recorded: list[tuple[Use, datetime]]) -> None:
    ledger = leave_uncounted(leave_uncounted(BudgetLedger(limits=LIMITS), "r1"), "r2")
    for use, now in recorded:
        budget = reserve(ledger, use, now)
        assert not isinstance(budget, Unpriced)
        if isinstance(budget, Within):
            ledger = settle(budget.ledger, use, now).ledger
    assert all(total(ledger, "money", "run", run) <= 5 for run in ("r1", "r2"))


def test_sums_that_would_round_are_our_mistake() -> None:
    with pytest.raises(Defect):
        add(Decimal("1e60"), Decimal("1e-60"))
    with pytest.raises(Defect):
        subtract(Decimal("1e60"), Decimal("1e-60"))
    assert subtract(Decimal("1.5"), Decimal("0.25")) == Decimal("1.25")


@pytest.mark.parametrize(
    ("text", "money"),
    [
        ("5.00 USD", usd("5.00")),
        ("5EUR", Money(amount=Decimal(5), currency="EUR")),
        ("$5", None),
        ("5 usd", None),
        ("-1 USD", None),
        ("1e3 USD", None),
        ("٣ USD", None),
    ],
)
def test_money_is_read_only_as_amount_and_currency(text: str, money: Money | None) -> None:
    assert parse_money(text) == money
