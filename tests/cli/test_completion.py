"""Shell completion: what a shell is told when somebody presses Tab, over the protocol it really speaks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import anyio.to_thread
import pytest

from cellwright.models.client.gateway_process import running_pid
from tests.cli.told_runs import has_ended, is_asking, open_told, started

CELLWRIGHT = Path(sys.executable).with_name("cellwright")
_LOADED = """
import sys
from cellwright.cli.main import main
sys.argv = ["cellwright"]
try:
    main()
except SystemExit:
    pass
print(sorted({"anyio", "marimo", "dbos", "cellwright.cli.runs.command"} & set(sys.modules)))
"""


def asked(home: Path, line: str) -> dict[str, str]:
    """The environment in which bash asks what could stand at the end of this line."""
    words = line.split(" ")
    return {
        **os.environ,
        "CELLWRIGHT_HOME": str(home),
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "_CELLWRIGHT_COMPLETE": "complete_bash",
    }


async def completed(home: Path, line: str, **more: str) -> list[str]:
    def run() -> list[str]:
        environment = asked(home, line) | more
        done = subprocess.run([CELLWRIGHT], env=environment, capture_output=True, text=True, check=True, timeout=300)
        assert done.stderr == ""
        return done.stdout.split()

    return await anyio.to_thread.run_sync(run)


@pytest.mark.slow
async def test_commands_complete_although_they_are_loaded_late(tmp_path: Path) -> None:
    assert await completed(tmp_path, "cellwright ru") == ["run", "runs", "rules"]
    assert await completed(tmp_path, "cellwright runs re") == ["resume", "retry", "reject-card", "redo"]
    assert "--budget" in await completed(tmp_path, "cellwright run --b")


def test_completing_a_command_loads_none(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _LOADED]
    environment = asked(tmp_path, "cellwright ru")
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300).stdout
    assert said.splitlines() == ["run", "runs", "rules", "[]"]


@pytest.mark.slow
async def test_runs_and_their_tasks_complete_from_the_journal(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:
        await started(journal, "a1-done")
        await has_ended(journal, "a1-done")
        await started(journal, "a2-asking", "ask me")
        await is_asking(journal, "a2-asking")
        assert sorted(await completed(tmp_path, "cellwright runs show a")) == ["a1-done", "a2-asking"]
        assert await completed(tmp_path, "cellwright runs show a1") == ["a1-done"]
        assert await completed(tmp_path, "cellwright runs pause a") == ["a2-asking"]
        assert await completed(tmp_path, "cellwright runs retry a1-done ") == ["read-sales", "compare"]
        assert await completed(tmp_path, "cellwright runs plan a1 --drop c") == ["compare"]
        assert await completed(tmp_path, "cellwright runs retry nope ") == []


@pytest.mark.slow
async def test_without_a_journal_nothing_completes_and_nothing_is_said(tmp_path: Path) -> None:
    assert await completed(tmp_path / "home", "cellwright runs show ") == []
    assert not (tmp_path / "home").exists()


async def test_a_tab_hands_no_key_over_and_starts_no_gateway(tmp_path: Path) -> None:
    key = "sk-a-key-that-nobody-has-4711"
    assert await completed(tmp_path / "home", "cellwright runs sh", OPENAI_API_KEY=key) == ["show"]
    assert running_pid(tmp_path / "home") is None


def bash(home: Path, script: str) -> str:
    """What bash prints that runs this, with a home of its own."""
    path = f"{CELLWRIGHT.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"HOME": str(home), "PATH": path, "CELLWRIGHT_HOME": str(home / "state")}
    command = ["bash", "--norc", "-c", script]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300).stdout


@pytest.mark.slow
def test_completion_is_shown_installed_and_works_in_bash(tmp_path: Path) -> None:
    assert "_CELLWRIGHT_COMPLETE=complete_bash" in bash(tmp_path, "cellwright --show-completion; true")
    assert "bash completion installed" in bash(tmp_path, "cellwright --install-completion; true")
    [script] = (tmp_path / ".bash_completions").iterdir()
    assert script.name in (tmp_path / ".bashrc").read_text()
    pressed = f"source {script}; COMP_WORDS=(cellwright runs wa); COMP_CWORD=2; _cellwright_completion cellwright"
    assert bash(tmp_path, f'{pressed}; echo "${{COMPREPLY[@]}}"') == "watch\n"
