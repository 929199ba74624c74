"""At a real terminal, what a model writes for a run in the daemon is on the screen while it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellwright.testing import CallTool, Fault
from tests.cli.terminal import on_terminal
from tests.runs.factory import create, finish
from tests.web.a_control_room import CELLWRIGHT, ControlRoom, open_control_room

WORDS = "I add forty and two, as was asked, and then I look whether the sum is right, in one cell and not in several."
CODE = "\n".join(f"step_{number} = {number}" for number in range(20)) + "\ntotal = 40 + 2\ntotal"
ANSWER = CallTool("apply", {"edits": [create(CODE, "total")]}, text=WORDS, chunks=40)
HELD = Fault("stall", answer=ANSWER, after_chunks=len(WORDS.split()) + 30)


def watched(room: ControlRoom, *arguments: str) -> None:
    """What is written is seen before it is whole, and the run ends well."""
    with on_terminal([CELLWRIGHT, *arguments], environment=room.environment, folder=room.folder) as terminal:
        terminal.wait_for("│ step_12 = 12")
        assert "step_19" not in terminal.shown
        room.provider.release()
        assert terminal.end() == 0
    assert "It is 42." in terminal.shown


@pytest.mark.slow
def test_a_run_shows_what_is_being_written(tmp_path: Path) -> None:
    with open_control_room(tmp_path) as room:
        room.provider.script(HELD, finish("It is 42."))
        watched(room, "run", "Sum the numbers.", "--model", "near:one")
