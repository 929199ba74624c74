"""Spellings of the version before still do the same, and say the new one on stderr."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from dirty_equals import IsStr

from cellwright.cli.terminal_input import person_here
from cellwright.journal.flow import Workflow
from cellwright.journal.journal import Journal
from cellwright.runs.events import EVENT_TYPES
from tests.cli.in_process import Said, run_here
from tests.cli.test_inbox_commands import body
from tests.tools.guard_driver import RATES, open_guard_driver

ME = person_here().name


@pytest.fixture(scope="module")
def both_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("both")

    async def ask() -> None:
        workflows = [Workflow(name="walk", body=body)]
        async with open_guard_driver(folder / "journal.db", chain_key=None, workflows=workflows) as driver:
            await driver.act("rates", RATES)
            await driver.journal.run("walk", run="walk")
            with anyio.fail_after(120):
                news = driver.journal.log.growth.next()
                while len(await driver.journal.records.questions.pending()) < 2:
                    await news.wait()
                    news = driver.journal.log.growth.next()

    anyio.run(ask)
    return folder


@pytest.fixture
def both(tmp_path: Path, both_once: Path) -> Path:
    """A journal in which an approval and a plain question wait, and nobody works."""
    shutil.copytree(both_once, tmp_path, dirs_exist_ok=True)
    return tmp_path


def said(home: Path, *words: str, code: int = 0) -> tuple[Any, str]:
    """What the command printed as JSON, and what it said besides."""
    told: Said = run_here(home, *words, "--json", code=code)
    return json.loads(told.stdout) if told.stdout else None, " ".join(told.stderr.split())


def test_approvals_are_listed_shown_answered_and_revoked(both: Path) -> None:
    listed, note = said(both, "approvals", "list")
    assert "`cellwright approvals list` is now `cellwright inbox`" in note
    [question] = listed["questions"]
    number, fingerprint = question["id"], question["fingerprint"]
    shown, note = said(both, "approvals", "show", number)
    assert shown == question
    assert "now `cellwright inbox show ID`" in note
    answered, note = said(both, "approvals", "answer", number, "--always", "--for", "3d", "--fingerprint", fingerprint)
    assert answered == {
        "id": number,
        "by": ME,
        "door": "cli",
        "at": IsStr(),
        "says": "yes",
        "reach": "always",
        "until": IsStr(),
    }
    assert "now `cellwright inbox answer ID always`" in note
    grants, note = said(both, "approvals", "grants")
    assert [grant["id"] for grant in grants["grants"]] == [number]
    assert "now `cellwright inbox grants`" in note
    assert said(both, "approvals", "revoke", number)[0]["revoked_at"]
    late, _ = said(both, "approvals", "answer", number, "--no", code=3)
    assert late["refused"] == "already-answered"


@pytest.mark.parametrize("options", [[], ["--once", "--no"], ["--price", "1", "--uncounted"]])
def test_no_answer_and_several_are_not_understood(both: Path, options: list[str]) -> None:
    assert "Give one answer." in said(both, "approvals", "answer", "rates#5", *options, code=2)[1]


def test_plain_questions_are_listed_and_answered(both: Path) -> None:
    listed, note = said(both, "questions", "list")
    assert "`cellwright questions list` is now `cellwright inbox`" in note
    [question] = listed["questions"]
    assert question == {
        "id": IsStr(),
        "run": "walk",
        "topic": "question",
        "text": "Which road?",
        "choices": ["left", "right"],
        "state": "open",
        "answer": None,
        "by": "",
    }
    assert "left, right" in said(both, "questions", "answer", question["id"], "straight on", code=2)[1]
    answered, note = said(both, "questions", "answer", question["id"], "left")
    assert answered == {**question, "state": "answered", "answer": "left", "by": ME}
    assert "now `cellwright inbox answer ID ANSWER`" in note


def test_an_approval_is_not_answered_unseen_as_if_it_were_a_plain_question(both: Path) -> None:
    [question] = said(both, "approvals", "list")[0]["questions"]
    _, note = said(both, "questions", "answer", question["id"], "yes", code=2)
    assert f"cellwright inbox show {question['id']}" in note
    assert said(both, "inbox", "show", question["id"])[0]["state"] == "open"


async def test_a_run_at_work_takes_the_answer_of_a_former_spelling(tmp_path: Path) -> None:
    workflows = [Workflow(name="walk", body=body)]
    async with Journal.open(tmp_path / "journal.db", version="1", workflows=workflows, types=EVENT_TYPES) as journal:
        await journal.run("walk", run="walk")
        with anyio.fail_after(120):
            news = journal.log.growth.next()
            while not (pending := await journal.records.questions.pending("walk")):
                await news.wait()
                news = journal.log.growth.next()
        await anyio.to_thread.run_sync(said, tmp_path, "questions", "answer", pending[0].id, "2")
        with anyio.fail_after(120):
            assert await journal.result("walk") == "took the right one"


def test_former_spellings_are_not_listed(tmp_path: Path) -> None:
    commands = run_here(tmp_path, "--help").stdout
    assert "inbox" in commands
    assert "approvals" not in commands
    below = run_here(tmp_path, "runs", "--help").stdout
    assert not {"approve", "accept", "drop"} & set(below.split())
