"""The guard: every action is judged, told with its rule and result, and asked about where the rules say so."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
from dirty_equals import IsStr
from inline_snapshot import snapshot

from cellwright.errors import Defect, UserError
from cellwright.journal.flow import Flow, Workflow
from cellwright.journal.questions import Question
from cellwright.policy.actions import ReadFile, RunCode, RunShell, UseNetwork
from cellwright.policy.approvals import AgreedEnvelope, AnswerRefused, ModelOrigin, No, Person, Yes
from cellwright.policy.budgets import BudgetLedger, Limit, Reached, Use, UseId, reserve
from cellwright.policy.envelope import Envelope, envelope_of
from cellwright.policy.serialization import action_json
from cellwright.tools.approval.budget_questions import Raise
from cellwright.tools.approval.guard import LONGEST_RECORDED, ActionPermitted, ActionRefused, BudgetRaised, Guard
from tests.tools.guard_driver import ADA, PROJECT, RATES, SECRET, WHO, GuardDriver, open_guard_driver

LS = RunShell(command=("ls",), folder=PROJECT)
CODE = RunCode(notebook="penguins.py", code=f"connect('{SECRET}')")
LIMIT = Limit(measure="steps", per="run", at_most=Decimal(2), where="mine.toml:1")


def view(office_lines: list[Any]) -> list[tuple[str, ...]]:
    entries = [line.entry for line in office_lines]
    return [(entry.kind, entry.verdict, entry.basis, entry.result, entry.detail) for entry in entries]


async def test_the_trail_has_every_judged_action_with_its_rule_and_result(where: Path) -> None:
    async with open_guard_driver(where) as driver:
        await driver.act("r", ReadFile(path="a.csv"), LS, RATES, RATES)
        first = (await driver.asked()).question
        assert view(await driver.trail("r"))[-1][3] == "waiting"
        await driver.inbox.answer(first.id, Yes(reach="once"), ADA, first.fingerprint)
        second = (await driver.asked()).question
        await driver.inbox.answer(second.id, No(feedback="Enough."), ADA, second.fingerprint)
        await driver.outcomes("r")
        assert view(await driver.trail("r")) == [
            ("read-file", "allow", "default for read-file", "done", ""),
            ("run-shell", "deny", "mine.toml:2", "refused", ""),
            ("use-network", "allow", f"answer to question {first.id}", "done", ""),
            ("use-network", "deny", f"answer to question {second.id}", "refused", "Enough."),
        ]
        assert await driver.stages() == [
            ("allow", "unknown"),
            ("allow", "done"),
            ("deny", "refused"),
            ("ask", "waiting"),
            ("allow", "unknown"),
            ("allow", "done"),
            ("ask", "waiting"),
            ("deny", "refused"),
        ]


async def test_a_denied_action_is_refused_with_the_rule_and_asks_nobody(where: Path) -> None:
    async with open_guard_driver(where) as driver:
        await driver.act("r", LS)
        assert await driver.outcomes("r") == ["Not allowed. mine.toml:2 says deny: No shell here."]
        assert await driver.inbox.pending() == []


async def test_the_trail_and_the_journal_hold_no_secret(where: Path) -> None:
    async with open_guard_driver(where) as driver:
        await driver.act("r", CODE)
        await driver.outcomes("r")
        [line] = await driver.trail("r")
        assert line.entry.what == "Run code in the kernel of penguins.py:\nconnect('[masked PASSWORD]')"
        assert line.json() == snapshot(
            {
                "call": IsStr(regex="[0-9a-f]{16}"),
                "at": IsStr(),
                "run": "r",
                "who": {"person": "ada", "agent": "builder-1", "role": "builder"},
                "kind": "run-code",
                "what": "Run code in the kernel of penguins.py:\nconnect('[masked PASSWORD]')",
                "action": IsStr(regex="[0-9a-f]{64}"),
                "verdict": "allow",
                "basis": "default for run-code",
                "reason": "No rule of yours speaks of it; the default for run-code is allow.",
                "result": "done",
                "detail": "",
            }
        )


async def test_inside_the_agreed_envelope_nothing_asks(where: Path) -> None:
    envelope = envelope_of([RATES], project=PROJECT)
    assert isinstance(envelope, Envelope)
    agreed = AgreedEnvelope(envelope=envelope, run="r", by=ADA, at=datetime.now(UTC))
    async with open_guard_driver(where, envelope=agreed) as driver:
        await driver.act("r", RATES, UseNetwork(host="other.example.com", port=443))
        asked = (await driver.asked()).question
        assert "other.example.com" in asked.describe()
        await driver.inbox.answer(asked.id, No(), ADA, asked.fingerprint)
        await driver.outcomes("r")
        assert view(await driver.trail("r"))[0][2] == "agreed envelope of run r"


async def test_what_nobody_could_be_shown_is_denied(where: Path) -> None:
    async def odd(flow: Flow, _: Any) -> str:
        [guard] = guards
        outcome = await guard.permit(flow, UseNetwork(host="example.com", port=1, purpose="\ud800"), WHO)
        return outcome.feedback if isinstance(outcome, ActionRefused) else "permitted"

    guards: list[Guard] = []
    async with open_guard_driver(where, workflows=[Workflow(name="odd", body=odd)]) as driver:
        guards.append(driver.guard)
        await driver.journal.run("odd", run="o")
        assert await driver.outcomes("o") == "Not allowed. Its text is not Unicode, so nobody could be shown it."


async def test_an_action_with_a_secret_spread_over_its_parts_is_denied(where: Path) -> None:
    async with open_guard_driver(where, rules="") as driver:
        await driver.act("r", RunShell(command=("login", SECRET[:7], SECRET[7:14], SECRET[14:]), folder=PROJECT))
        assert await driver.outcomes("r") == [
            "Not allowed. A secret is spread over its parts, so nobody could be shown it."
        ]


@pytest.mark.slow
async def test_a_permission_counts_only_for_the_action_that_was_judged(where: Path) -> None:
    wanted = ReadFile(path="a.csv")
    guards: list[Guard] = []

    async def fickle(flow: Flow, _: Any) -> None:
        await guards[0].permit(flow, wanted, WHO)
        await flow.ask(Question(text="Go on?"))

    workflows = [Workflow(name="fickle", body=fickle)]
    async with open_guard_driver(where, workflows=workflows) as driver:
        guards.append(driver.guard)
        await driver.journal.run("fickle", run="f")
        with anyio.fail_after(120):
            news = driver.journal.log.growth.next()
            while not await driver.journal.records.questions.pending():
                await news.wait()
                news = driver.journal.log.growth.next()
    wanted = ReadFile(path="b.csv")
    async with open_guard_driver(where, workflows=workflows) as driver:
        with pytest.raises(Defect, match="judged for another read-file"):
            await driver.outcomes("f")


@pytest.mark.parametrize("result", ["failed", "unknown"])
async def test_a_result_is_told_with_its_masked_detail(where: Path, result: Any) -> None:
    async def fails(flow: Flow, _: Any) -> None:
        [guard] = guards
        permitted = await guard.permit(flow, CODE, WHO)
        assert isinstance(permitted, ActionPermitted)
        await guard.record_result(flow, permitted, result, f"refused {SECRET}\ud800")

    guards: list[Guard] = []
    async with open_guard_driver(where, workflows=[Workflow(name="fails", body=fails)]) as driver:
        guards.append(driver.guard)
        await driver.journal.run("fails", run="f")
        await driver.outcomes("f")
        assert view(await driver.trail("f")) == [
            ("run-code", "allow", "default for run-code", result, "refused [masked PASSWORD]\\ud800")
        ]


async def test_a_long_action_is_cut_in_the_trail_and_named_by_its_fingerprint(where: Path) -> None:
    async with open_guard_driver(where) as driver:
        await driver.act("r", replace(CODE, code="x = 1\n" * 10_000))
        await driver.outcomes("r")
        [line] = await driver.trail("r")
        assert len(line.entry.what) < LONGEST_RECORDED + 40
        assert line.entry.what.endswith("characters)")


async def test_a_yes_for_the_run_reaches_the_workflows_inside_it(where: Path) -> None:
    async def top(flow: Flow, wanted: Any) -> Any:
        return [await flow.child("act", wanted), await flow.child("act", wanted)]

    async with open_guard_driver(where, workflows=[Workflow(name="top", body=top)]) as driver:
        await driver.journal.run("top", [action_json(RATES)], run="t")
        asked = (await driver.asked()).question
        await driver.inbox.answer(asked.id, Yes(reach="run"), ADA, asked.fingerprint)
        assert await driver.outcomes("t") == [["done"], ["done"]]


# ── budgets ──


def reached() -> Reached:
    use = Use(id=UseId("u"), run="b", person="ada", steps=5)
    found = reserve(BudgetLedger(limits=(LIMIT,)), use, datetime(2026, 1, 1, tzinfo=UTC))
    assert isinstance(found, Reached)
    return found


async def spend(office_guard: list[Guard], flow: Flow) -> str:
    match await office_guard[0].ask_for_more(flow, reached(), WHO):
        case BudgetRaised(ledger=ledger):
            return str(ledger.limits[0].at_most)
        case ActionRefused(feedback=feedback):
            return feedback


async def start_spending(driver: GuardDriver, guards: list[Guard]) -> Any:
    guards.append(driver.guard)
    await driver.journal.run("spend", run="b")
    return (await driver.asked()).question


def spending(guards: list[Guard]) -> Workflow:
    async def body(flow: Flow, _: Any) -> str:
        return await spend(guards, flow)

    return Workflow(name="spend", body=body)


async def test_a_reached_budget_pauses_until_a_person_raises_it(where: Path) -> None:
    guards: list[Guard] = []
    async with open_guard_driver(where, workflows=[spending(guards)]) as driver:
        asked = await start_spending(driver, guards)
        assert asked.describe() == (
            "Use more than 2 steps per run (mine.toml:1): b would stand at 5.\n"
            "A raise is an amount in steps, and counts for the run b only."
        )
        said = await driver.inbox.answer(asked.id, Raise(more=Decimal(10)), ADA, asked.fingerprint)
        assert not isinstance(said, AnswerRefused)
        assert (await driver.inbox.show(asked.id)).answer == said
        assert await driver.outcomes("b") == "12"
        assert view(await driver.trail("b")) == [
            ("spend", "allow", f"answer to question {asked.id}", "done", ""),
        ]


async def test_a_reached_budget_that_is_not_raised_stops_with_the_words(where: Path) -> None:
    guards: list[Guard] = []
    async with open_guard_driver(where, workflows=[spending(guards)]) as driver:
        asked = await start_spending(driver, guards)
        await driver.inbox.answer(asked.id, No(feedback="Deliver what you have."), ADA, asked.fingerprint)
        assert await driver.outcomes("b") == "Not more than 2 steps per run. ada said no. Deliver what you have."


async def test_a_budget_is_raised_by_a_person_by_an_amount_about_what_was_shown(where: Path) -> None:
    amounts = [Decimal(amount) for amount in ("0", "-1", "NaN", "Infinity")]
    guards: list[Guard] = []
    async with open_guard_driver(where, workflows=[spending(guards)]) as driver:
        asked = await start_spending(driver, guards)
        model: Any = ModelOrigin(agent="builder")
        inbox, good = driver.inbox, Raise(more=Decimal(1))
        refused = [
            *[await inbox.answer(asked.id, Raise(more=more), ADA, asked.fingerprint) for more in amounts],
            await inbox.answer(asked.id, Yes(reach="once"), ADA, asked.fingerprint),
            await inbox.answer(asked.id, good, ADA, "f" * 64),
            await inbox.answer(asked.id, good, model, asked.fingerprint),
        ]
        assert [getattr(answer, "why", answer) for answer in refused] == [
            *["not-offered"] * len(amounts),
            "not-offered",
            "not-what-was-shown",
            "not-a-person",
        ]
        await inbox.answer(asked.id, good, ADA, asked.fingerprint)
        late = await inbox.answer(asked.id, No(), Person(name="bob", door="cli"), asked.fingerprint)
        assert isinstance(late, AnswerRefused)
        assert late.why == "already-answered"
        assert await driver.outcomes("b") == "3"


async def test_a_budget_is_not_raised_by_what_did_not_come_through_the_inbox(where: Path) -> None:
    guards: list[Guard] = []
    async with open_guard_driver(where, workflows=[spending(guards)]) as driver:
        asked = await start_spending(driver, guards)
        await driver.journal.answer(asked.id, {"reply": {"more": "99"}, "question": asked.id}, by="builder")
        again = (await driver.asked()).question
        assert again.id != asked.id
        with pytest.raises(UserError, match="No question"):
            await driver.inbox.show("b#99")
        with anyio.fail_after(120):
            await driver.inbox.answer(again.id, No(), ADA, again.fingerprint)
        assert (await driver.outcomes("b"))[:8] == "Not more"
