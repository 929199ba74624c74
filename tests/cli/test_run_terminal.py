"""A run at a real terminal: the screen, questions asked right there, Ctrl-C once and twice; and where nobody sits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import anyio
import pytest

from cellwright.journal.records import Records
from cellwright.runs.events import EVENT_TYPES
from tests.cli.terminal import SECONDS, Terminal, on_terminal
from tests.sampling import some

ROOT = Path(__file__).parents[2]


def at_work(home: Path, words: str) -> AbstractContextManager[Terminal]:
    """A run of the tiny workflow, carried out and watched at a terminal."""
    command = [sys.executable, "-W", "error", "-m", "tests.cli.told_runs", home, words]
    return on_terminal(command, environment=os.environ, folder=ROOT)


@pytest.mark.slow
def test_a_question_is_asked_and_answered_right_there(tmp_path: Path) -> None:
    with at_work(tmp_path, "ask me") as terminal:
        terminal.wait_for("● compare  Compare the quarters")
        terminal.wait_for("Which quarter first?")
        terminal.wait_for("Your answer:")
        terminal.type("9\n")
        terminal.wait_for("One of: Q2, Q3.")
        terminal.type("2\n")
        assert terminal.end() == 0
    assert "It fell by 4 %. Q3 first." in terminal.shown


def test_an_approval_shows_exactly_what_will_happen_and_takes_no_for_an_answer(tmp_path: Path) -> None:
    with at_work(tmp_path, "approve it") as terminal:
        terminal.wait_for("Connect to api.example.com port 443 for exchange rates")
        terminal.wait_for("once")
        terminal.wait_for("always")
        terminal.wait_for("Your answer:")
        # Enter alone is no yes.
        terminal.type("\n")
        terminal.wait_for("One of: once, run, always, no.")
        terminal.type("no\n")
        terminal.wait_for("Anything the agent should know?")
        terminal.type("Use the file.\n")
        assert terminal.end() == 3
    assert "ada said no." in terminal.shown


@pytest.mark.slow
def test_ctrl_c_pauses_and_enter_goes_on(tmp_path: Path) -> None:
    with at_work(tmp_path, "work") as terminal:
        terminal.wait_for("● compare")
        terminal.interrupt()
        terminal.wait_for("Enter goes on, Ctrl-C again stops the run.")
        terminal.type("\n")
        terminal.wait_for("Going on.")
        assert terminal.end() == 0
    assert "After a pause." in terminal.shown


@pytest.mark.slow
def test_ctrl_c_twice_stops_the_run(tmp_path: Path) -> None:
    with at_work(tmp_path, "work") as terminal:
        terminal.wait_for("● compare")
        terminal.interrupt()
        terminal.wait_for("Enter goes on")
        terminal.interrupt()
        terminal.wait_for("Stopping")
        assert terminal.end() == 130
    assert "stopped by ada with Ctrl-C" in terminal.shown

    async def standing() -> str:
        async with Records.open(tmp_path / "journal.db", types=EVENT_TYPES) as records:
            return (await records.status("r")).standing

    assert anyio.run(standing) == "cancelled"


@pytest.mark.slow
def test_ctrl_c_at_a_question_pauses_and_it_is_asked_again(tmp_path: Path) -> None:
    with at_work(tmp_path, "ask me") as terminal:
        terminal.wait_for("Your answer:")
        terminal.interrupt()
        terminal.wait_for("Enter goes on")
        terminal.type("\n")
        terminal.wait_for("Going on.")
        terminal.wait_for("Your answer:")
        terminal.type("q2\n")
        assert terminal.end() == 0
    assert "Q2 first." in terminal.shown


@pytest.mark.slow
def test_the_end_of_input_leaves_the_question_open_and_says_how_to_answer_it(tmp_path: Path) -> None:
    with at_work(tmp_path, "ask me") as terminal:
        terminal.wait_for("Your answer:")
        terminal.type("\x04")
        assert terminal.end() == 4
    assert "cellwright inbox answer r#" in terminal.shown
    assert "the run goes on at the next `cellwright runs watch r`" in terminal.shown


@pytest.mark.slow
def test_a_question_that_is_answered_elsewhere_is_no_longer_asked_here(tmp_path: Path) -> None:
    async def answer() -> None:
        async with Records.open(tmp_path / "journal.db", types=EVENT_TYPES) as records:
            [question] = await records.questions.pending("r")
            await records.questions.answer(question.id, "Q3", by="grace")

    with at_work(tmp_path, "ask me") as terminal:
        terminal.wait_for("Your answer:")
        anyio.run(answer)
        terminal.wait_for("It was answered elsewhere.")
        assert terminal.end() == 0
    assert "Q3 first." in terminal.shown


@pytest.mark.slow
@pytest.mark.parametrize("number", some([signal.SIGINT, signal.SIGTERM], 1), ids=["ctrl-c", "terminated"])
def test_where_nobody_sits_an_interrupt_pauses_and_leaves(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "tests.cli.told_runs", tmp_path, "work"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        lines = list[str]()
        while "Compare the quarters: running" not in "".join(lines):
            lines.append(process.stderr.readline())
        process.send_signal(number)
        rest = process.stderr.read()
        assert process.wait(SECONDS) == 4, rest
        assert process.stdout.read() == ""
    assert "Paused; everything is kept" in rest
    assert "cellwright runs resume r" in rest
