"""More changed files than are kept unasked, and a person at a real terminal who is asked about them."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests.cli.terminal import on_terminal
from tests.conftest import notebook_source

CELLWRIGHT = Path(sys.executable).with_name("cellwright")
QUESTION = "The notebook left 12 changed files, 12 bytes: more than 10 files are kept only if you say so. Keep them?"


def asked(tmp_path: Path, typed: str) -> tuple[int, str, list[str]]:
    """Exit code, what stood on the terminal, and the files that were kept, after this answer."""
    notebook = tmp_path / "notebook.py"
    cell = "for _number in range(12):\n    open(f'made-{_number:02}.txt', 'w').write('x')"
    notebook.write_text(notebook_source(cell))
    command = [CELLWRIGHT, "notebook", "run", notebook, "--project", tmp_path, "--limit", "kept_files=10"]
    environment = {**os.environ, "CELLWRIGHT_HOME": str(tmp_path / ".cellwright" / "home")}
    with on_terminal(command, environment=environment, folder=tmp_path) as terminal:
        terminal.wait_for("Keep them?")
        terminal.wait_for("[y/N]")
        terminal.type(typed)
        code = terminal.end()
    shown = re.sub(r"\x1b\[[0-9;]*m", "", terminal.shown)
    return code, " ".join(shown.split()), sorted(path.name for path in tmp_path.glob("made-*"))


@pytest.mark.slow
def test_a_yes_at_the_terminal_keeps_them_all(tmp_path: Path) -> None:
    code, shown, kept = asked(tmp_path, "y\n")
    assert (code, kept) == (0, [f"made-{number:02}.txt" for number in range(12)])
    assert QUESTION in shown
    assert "file created: made-11.txt" in shown
    assert "not kept" not in shown and "No file was kept" not in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    "typed", ["n\n", "\n", "yes please\n", "\x04"], ids=["no", "enter alone", "something else", "end of input"]
)
def test_anything_but_a_yes_leaves_the_project_as_it_was_and_says_how_to_have_them(tmp_path: Path, typed: str) -> None:
    _, shown, kept = asked(tmp_path, typed)
    assert kept == []
    assert "No file was kept: 12 changed files, 12 bytes: more than 10 files are kept only if you say so." in shown
    assert "hint: To keep them: `cellwright notebook run --limit kept_files=12`" in shown


@pytest.mark.slow
def test_ctrl_c_at_the_question_leaves_the_project_as_it_was(tmp_path: Path) -> None:
    code, shown, kept = asked(tmp_path, "\x03")
    assert (code, kept) == (130, [])
    assert "Traceback" not in shown
