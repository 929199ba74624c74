"""A run asks in one process, and is answered from another."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from dirty_equals import IsStr

from cellwright.journal import Flow, Journal, Question, Workflow

CELLWRIGHT = Path(sys.executable).with_name("cellwright")


async def cellwright(*words: str | Path) -> subprocess.CompletedProcess[str]:
    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run([CELLWRIGHT, *words], capture_output=True, text=True, timeout=300, check=False)

    return await anyio.to_thread.run_sync(run)


async def body(flow: Flow, _argument: Any) -> str:
    return f"took the {await flow.ask(Question(text='Which road?', choices=('left', 'right')))} one"


@pytest.mark.slow
async def test_a_plain_question_is_listed_answered_and_the_run_goes_on(tmp_path: Path) -> None:
    place = tmp_path / "journal.db"
    async with Journal.open(place, version="1", workflows=[Workflow(name="walk", body=body)]) as journal:
        run = await journal.run("walk")
        with anyio.fail_after(120):
            while not await journal.records.questions.pending(run):
                await journal.log.growth.next().wait()
        listed = json.loads((await cellwright("questions", "list", "--json", "--database", place)).stdout)["questions"]
        assert listed == [
            {
                "id": IsStr(),
                "run": run,
                "topic": "question",
                "text": "Which road?",
                "choices": ["left", "right"],
                "state": "open",
                "answer": None,
                "by": "",
            }
        ]
        wrong = await cellwright("questions", "answer", listed[0]["id"], "straight on", "--database", place)
        assert wrong.returncode == 2
        assert "left" in wrong.stderr
        assert (await cellwright("questions", "answer", listed[0]["id"], "left", "--database", place)).returncode == 0
        with anyio.fail_after(120):
            assert await journal.result(run) == "took the left one"


async def test_what_an_agent_asks_cannot_steer_the_terminal(tmp_path: Path) -> None:
    async def steer(flow: Flow, _: Any) -> Any:
        return await flow.ask(Question(text="\x1b[2J\x1b]0;owned\x07Go on?", choices=("yes\x1b[1m", "no")))

    place = tmp_path / "journal.db"
    async with Journal.open(place, version="1", workflows=[Workflow(name="steer", body=steer)]) as journal:
        run = await journal.run("steer")
        with anyio.fail_after(120):
            while not await journal.records.questions.pending(run):
                await journal.log.growth.next().wait()
        shown = (await cellwright("questions", "list", "--database", place)).stdout
    assert "\\u001b[2J" in shown
    assert "\x1b" not in shown
    assert "\x07" not in shown
