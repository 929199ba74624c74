"""Budgets of calls: nothing is sent that would pass a limit, not even by many calls at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from cellwright.models.calls import BudgetReached, Payer, TokenUsage
from cellwright.models.config.names import CallId
from cellwright.models.money.budgets import Budgets, decide
from cellwright.policy.budgets import BudgetLedger, Limit
from cellwright.policy.money import Money, UnknownPrice
from tests.models.accounts import NOON, answer, at_most, call, dollars, noon, opened, send, send_and_answer

GUESS = TokenUsage(input_tokens=50, output_tokens=50, is_estimate=True)


def test_a_call_within_its_limits_may_be_sent() -> None:
    asked = call(limits=(at_most("1.00"), at_most("100", measure="tokens")))
    assert decide(asked, GUESS, dollars("1.00"), BudgetLedger(limits=asked.limits), NOON) is None


def test_a_call_that_would_pass_a_limit_is_a_question_to_the_person() -> None:
    limit = Limit(measure="money", per="run", at_most=Decimal(1), currency="USD", where="rules.toml:3")
    asked = call(limits=(limit,))
    assert decide(asked, GUESS, dollars("1.01"), BudgetLedger(limits=asked.limits), NOON) == snapshot(
        BudgetReached(
            limit=limit,
            party="run-1",
            question="1 USD per run (rules.toml:3) is reached: run-1 would stand at 1.01. Go on?",
            estimate=GUESS,
            price=Money(amount=Decimal("1.01")),
            used=Decimal("1.01"),
        )
    )


def test_an_unknown_price_under_a_limit_of_money_is_a_question_and_under_one_of_tokens_is_none() -> None:
    unknown = UnknownPrice(why="no list has it")
    asked = call(limits=(at_most("1.00"),))
    reached = decide(asked, GUESS, unknown, BudgetLedger(limits=asked.limits), NOON)
    assert reached is not None
    assert (reached.used, reached.price) == (None, unknown)
    assert "no list has it" in reached.question
    counted = call(limits=(at_most("100", measure="tokens"),))
    assert decide(counted, GUESS, unknown, BudgetLedger(limits=counted.limits), NOON) is None


def test_ten_calls_at_once_cannot_pass_a_limit_together(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        budgets = Budgets(ledger, noon)
        calls = [call(f"call-{number}", limits=(at_most("1.00"),)) for number in range(10)]
        answers = [budgets.reserve(asked, GUESS, dollars("0.30")) for asked in calls]
        assert [reached is None for reached in answers] == [True] * 3 + [False] * 7
        budgets.release(calls[0].id)
        assert budgets.reserve(calls[9], GUESS, dollars("0.30")) is None
        assert budgets.reserve(calls[0], GUESS, dollars("0.30")) is not None


def test_a_call_without_limits_is_held_against_those_that_have_them(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        budgets = Budgets(ledger, noon)
        assert budgets.reserve(call("free"), GUESS, dollars("0.90")) is None
        assert budgets.reserve(call("bound", limits=(at_most("1.00"),)), GUESS, dollars("0.20")) is not None


def test_what_was_used_counts_instead_of_what_was_held(tmp_path: Path) -> None:
    limits = (at_most("1.00"),)
    with opened(tmp_path) as ledger:
        budgets = Budgets(ledger, noon)
        first = call("one", limits=limits)
        assert budgets.reserve(first, GUESS, dollars("0.90")) is None
        send(ledger, first)
        ledger.answered(first.id, answer())
        budgets.release(first.id)
        assert budgets.left(call("two", limits=limits)) == dollars("0.75")
        assert budgets.reserve(call("two", limits=limits), GUESS, dollars("0.75")) is None
        assert budgets.reserve(call("three", limits=limits), GUESS, dollars("0.01")) is not None


def test_reserving_again_for_a_fallback_replaces_what_was_held(tmp_path: Path) -> None:
    asked = call(limits=(at_most("1.00"),))
    with opened(tmp_path) as ledger:
        budgets = Budgets(ledger, noon)
        assert budgets.reserve(asked, GUESS, dollars("0.80")) is None
        assert budgets.reserve(asked, GUESS, dollars("0.90")) is None
        assert budgets.reserve(asked, GUESS, dollars("1.10")) is not None
        assert budgets.left(call("two", limits=asked.limits)) == dollars("0.10")


def test_a_limit_of_a_day_begins_anew_the_next_day(tmp_path: Path) -> None:
    limits = (at_most("0.30", per="person", window="day"),)
    now = [NOON]
    with opened(tmp_path, clock=lambda: now[0]) as ledger:
        budgets = Budgets(ledger, lambda: now[0])
        send_and_answer(ledger, call("one"))
        assert budgets.reserve(call("two", limits=limits), GUESS, dollars("0.25")) is not None
        now[0] += timedelta(days=1)
        assert budgets.reserve(call("two", limits=limits), GUESS, dollars("0.25")) is None


def test_what_a_dead_gateway_sent_counts_at_its_estimate(tmp_path: Path) -> None:
    limits = (at_most("1.00"),)
    with opened(tmp_path) as ledger:
        send(ledger, call("one"))
    with opened(tmp_path) as ledger:
        ledger.adopt()
        budgets = Budgets(ledger, noon)
        assert budgets.left(call("two", limits=limits)) == dollars("0.50")
        assert budgets.reserve(call("two", limits=limits), GUESS, dollars("0.51")) is not None


def test_an_earlier_call_without_a_price_is_a_question(tmp_path: Path) -> None:
    limits = (at_most("1.00"),)
    with opened(tmp_path) as ledger:
        budgets = Budgets(ledger, noon)
        send_and_answer(ledger, call("one"), answer(price=UnknownPrice(why="no list")))
        reached = budgets.reserve(call("two", limits=limits), GUESS, dollars("0.01"))
        assert reached is not None
        assert "use one has an unknown price (no list)" in reached.question
        assert budgets.left(call("two", limits=limits)) is None


def test_what_is_left_is_the_least_of_all_limits_on_the_call(tmp_path: Path) -> None:
    limits = (at_most("5"), at_most("2", per="person"), at_most("0.10", per="team"), at_most("9", measure="tokens"))
    alone = Payer(run="run-1", person="ann")
    with opened(tmp_path) as ledger:
        budgets = Budgets(ledger, noon)
        send_and_answer(ledger, call("one"))
        assert budgets.left(call("two", limits=limits)) == dollars("0")
        assert budgets.left(call("two", limits=limits, payer=alone)) == dollars("1.75")
        assert budgets.left(call("two", payer=alone)) is None
        euros = (replace(at_most("5"), currency="EUR"),)
        assert budgets.left(call("two", limits=euros)) is None


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(
        st.tuples(st.integers(0, 60), st.integers(0, 60), st.sampled_from(["answer", "fail", "die"])), max_size=12
    )
)
def test_no_order_of_calls_is_let_past_a_limit_by_its_estimates(
    tmp_path: Path, steps: list[tuple[int, int, str]]
) -> None:
    """However calls overlap and end, what was used and held when one was let through was within the limit."""
    folder = tmp_path / str(len(list(tmp_path.iterdir())))
    limit = at_most("1.00")
    with opened(folder) as ledger:
        budgets = Budgets(ledger, noon)
        used, held = Decimal(0), dict[CallId, Decimal]()
        for number, (guess, actual, ending) in enumerate(steps):
            asked = call(f"call-{number}", limits=(limit,))
            estimate, real = Decimal(guess) / 100, Decimal(actual) / 100
            is_let = budgets.reserve(asked, GUESS, Money(amount=estimate)) is None
            assert is_let == (used + sum(held.values()) + estimate <= 1)
            if not is_let:
                continue
            held[asked.id] = estimate
            send(ledger, asked)
            if ending == "die":
                continue
            if ending == "answer":
                ledger.answered(asked.id, answer(price=Money(amount=real)))
                used += real
            else:
                ledger.failed(asked.id, [])
            budgets.release(asked.id)
            del held[asked.id]
