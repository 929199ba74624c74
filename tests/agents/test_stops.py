"""What an agent does when its model costs too much, its answer is lost, or somebody must be asked first."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from cellwright.agents.model_call import OverBudget, limits_after
from cellwright.journal.effects import EffectFound, EffectNotFound
from cellwright.models.client.gateway_client import Models
from cellwright.models.gateway.in_flight import GatewayCrash
from cellwright.policy.actions import UseNetwork
from cellwright.policy.approvals import No, Yes
from cellwright.policy.budgets import BudgetLedger, Limit, Unpriced, UseId, leave_uncounted, price
from cellwright.policy.money import Money
from cellwright.testing import CallTool
from cellwright.tools.approval.budget_questions import Raise
from cellwright.tools.tool import Tool, tool
from tests.agents.driver import ADA, DONE, a_role, an_assignment, finish, open_driver
from tests.models.testbed import ModelTestbed

TOKENS = Limit(measure="tokens", per="run", at_most=Decimal(1), where="mine.toml:1")
LOST = GatewayCrash.ANSWERED_UNRECORDED


@pytest.mark.slow
async def test_a_reached_budget_pauses_asks_and_goes_on_when_it_is_raised(testbed: ModelTestbed, where: Path) -> None:
    testbed.provider.script(DONE)
    async with open_driver(testbed, where) as driver:
        run = await driver.start(an_assignment(limits=(TOKENS,)))
        asked = (await driver.approval()).question
        assert "Use more than 1 tokens per run (mine.toml:1)" in asked.describe()
        assert testbed.provider.requests == ()
        await driver.inbox.answer(asked.id, Raise(more=Decimal(100_000)), ADA, asked.fingerprint)
        assert (await driver.report(run)).outcome == "finished"
        assert len(testbed.provider.charged) == 1


@pytest.mark.slow
async def test_a_budget_that_is_not_raised_ends_the_work_with_what_there_is(testbed: ModelTestbed, where: Path) -> None:
    async with open_driver(testbed, where) as driver:
        run = await driver.start(an_assignment(limits=(TOKENS,)))
        asked = (await driver.approval()).question
        await driver.inbox.answer(asked.id, No(feedback="Enough."), ADA, asked.fingerprint)
        report = await driver.report(run)
        assert (report.outcome, report.why) == (
            "out-of-budget",
            "Not more than 1 tokens per run. ada said no. Enough.",
        )


@pytest.mark.slow
async def test_unattended_a_reached_budget_ends_the_work(testbed: ModelTestbed, where: Path) -> None:
    async with open_driver(testbed, where) as driver:
        report = await driver.work(an_assignment(limits=(TOKENS,), is_attended=False))
        assert report.outcome == "out-of-budget"
        assert "1 tokens per run" in report.why


def test_limits_go_on_as_the_person_said() -> None:
    money = Limit(measure="money", per="run", at_most=Decimal(1), currency="USD")
    stopped = OverBudget(limit=money, party="r", question="?", call="r/1", used=None)
    stop = stopped.stop((money, TOKENS))
    assert isinstance(stop, Unpriced) and stop.use == "r/1"
    ledger = BudgetLedger(limits=(money, TOKENS))
    assert limits_after((money, TOKENS), ledger, "r", stopped) == (money, TOKENS)
    assert limits_after((money, TOKENS), leave_uncounted(ledger, "r"), "r", stopped) == (TOKENS,)
    priced = price(ledger, UseId("r/1"), Money(amount=Decimal(2)))
    assert limits_after((money, TOKENS), priced, "r", stopped) == (TOKENS,)
    raised = replace(ledger, limits=(replace(money, at_most=Decimal(5)), TOKENS))
    assert limits_after((money, TOKENS), raised, "r", stopped) == raised.limits


# ── an answer that was lost ──


async def lose_the_first_answer(testbed: ModelTestbed) -> None:
    """The gateway that is started here dies under the first call, after the provider was paid."""
    async with Models.open(testbed.home, launch=testbed.launch(dies=LOST)):
        pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "outcome", "charges"), [("ask again, and perhaps pay twice", "finished", 2), ("stop here", "gave-up", 1)]
)
async def test_a_lost_answer_is_asked_about_before_it_may_be_paid_twice(
    testbed: ModelTestbed, where: Path, said: str, outcome: str, charges: int
) -> None:
    testbed.provider.script(DONE, DONE)
    await lose_the_first_answer(testbed)
    async with open_driver(testbed, where) as driver:
        run = await driver.start()
        asked = await driver.asked()
        assert asked.question.topic == "model-answer-lost"
        assert "may have been paid" in asked.question.text
        await driver.journal.answer(asked.id, said, by="ada")
        assert (await driver.report(run)).outcome == outcome
        assert len(testbed.provider.charged) == charges


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "is_attended", "outcome"),
    [("again", True, "finished"), ("stop", True, "gave-up"), ("ask", False, "gave-up")],
)
async def test_what_happens_to_a_lost_answer_can_be_said_beforehand(
    testbed: ModelTestbed, where: Path, policy: str, is_attended: bool, outcome: str
) -> None:
    testbed.provider.script(DONE, DONE)
    await lose_the_first_answer(testbed)
    async with open_driver(testbed, where) as driver:
        report = await driver.work(an_assignment(if_unknown=policy, is_attended=is_attended))
        assert report.outcome == outcome


# ── approvals ──


def fetching() -> tuple[list[str], Tool]:
    fetched: list[str] = []

    async def find(_: object, __: object) -> EffectFound | EffectNotFound:
        return EffectNotFound()

    @tool(action=lambda arguments: UseNetwork(host=arguments.host, port=443), changes=True, find=find)
    async def fetch(host: str) -> str:
        """Fetch a page."""
        fetched.append(host)
        return "a page"

    return fetched, fetch


@pytest.mark.slow
async def test_unattended_what_would_be_asked_is_refused_and_the_work_goes_on(
    testbed: ModelTestbed, where: Path
) -> None:
    fetched, fetch = fetching()
    testbed.provider.script(CallTool("fetch", {"host": "example.com"}), DONE)
    async with open_driver(testbed, where, tools=[fetch, finish]) as driver:
        report = await driver.work(an_assignment(is_attended=False))
        assert (report.outcome, fetched) == ("finished", [])
        assert "Nobody is asked in this run" in driver.sent_text(2)
        assert await driver.journal.records.questions.pending() == []


@pytest.mark.slow
async def test_an_action_that_needs_permission_waits_for_the_person_and_then_happens(
    testbed: ModelTestbed, where: Path
) -> None:
    fetched, fetch = fetching()
    testbed.provider.script(CallTool("fetch", {"host": "example.com"}), DONE)
    async with open_driver(testbed, where, tools=[fetch, finish]) as driver:
        run = await driver.start()
        asked = (await driver.approval()).question
        assert fetched == []
        await driver.inbox.answer(asked.id, Yes(reach="once"), ADA, asked.fingerprint)
        assert (await driver.report(run)).outcome == "finished"
        assert fetched == ["example.com"]


@pytest.mark.slow
async def test_a_no_is_told_to_the_model_with_the_persons_words(testbed: ModelTestbed, where: Path) -> None:
    fetched, fetch = fetching()
    testbed.provider.script(CallTool("fetch", {"host": "example.com"}), DONE)
    async with open_driver(testbed, where, tools=[fetch, finish], roles=[a_role()]) as driver:
        run = await driver.start()
        asked = (await driver.approval()).question
        await driver.inbox.answer(asked.id, No(feedback="Use the file we have."), ADA, asked.fingerprint)
        report = await driver.report(run)
        assert (report.outcome, report.failed_turns, fetched) == ("finished", 1, [])
        assert "Use the file we have." in driver.sent_text(2)
