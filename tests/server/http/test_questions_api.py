"""What runs ask, answered over HTTP: about exactly what was shown, once, by whoever may; and every lasting yes."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
from dirty_equals import IsInt, IsStr

from cellwright.agents.steering import pause_question
from cellwright.journal.flow import Flow, Workflow
from cellwright.journal.journal import Journal
from cellwright.journal.questions import Question
from cellwright.policy.actions import QueryConnection, UseNetwork
from cellwright.policy.approvals import No
from cellwright.policy.budgets import BudgetLedger, Limit, Reached
from cellwright.policy.masking.masker import Masker
from cellwright.runs.events import EVENT_TYPES
from cellwright.tools.approval.approval_questions import ask_approval
from cellwright.tools.approval.budget_questions import ask_for_more
from tests.server.a_daemon import TinyRuns
from tests.server.http.a_served_folder import SECONDS, Served, ready_settings, serve

MASKER = Masker.of(salt=b"s" * 16)
RATES = UseNetwork(host="api.example.com", port=443, purpose="exchange rates")
CHANGE = QueryConnection(
    connection="shop",
    access="write",
    statement="delete from orders\nwhere id = 7 -- \u202e",
    touches="Changes 1 rows of orders: tried, counted and undone just now.",
)
LIMIT = Limit(measure="money", per="run", at_most=Decimal(5), currency="USD", where="--budget")
OVER = Reached(limit=LIMIT, party="the run", used=Decimal(6), ledger=BudgetLedger(limits=(LIMIT,)))


async def body(flow: Flow, what: Any) -> str:
    """A run that asks one thing."""
    match what:
        case "approval":
            reply = (await ask_approval(flow, RATES, reason="nobody said", project="/project", masker=MASKER)).reply
            return f"no: {reply.feedback}" if isinstance(reply, No) else f"yes, {reply.reach}"
        case "write":
            reply = (await ask_approval(flow, CHANGE, reason="it changes data", project="/p", masker=MASKER)).reply
            return "no" if isinstance(reply, No) else f"yes, {reply.reach}"
        case "budget":
            return (await ask_for_more(flow, OVER, MASKER)).describe()
        case "choice":
            return str(await flow.ask(Question(text="Net or gross?", choices=("net", "gross"))))
        case "pause":
            return str(await flow.ask(pause_question("ada")))
        case _:
            return str(await flow.ask(Question(text="What colour?")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Runs that ask, and somebody at the door."""

    served: Served
    journal: Journal
    run: str
    """One that no other test has."""

    async def asks(self, what: str, *, run: str | None = None) -> dict[str, Any]:
        """What a run asks, as the page is told."""
        run = run or self.run
        await self.journal.run("run", what, run=run)
        with anyio.fail_after(SECONDS):
            while True:
                grown = self.journal.log.growth.next()
                found = (await self.served.get(f"/runs/{run}/questions"))["questions"]
                if found:
                    return found[0]
                await grown.wait()

    async def answer(self, question: dict[str, Any], answer: str, *, status: int = 200, **more: Any) -> Any:
        headers = more.pop("headers", None)
        said = {"answer": answer, "fingerprint": question["fingerprint"], **more}
        path = f"/questions/{question['id'].replace('#', '%23')}/answer"
        return await self.served.post(path, said, status=status, headers=headers)

    async def result(self, run: str | None = None) -> str:
        with anyio.fail_after(SECONDS):
            return await self.journal.result(run or self.run)


@pytest.fixture(scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory, template: Path) -> AsyncGenerator[tuple[Served, Journal]]:
    folder = tmp_path_factory.mktemp("door")
    settings = ready_settings(folder, template)
    where = settings.home / "journal.db"
    async with (
        Journal.open(where, version="1", workflows=[Workflow(name="run", body=body)], types=EVENT_TYPES) as journal,
        serve(folder / "folder", settings, TinyRuns(journal, folder)) as served,
    ):
        yield served, journal


@pytest.fixture
async def asking(door: tuple[Served, Journal]) -> AsyncGenerator[Asking]:
    """Nobody asks yet, and nothing is granted."""
    served, journal = door
    yield Asking(served=served, journal=journal, run=f"r{secrets.token_hex(4)}")
    for question in (await served.get("/questions"))["questions"]:
        await journal.cancel(question["run"], reason="the test is over")
    for grant in (await served.get("/grants"))["grants"]:
        await served.ask("DELETE", f"/grants/{grant['id'].replace('#', '%23')}")


async def test_a_question_is_shown_with_everything_a_person_must_see(asking: Asking) -> None:
    question = await asking.asks("approval")
    assert question == {
        "id": IsStr(regex=f"{asking.run}.*"),
        "run": asking.run,
        "topic": "approval",
        "what": "Connect to api.example.com port 443 for exchange rates\nAsked because: nobody said\n"
        "A yes for this run or always would cover: connect to api.example.com port 443",
        "offers": ["once", "run", "always", "no"],
        "fingerprint": IsStr(min_length=16),
        "query": None,
        "asked_ms": IsInt(gt=0),
        "answer_with": IsStr(regex="cellwright inbox answer .* once --fingerprint .*"),
    }
    assert (await asking.served.get("/questions"))["questions"] == [question]


async def test_a_change_of_data_is_shown_in_parts_with_nothing_invisible_and_agreed_to_once(asking: Asking) -> None:
    question = await asking.asks("write")
    assert question["query"] == {
        "connection": "shop",
        "access": "write",
        "statement": "delete from orders\nwhere id = 7 -- \\u202e",
        "touches": CHANGE.touches,
    }
    assert question["offers"] == ["once", "no"]
    await asking.answer(question, "always", status=409)
    await asking.answer(question, "yes")
    assert await asking.result() == "yes, once"


@pytest.mark.parametrize(
    ("said", "result"),
    [
        ({"answer": "yes"}, "yes, once"),
        ({"answer": "yes", "reach": "run"}, "yes, run"),
        ({"answer": "always"}, "yes, always"),
        ({"answer": "no", "feedback": "Use the file."}, "no: Use the file."),
    ],
)
async def test_a_run_goes_on_with_what_the_person_said(asking: Asking, said: dict[str, Any], result: str) -> None:
    taken = await asking.answer(await asking.asks("approval"), **said)
    assert taken["says"] == said["answer"].replace("always", "yes")
    assert await asking.result() == result
    assert (await asking.served.get("/questions"))["questions"] == []


async def test_an_answer_about_something_else_than_was_shown_does_not_count(asking: Asking) -> None:
    question = await asking.asks("approval")
    for fingerprint in ("f" * 64, ""):
        refused = await asking.answer(question, "yes", fingerprint=fingerprint, status=409)
        assert refused["error"]["message"] == "The answer is about something else than was shown."
    assert (await asking.served.get("/questions"))["questions"] == [question]


async def test_the_first_answer_stands(asking: Asking) -> None:
    question = await asking.asks("approval")
    await asking.answer(question, "no")
    refused = await asking.answer(question, "yes", status=409)
    assert refused["error"]["message"] == "ada has already answered."
    assert await asking.result() == "no: "


@pytest.mark.parametrize("scope", ["read", "steer"])
async def test_only_whoever_may_approve_answers(asking: Asking, scope: Any) -> None:
    question, headers = await asking.asks("approval"), asking.served.bearing(scope)
    await asking.answer(question, "yes", headers=headers, status=403)
    await asking.served.get("/grants", headers=headers, status=403)
    await asking.served.ask("DELETE", f"/grants/{asking.run}", headers=headers, status=403)
    assert (await asking.served.get("/questions", headers=headers))["questions"] == [question]


async def test_an_always_is_listed_and_taken_back(asking: Asking) -> None:
    question = await asking.asks("approval")
    await asking.answer(question, "yes", reach="always")
    [grant] = (await asking.served.get("/grants"))["grants"]
    assert (grant["covers"], grant["reach"], grant["by"], grant["door"]) == (
        "connect to api.example.com port 443",
        "always",
        "ada",
        "web",
    )
    assert grant["expires_ms"] > grant["at_ms"] > 0
    path = f"/grants/{grant['id'].replace('#', '%23')}"
    assert (await asking.served.ask("DELETE", path))["id"] == grant["id"]
    assert (await asking.served.get("/grants"))["grants"] == []
    await asking.served.ask("DELETE", "/grants/nothing", status=404)


@pytest.mark.parametrize(
    ("answer", "result"),
    [("raise 2.50", "Raise 5 USD per run by 2.50 USD"), ("no", "Raise 5 USD per run")],
)
async def test_a_budget_is_raised_or_not(asking: Asking, answer: str, result: str) -> None:
    question = await asking.asks("budget")
    assert (question["topic"], question["offers"]) == ("budget", ["raise", "no"])
    await asking.answer(question, "raise much", status=400)
    await asking.answer(question, "yes", status=409)
    await asking.answer(question, answer)
    assert result.split(" per ", maxsplit=1)[0] in await asking.result()


async def test_plain_questions_are_answered_with_a_choice_or_in_words(asking: Asking) -> None:
    choice = await asking.asks("choice")
    assert (choice["offers"], choice["fingerprint"]) == (["net", "gross"], "")
    refused = await asking.answer(choice, "both", status=400)
    assert refused["error"]["hint"] == "One of: net, gross."
    assert await asking.answer(choice, "Gross") == {"id": choice["id"], "says": "gross"}
    await asking.answer(choice, "net", status=409)
    assert await asking.result() == "gross"
    words = await asking.asks("words", run=f"{asking.run}-words")
    assert (await asking.answer(words, "  green "))["says"] == "green"
    assert await asking.result(f"{asking.run}-words") == "green"


async def test_a_pause_is_a_question_too_and_is_answered_once(asking: Asking) -> None:
    paused = await asking.asks("pause")
    assert (paused["topic"], paused["offers"]) == ("paused", ["resume"])
    await asking.answer(paused, "later", status=400)
    assert (await asking.answer(paused, "resume"))["says"] == "resume"
    assert await asking.result() == "resume"
    await asking.answer(paused, "resume", status=409)


async def test_what_nobody_asks_cannot_be_answered(asking: Asking) -> None:
    await asking.served.post(f"/questions/{asking.run}/agent:1/answer", {"answer": "yes"}, status=404)
    await asking.served.post(f"/questions/{asking.run}/answer", {"answer": ""}, status=422)
    await asking.asks("choice")
    await asking.served.testbed.live.cancel(asking.run)
    assert (await asking.served.get("/questions"))["questions"] == []
