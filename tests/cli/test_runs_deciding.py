"""A person decides at a terminal about branches that wait: in the inbox, and with `runs accept` and `runs drop`."""

from __future__ import annotations

import getpass
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from cellwright.journal.journal import Journal
from cellwright.runs.events import EVENT_TYPES
from tests.cli.in_process import Said, run_here
from tests.runs.waiting_branches import WAITS, decided, waits

ME = getpass.getuser()


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """A run called `sales` that waits, and somebody who types."""

    home: Path
    journal: Journal

    async def types(self, *words: str, code: int = 0) -> Said:
        def run() -> Said:
            return run_here(self.home, "runs", *words, "--database", str(self.home / "journal.db"), code=code)

        return await anyio.to_thread.run_sync(run)

    async def answers(self, *words: str, code: int = 0) -> Any:
        """In the inbox."""

        def run() -> Said:
            return run_here(self.home, "inbox", *words, "--json", code=code)

        return json.loads((await anyio.to_thread.run_sync(run)).stdout)

    async def reads(self, *words: str, code: int = 0) -> Any:
        return json.loads((await self.types(*words, "--json", code=code)).stdout)

    async def states(self) -> list[tuple[str, str, str]]:
        found = (await self.reads("branches", "sales"))["branches"]
        return [(lane["purpose"], lane["state"], lane["decided_by"]) for lane in found]


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncGenerator[Terminal]:
    async with Journal.open(tmp_path / "journal.db", version="1", workflows=[WAITS], types=EVENT_TYPES) as journal:
        await waits(journal, "sales")
        yield Terminal(home=tmp_path, journal=journal)


async def test_the_table_says_which_branches_wait_and_how_to_decide(terminal: Terminal) -> None:
    shown = await terminal.types("branches", "sales")
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert [line.rpartition(" ")[2] for line in lines if line.startswith("sales/c0") and "–" in line] == [
        "waits",
        "waits",
        "no",
    ]
    assert "2 branches wait for you: `cellwright inbox --run sales`" in " ".join(shown.stderr.split())
    assert await terminal.states() == [("median", "waits", ""), ("mean", "waits", ""), ("broken", "not-kept", "")]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("named", ["median", "sales/c0.2", "c0.2"])
async def test_a_branch_is_accepted_by_its_name_or_by_what_it_is_for(terminal: Terminal, named: str) -> None:
    said = await terminal.reads("accept", "sales", named)
    assert said == {
        "run": "sales",
        "decision": "accepted",
        "branches": ["sales/c0.2"],
        "by": ME,
        "is_settled": True,
        "says": "median is accepted; the run makes it in the notebook.",
    }
    assert await decided(terminal.journal, "sales") == {"accepted": "sales/c0.2", "by": ME, "dropped": {}}
    assert await terminal.states() == [("median", "accepted", ME), ("mean", "dropped", ME), ("broken", "not-kept", "")]
    assert f"sales/c0.2: accepted by {ME}" in (await terminal.types("branches", "sales")).stdout


async def test_branches_are_a_question_of_the_inbox_and_dropped_and_kept_there(terminal: Terminal) -> None:
    [question] = (await terminal.answers("--run", "sales"))["questions"]
    number = question["id"]
    assert (question["topic"], question["offers"]) == ("branch-choice", ["median", "mean", "none of them"])
    dropped = await terminal.answers("answer", number, "drop", "c0.1")
    assert (dropped["says"], dropped["by"]) == ("drop mean", ME)
    assert (await terminal.states())[:2] == [("median", "waits", ""), ("mean", "dropped", ME)]
    again = await terminal.answers("answer", number, "drop", "mean", code=3)
    assert again == {"refused": "already-answered", "message": f"mean was dropped by {ME} already."}
    kept = await terminal.answers("answer", number, "Median")
    assert kept["says"] == "median"
    assert await decided(terminal.journal, "sales") == {
        "accepted": "sales/c0.2",
        "by": ME,
        "dropped": {"sales/c0.1": ME},
    }


async def test_the_last_branch_that_is_dropped_answers_the_question(terminal: Terminal) -> None:
    [question] = (await terminal.answers())["questions"]
    for name in ("median", "mean"):
        await terminal.answers("answer", question["id"], "drop", name)
    assert (await decided(terminal.journal, "sales"))["accepted"] == ""
    assert (await terminal.answers()) == {"questions": []}


async def test_dropping_one_lets_the_others_wait_and_dropping_the_last_lets_the_run_go_on(terminal: Terminal) -> None:
    first = await terminal.types("drop", "sales", "median")
    assert "median is dropped; mean waits still." in first.stderr
    assert (await terminal.states())[:2] == [("median", "dropped", ME), ("mean", "waits", "")]
    refused = await terminal.reads("accept", "sales", "median", code=3)
    assert (refused["refused"], refused["message"]) == (
        "not-waiting",
        f"median was dropped by {ME} already. These wait: mean.",
    )
    assert (await terminal.reads("drop", "sales", "mean"))["is_settled"] is True
    assert await decided(terminal.journal, "sales") == {
        "accepted": "",
        "by": ME,
        "dropped": {"sales/c0.2": ME, "sales/c0.1": ME},
    }


async def test_everything_that_waits_is_dropped_at_once(terminal: Terminal) -> None:
    said = await terminal.reads("drop", "sales")
    assert (said["decision"], said["branches"], said["is_settled"]) == ("dropped", ["sales/c0.2", "sales/c0.1"], True)
    assert (await decided(terminal.journal, "sales"))["accepted"] == ""
    assert "No branch of 'sales' waits." in (await terminal.types("drop", "sales", code=3)).stderr


async def test_what_cannot_be_decided_is_said_with_what_can(terminal: Terminal) -> None:
    unknown = await terminal.types("accept", "sales", "mode", code=2)
    assert "tried no branch 'mode'" in unknown.stderr
    assert "These wait: median, mean." in " ".join(unknown.stderr.split())
    failed = await terminal.types("accept", "sales", "broken", code=3)
    assert "broken does not wait: it is not kept." in " ".join(failed.stderr.split())
    assert "other" in (await terminal.types("accept", "other", "median", code=2)).stderr
    await terminal.journal.cancel("sales", reason="enough")
    late = await terminal.types("accept", "sales", "median", code=3)
    assert "No branch of 'sales' waits." in " ".join(late.stderr.split())
