"""Questions in the inbox: asked by a run, answered by a person, once, about what was shown."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from cellwright.errors import UserError
from cellwright.journal.flow import Flow, Workflow
from cellwright.journal.questions import Question
from cellwright.policy.actions import RunShell, UseNetwork, WriteFile
from cellwright.policy.approvals import (
    Answered,
    AnswerRefused,
    KernelOrigin,
    ModelOrigin,
    No,
    Person,
    Reply,
    Yes,
    envelope_agreed,
)
from cellwright.policy.envelope import Envelope, envelope_of
from cellwright.tools.approval.approval_questions import ask_approval
from cellwright.tools.approval.inbox import NoSuchQuestion, PlainAnswered
from cellwright.tools.approval.typed_answers import TypedAnswer
from tests.tools.guard_driver import ADA, MASKER, PROJECT, RATES, SECRET, open_guard_driver

SHELL = RunShell(command=("ls",), folder=PROJECT)
NO_RULES = ""


async def test_a_run_goes_on_when_a_person_says_yes(where: Path) -> None:
    done: list[Any] = []
    async with open_guard_driver(where, did=done.append) as driver:
        await driver.act("r", RATES)
        asked = (await driver.asked()).question
        assert asked.describe() == (
            "Connect to api.example.com port 443 for exchange rates\n"
            "Asked because: No rule of yours speaks of it; the default for use-network is ask.\n"
            "A yes for this run or always would cover: connect to api.example.com port 443"
        )
        assert done == []
        said = await driver.inbox.answer(asked.id, Yes(reach="once"), ADA, asked.fingerprint)
        assert isinstance(said, Answered)
        assert (said.by, said.question.id) == (ADA, asked.id)
        assert await driver.outcomes("r") == ["done"]
        assert done == [RATES]
        shown = await driver.inbox.show(asked.id)
        assert (shown.state, shown.answer) == ("answered", said)
        assert await driver.inbox.pending() == []


async def test_a_no_with_its_words_goes_back_to_the_agent(where: Path) -> None:
    async with open_guard_driver(where) as driver:
        await driver.act("r", RATES)
        asked = (await driver.asked()).question
        await driver.inbox.answer(asked.id, No(feedback="Use data/rates.csv."), ADA, asked.fingerprint)
        assert await driver.outcomes("r") == ["Not allowed. ada said no. Use data/rates.csv."]


async def test_an_answer_to_something_else_than_was_shown_is_refused(where: Path) -> None:
    async with open_guard_driver(where) as driver:
        await driver.act("r", RATES)
        asked = (await driver.asked()).question
        refused = await driver.inbox.answer(asked.id, Yes(reach="once"), ADA, "f" * 64)
        assert isinstance(refused, AnswerRefused)
        assert refused.why == "not-what-was-shown"
        assert [waiting.question.id for waiting in await driver.inbox.pending()] == [asked.id]


@pytest.mark.parametrize("origin", [ModelOrigin(agent="builder"), KernelOrigin(kernel="k1")])
async def test_neither_a_model_nor_a_kernel_can_answer_or_revoke(
    where: Path, origin: ModelOrigin | KernelOrigin
) -> None:
    async with open_guard_driver(where) as driver:
        await driver.act("r", RATES)
        asked = (await driver.asked()).question
        as_person: Any = origin
        for refused in (
            await driver.inbox.answer(asked.id, Yes(reach="once"), as_person, asked.fingerprint),
            await driver.inbox.revoke(asked.id, as_person),
        ):
            assert isinstance(refused, AnswerRefused)
            assert refused.why == "not-a-person"
        assert (await driver.inbox.show(asked.id)).state == "open"


@pytest.mark.slow
@pytest.mark.parametrize(
    "forged",
    [
        "yes",
        {"state": "answered", "reply": {"says": "yes", "reach": "once", "lasts": "P1D"}},
        {
            "state": "answered",
            "question": "r#4",
            "fingerprint": "f" * 64,
            "reply": {"says": "yes", "reach": "once", "lasts": "P1D"},
            "by": {"name": "ada", "door": "web"},
            "at": "2026-01-01T00:00:00Z",
        },
        {
            "state": "answered",
            "question": "r#4",
            "fingerprint": "right",
            "reply": {"says": "yes", "reach": "once", "lasts": "P1D"},
            "by": {"name": "builder", "door": "kernel"},
            "at": "2026-01-01T00:00:00Z",
        },
    ],
    ids=["a word", "nobody's", "of something else", "from a kernel"],
)
async def test_what_did_not_come_through_the_inbox_is_no_answer_and_it_asks_again(where: Path, forged: Any) -> None:
    async with open_guard_driver(where) as driver:
        await driver.act("r", RATES)
        first = (await driver.asked()).question
        if isinstance(forged, dict) and forged.get("fingerprint") == "right":
            forged = {**forged, "fingerprint": first.fingerprint}
        await driver.journal.answer(first.id, forged, by="builder")
        second = (await driver.asked()).question
        assert second.id != first.id
        assert second.fingerprint == first.fingerprint
        assert isinstance(await driver.inbox.answer(second.id, No(), ADA, second.fingerprint), Answered)
        assert await driver.outcomes("r") == ["Not allowed. ada said no."]


async def test_of_two_clients_that_answer_at_once_one_wins(where: Path) -> None:
    bob = Person(name="bob", door="cli")
    answers: list[Any] = []
    async with open_guard_driver(where) as driver:
        await driver.act("r", RATES)
        asked = (await driver.asked()).question

        async def say(person: Person, reply: Reply) -> None:
            answers.append(await driver.inbox.answer(asked.id, reply, person, asked.fingerprint))

        async with anyio.create_task_group() as doors:
            for person in (ADA, bob) * 4:
                doors.start_soon(say, person, Yes(reach="always") if person == ADA else No(feedback="bob says no"))
        won = [answer for answer in answers if isinstance(answer, Answered)]
        assert Counter(getattr(answer, "why", "won") for answer in answers) == {"won": 1, "already-answered": 7}
        expected = "done" if won[0].by == ADA else "Not allowed. bob said no. bob says no"
        assert await driver.outcomes("r") == [expected]
        assert len(await driver.inbox.grants(datetime.now(UTC))) == (won[0].by == ADA)


async def test_a_question_of_a_cancelled_run_cannot_be_answered(where: Path) -> None:
    async with open_guard_driver(where) as driver:
        await driver.act("r", RATES)
        asked = (await driver.asked()).question
        await driver.journal.cancel("r")
        refused = await driver.inbox.answer(asked.id, Yes(reach="once"), ADA, asked.fingerprint)
        assert isinstance(refused, AnswerRefused)
        assert refused.why == "lapsed"
        assert (await driver.inbox.show(asked.id)).state == "withdrawn"


@pytest.mark.slow
async def test_a_question_survives_the_end_of_the_process_that_asked(where: Path) -> None:
    async with open_guard_driver(where) as driver:
        await driver.act("r", RATES)
        asked = await driver.asked()
    async with open_guard_driver(where) as driver:
        assert await driver.asked() == asked
        question = asked.question
        await driver.inbox.answer(question.id, Yes(reach="once"), ADA, question.fingerprint)
        assert await driver.outcomes("r") == ["done"]


async def test_a_plain_question_stands_in_the_same_inbox_and_is_answered_the_same_way(where: Path) -> None:
    async def other(flow: Flow, _: Any) -> Any:
        return await flow.ask(Question(text="Which colour?", choices=("red", "green")))

    async with open_guard_driver(where, workflows=[Workflow(name="other", body=other)]) as driver:
        await driver.journal.run("other", run="o")
        item = await driver.asked()
        number = item.question.id
        assert (item.topic, item.question.describe(), item.offers) == ("question", "Which colour?", ("red", "green"))
        assert await driver.inbox.pending("o") == [item]
        assert await driver.inbox.pending("another") == []
        with pytest.raises(UserError, match="'blue' is no answer here") as wrong:
            await driver.inbox.answer(number, TypedAnswer(words="blue"), ADA)
        assert wrong.value.hint == "One of: red, green."
        not_offered = await driver.inbox.answer(number, Yes(reach="once"), ADA)
        assert isinstance(not_offered, AnswerRefused)
        assert not_offered.why == "not-offered"
        said = await driver.inbox.answer(number, TypedAnswer(words="2"), ADA)
        assert isinstance(said, PlainAnswered)
        assert (said.reply, said.by) == ("green", "ada")
        late = await driver.inbox.answer(number, TypedAnswer(words="red"), Person(name="bob", door="cli"))
        assert late == AnswerRefused(why="already-answered", message="ada has already answered.")
        kept = (await driver.inbox.show(number)).answer
        assert isinstance(kept, PlainAnswered)
        assert (kept.reply, kept.by) == ("green", "ada")
        assert await driver.outcomes("o") == "green"
        with pytest.raises(NoSuchQuestion, match="No question 'nothing'"):
            await driver.inbox.show("nothing")


async def test_an_agent_or_a_kernel_answers_no_question_not_even_a_plain_one(where: Path) -> None:
    async def other(flow: Flow, _: Any) -> Any:
        return await flow.ask(Question(text="Which colour?"))

    async with open_guard_driver(where, workflows=[Workflow(name="other", body=other)]) as driver:
        await driver.journal.run("other", run="o")
        number = (await driver.asked()).question.id
        model: Any = ModelOrigin(agent="builder")
        refused = await driver.inbox.answer(number, TypedAnswer(words="red"), model)
        assert isinstance(refused, AnswerRefused)
        assert refused.why == "not-a-person"
        assert (await driver.inbox.show(number)).state == "open"


async def test_one_envelope_is_agreed_to_and_then_nothing_inside_it_asks(where: Path) -> None:
    wanted = envelope_of([RATES, WriteFile(path="out.csv", diff="+1")], project=PROJECT)
    assert isinstance(wanted, Envelope)

    async def plan(flow: Flow, _: Any) -> str:
        answered = await ask_approval(flow, wanted, reason="the plan", project=PROJECT, masker=MASKER)
        return answered.by.name

    async with open_guard_driver(where, workflows=[Workflow(name="plan", body=plan)]) as driver:
        await driver.journal.run("plan", run="p")
        asked = (await driver.asked()).question
        assert "Hosts to reach:\n  connect to api.example.com port 443" in asked.describe()
        refused = await driver.inbox.answer(asked.id, Yes(reach="always"), ADA, asked.fingerprint)
        assert isinstance(refused, AnswerRefused)
        assert refused.why == "not-offered"
        await driver.inbox.answer(asked.id, Yes(reach="run"), ADA, asked.fingerprint)
        assert await driver.outcomes("p") == "ada"
        assert await driver.inbox.grants(datetime.now(UTC)) == ()


async def test_what_is_kept_and_shown_is_masked_and_the_run_goes_on_with_the_real_thing(where: Path) -> None:
    secret_file = WriteFile(path=f"backup-{SECRET}.csv", diff="+1")
    wanted = envelope_of([RATES, secret_file], project=PROJECT)
    assert isinstance(wanted, Envelope)

    async def plan(flow: Flow, _: Any) -> bool:
        answered = await ask_approval(flow, wanted, reason=f"it said {SECRET}", project=PROJECT, masker=MASKER)
        agreed = envelope_agreed(answered)
        return agreed is not None and agreed.envelope == wanted

    async with open_guard_driver(where, workflows=[Workflow(name="plan", body=plan)]) as driver:
        await driver.journal.run("plan", run="p")
        asked = (await driver.asked()).question
        [kept] = await driver.journal.records.questions.pending()
        assert MASKER.find(f"{asked.describe()} {kept.question}") == ()
        assert "backup-[masked PASSWORD].csv" in asked.describe()
        await driver.inbox.answer(asked.id, Yes(reach="run"), ADA, asked.fingerprint)
        assert await driver.outcomes("p") is True


async def test_a_question_that_cannot_be_read_does_not_hide_the_others(where: Path) -> None:
    async def broken(flow: Flow, _: Any) -> Any:
        return await flow.ask(Question(text="?", topic="approval", body="not a question"))

    async with open_guard_driver(where, workflows=[Workflow(name="broken", body=broken)]) as driver:
        await driver.journal.run("broken", run="b")
        await driver.act("r", RATES)
        assert (await driver.asked()).question.run == "r"
        with anyio.fail_after(120):
            news = driver.journal.log.growth.next()
            while len(await driver.journal.records.questions.pending()) < 2:
                await news.wait()
                news = driver.journal.log.growth.next()
        assert [waiting.question.run for waiting in await driver.inbox.pending()] == ["r"]


async def test_always_holds_in_the_next_run_until_it_is_revoked(where: Path) -> None:
    async with open_guard_driver(where) as driver:
        await driver.act("r1", RATES)
        asked = (await driver.asked()).question
        await driver.inbox.answer(asked.id, Yes(reach="always", lasts=timedelta(days=30)), ADA, asked.fingerprint)
        assert await driver.outcomes("r1") == ["done"]

        await driver.act("r2", UseNetwork(host="API.example.com.", port=443, purpose="again"))
        assert await driver.outcomes("r2") == ["done"]
        [line] = await driver.trail("r2")
        assert line.entry.basis == f"answer to question {asked.id}"

        [grant] = await driver.inbox.grants(datetime.now(UTC))
        assert grant.describe().startswith(f"{asked.id}: connect to api.example.com port 443, always, until ")
        revoked = await driver.inbox.revoke(grant.id, ADA)
        assert not isinstance(revoked, AnswerRefused)
        assert revoked.revoked_at is not None
        assert await driver.inbox.revoke(grant.id, ADA) == revoked
        assert await driver.inbox.grants(datetime.now(UTC)) == ()

        await driver.act("r3", RATES)
        assert (await driver.asked()).question.run == "r3"


async def test_always_asks_again_when_it_has_expired(where: Path) -> None:
    async with open_guard_driver(where) as driver:
        await driver.act("r1", RATES)
        asked = (await driver.asked()).question
        # As long as it takes to say it: expired when the next run looks.
        await driver.inbox.answer(
            asked.id, Yes(reach="always", lasts=timedelta(microseconds=1)), ADA, asked.fingerprint
        )
        assert await driver.outcomes("r1") == ["done"]
        assert await driver.inbox.grants(datetime.now(UTC)) == ()
        await driver.act("r2", RATES)
        assert (await driver.asked()).question.run == "r2"


@pytest.mark.slow
async def test_for_this_run_covers_the_run_and_no_other(where: Path) -> None:
    async with open_guard_driver(where) as driver:
        await driver.act("r1", RATES, RATES, WriteFile(path="out.csv", diff="+1"))
        asked = (await driver.asked()).question
        await driver.inbox.answer(asked.id, Yes(reach="run"), ADA, asked.fingerprint)
        second = (await driver.asked()).question
        assert second.describe().startswith("Write the file out.csv")
        assert [grant.run for grant in await driver.inbox.grants(datetime.now(UTC))] == ["r1"]
        await driver.inbox.answer(second.id, No(), ADA, second.fingerprint)
        assert await driver.outcomes("r1") == ["done", "done", "Not allowed. ada said no."]
        assert await driver.inbox.grants(datetime.now(UTC)) == ()
        await driver.act("r2", RATES)
        assert (await driver.asked()).question.run == "r2"


async def test_once_covers_exactly_one_action(where: Path) -> None:
    async with open_guard_driver(where) as driver:
        await driver.act("r", RATES, RATES)
        first = (await driver.asked()).question
        await driver.inbox.answer(first.id, Yes(reach="once"), ADA, first.fingerprint)
        second = (await driver.asked()).question
        assert second.id != first.id
        await driver.inbox.answer(second.id, No(), ADA, second.fingerprint)
        assert await driver.outcomes("r") == ["done", "Not allowed. ada said no."]


async def test_a_lasting_yes_that_would_keep_a_secret_is_not_offered(where: Path) -> None:
    async with open_guard_driver(where, rules=NO_RULES) as driver:
        await driver.act("r", RunShell(command=("psql", SECRET), folder=PROJECT))
        asked = (await driver.asked()).question
        assert asked.describe().startswith('Run "psql" "[masked PASSWORD]" in')
        assert asked.offers == ("once",)
        refused = await driver.inbox.answer(asked.id, Yes(reach="always"), ADA, asked.fingerprint)
        assert isinstance(refused, AnswerRefused)
        assert refused.why == "not-offered"
        await driver.inbox.answer(asked.id, Yes(reach="once"), ADA, asked.fingerprint)
        assert await driver.outcomes("r") == ["done"]
        told = [str(recorded.json()) async for recorded in driver.journal.log.read_all("run:r")]
        assert told
        assert [event for event in told if SECRET in event] == []


async def test_revoking_what_nobody_gave_says_where_to_look(where: Path) -> None:
    async with open_guard_driver(where) as driver:
        with pytest.raises(UserError, match="No standing grant"):
            await driver.inbox.revoke("r#1", ADA)
