"""A price nobody knows, where money is bounded: a person puts a price on it, leaves it uncounted, or says no."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from cellwright.journal.flow import Flow, Workflow
from cellwright.policy.approvals import AnswerRefused, No, Yes
from cellwright.policy.budgets import BudgetLedger, Limit, Reached, Unpriced, Use, UseId, Within, reserve, settle
from cellwright.policy.money import Money, Price, UnknownPrice
from cellwright.tools.approval.budget_questions import LeaveUncounted, PutPrice, Raise
from cellwright.tools.approval.guard import ActionRefused, BudgetRaised, Guard
from tests.tools.guard_driver import ADA, SECRET, WHO, GuardDriver, open_guard_driver

LIMIT = Limit(measure="money", per="run", at_most=Decimal(5), currency="USD", where="mine.toml:1")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def used(number: int, price: Price) -> Use:
    return Use(id=UseId(f"call-{number}"), run="b", person="ada", price=price)


def calls(guards: list[Guard], *prices: Price) -> Workflow:
    """A workflow that reserves a call at each of these prices, and asks whenever its budget stops it."""

    async def body(flow: Flow, _: Any) -> list[str]:
        ledger, told = BudgetLedger(limits=(LIMIT,)), list[str]()
        for number, price in enumerate(prices, start=1):
            while not isinstance(budget := reserve(ledger, used(number, price), NOW), Within):
                told.append(type(budget).__name__)
                match await guards[0].ask_for_more(flow, budget, WHO):
                    case BudgetRaised(ledger=ledger):
                        pass
                    case ActionRefused(feedback=feedback):
                        return [*told, feedback]
            ledger = budget.ledger
        return [*told, *(str(held.price) for held in ledger.held.values())]

    return Workflow(name="calls", body=body)


async def start(driver: GuardDriver, guards: list[Guard]) -> Any:
    guards.append(driver.guard)
    await driver.journal.run("calls", run="b")
    return (await driver.asked()).question


UNKNOWN = UnknownPrice(why=f"no list for {SECRET}")


async def test_an_unknown_price_pauses_and_shows_everything_without_secrets(where: Path) -> None:
    guards: list[Guard] = []
    async with open_guard_driver(where, workflows=[calls(guards, UNKNOWN)]) as driver:
        asked = await start(driver, guards)
        assert asked.describe() == (
            "Go on under 5 USD per run (mine.toml:1) for b, although use call-1 has an unknown price "
            "(no list for [masked PASSWORD]).\n"
            "A price is an amount in USD for the use call-1.\n"
            "Uncounted, the run b goes on and only what has a known price in USD counts."
        )
        assert asked.offers == ("price", "uncounted")
    async with open_guard_driver(where, workflows=[calls(guards, UNKNOWN)]) as driver:
        guards[:] = [driver.guard]
        assert (await driver.asked()).question == asked


async def test_a_price_that_a_person_puts_on_it_counts(where: Path) -> None:
    guards: list[Guard] = []
    dear = Money(amount=Decimal(4))
    async with open_guard_driver(where, workflows=[calls(guards, UNKNOWN, dear)]) as driver:
        asked = await start(driver, guards)
        said = await driver.inbox.answer(asked.id, PutPrice(amount=Decimal("1.50")), ADA, asked.fingerprint)
        assert (await driver.inbox.show(asked.id)).answer == said
        reached = (await driver.asked()).question
        assert reached.offers == ("raise",)
        await driver.inbox.answer(reached.id, Raise(more=Decimal(1)), ADA, reached.fingerprint)
        assert await driver.outcomes("b") == ["Unpriced", "Reached", "1.50 USD", "4 USD"]
        trail = [(line.entry.what, line.entry.verdict, line.entry.result) for line in await driver.trail("b")]
        assert trail == [
            ("Count 1.50 USD under 5 USD per run", "allow", "done"),
            ("Raise 5 USD per run by 1 USD", "allow", "done"),
        ]


async def test_left_uncounted_a_run_asks_no_more_about_prices_but_known_money_still_counts(where: Path) -> None:
    guards: list[Guard] = []
    dear = Money(amount=Decimal(6))
    async with open_guard_driver(where, workflows=[calls(guards, UNKNOWN, UnknownPrice(), dear)]) as driver:
        asked = await start(driver, guards)
        await driver.inbox.answer(asked.id, LeaveUncounted(), ADA, asked.fingerprint)
        reached = (await driver.asked()).question
        assert "would stand at 6" in reached.describe()
        await driver.inbox.answer(reached.id, No(feedback="Enough."), ADA, reached.fingerprint)
        assert await driver.outcomes("b") == [
            "Unpriced",
            "Reached",
            "Not more than 5 USD per run. ada said no. Enough.",
        ]


async def test_a_no_to_an_unknown_price_stops_with_the_words(where: Path) -> None:
    guards: list[Guard] = []
    async with open_guard_driver(where, workflows=[calls(guards, UNKNOWN)]) as driver:
        asked = await start(driver, guards)
        await driver.inbox.answer(asked.id, No(feedback="Use a model with a price."), ADA, asked.fingerprint)
        feedback = "Not more than 5 USD per run. ada said no. Use a model with a price."
        assert await driver.outcomes("b") == ["Unpriced", feedback]
        [line] = await driver.trail("b")
        assert (line.entry.verdict, line.entry.result) == ("deny", "refused")


async def test_what_is_no_price_is_not_an_answer_to_an_unknown_one(where: Path) -> None:
    prices = [PutPrice(amount=Decimal(amount)) for amount in ("-1", "NaN", "Infinity")]
    guards: list[Guard] = []
    async with open_guard_driver(where, workflows=[calls(guards, UNKNOWN)]) as driver:
        asked = await start(driver, guards)
        for reply in (Raise(more=Decimal(1)), Yes(reach="once"), *prices):
            refused = await driver.inbox.answer(asked.id, reply, ADA, asked.fingerprint)
            assert isinstance(refused, AnswerRefused), (reply, refused)
            assert (reply, refused.why) == (reply, "not-offered")
            assert (reply, (await driver.inbox.show(asked.id)).state) == (reply, "open")


async def test_a_price_that_did_not_come_through_the_inbox_is_no_answer_and_it_asks_again(where: Path) -> None:
    guards: list[Guard] = []
    async with open_guard_driver(where, workflows=[calls(guards, UNKNOWN)]) as driver:
        asked = await start(driver, guards)
        by, at = {"name": "ada", "door": "web"}, "2026-01-01T00:00:00Z"
        for reply in ({"says": "price", "amount": "x"}, {"says": "price"}, {"says": "gift"}, {}, "yes"):
            forged = {"question": asked.id, "fingerprint": asked.fingerprint, "reply": reply, "by": by, "at": at}
            await driver.journal.answer(asked.id, forged, by="builder")
            again = (await driver.asked()).question
            assert (reply, again.id) != (reply, asked.id)
            asked = again


async def test_a_sum_in_another_currency_can_be_left_uncounted_but_not_priced(where: Path) -> None:
    euros = settle(BudgetLedger(limits=(LIMIT,)), used(1, Money(amount=Decimal(3), currency="EUR")), NOW)
    assert isinstance(euros, Unpriced)

    async def body(flow: Flow, _: Any) -> str:
        match await guards[0].ask_for_more(flow, euros, WHO):
            case BudgetRaised(ledger=ledger):
                return type(reserve(ledger, used(2, Money(amount=Decimal(9))), NOW)).__name__
            case ActionRefused(feedback=feedback):
                return feedback

    guards: list[Guard] = []
    async with open_guard_driver(where, workflows=[Workflow(name="calls", body=body)]) as driver:
        asked = await start(driver, guards)
        assert asked.offers == ("uncounted",)
        assert "although 3 EUR were spent" in asked.describe()
        await driver.inbox.answer(asked.id, LeaveUncounted(), ADA, asked.fingerprint)
        assert await driver.outcomes("b") == Reached.__name__
