"""`cellwright run` without a model: what was typed, and a proven notebook on a machine that has no key."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from cellwright.cli.run.command import words_here
from cellwright.cli.run.outcome import opening
from cellwright.errors import UserError
from cellwright.models.client.gateway_process import running_pid
from cellwright.models.config.keys import key_variables
from cellwright.runs.goal.request import OVERVIEW, GoalRequest, read_goal
from tests.cli.in_process import run_here

CELLWRIGHT = Path(sys.executable).with_name("cellwright")
SECONDS = 300
WORDS = "Compare revenue by region."
ROWS = "".join(
    f"{number},{('North', 'South')[number % 2]},{(150, 90)[number % 2] + number * 37 % 41}\n" for number in range(80)
)
NOBODY_LISTENS = '[tiers]\nsmart = ["ollama:x"]\n[endpoints.ollama]\nbase_url = "http://127.0.0.1:9/v1"\n'


def read(folder: Path, *models: str, data: tuple[str, ...] = ("sales.csv",)) -> tuple[str, ...]:
    (folder / "sales.csv").write_text(f"order,region,revenue\n{ROWS}")
    return read_goal(GoalRequest(words=WORDS, models=models, data=data), person="ada", here=folder).models


def test_the_analyst_is_named_like_a_model(tmp_path: Path) -> None:
    assert read(tmp_path, "analyst") == ("analyst",)
    assert read(tmp_path, "analyst", "analyst") == ("analyst",)


def test_the_analyst_works_without_models(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="works without models"):
        read(tmp_path, "analyst", "near:one")


def test_the_analyst_finds_data_in_the_project(tmp_path: Path) -> None:
    assert read(tmp_path, "analyst", data=()) == ("analyst",)


def test_without_any_data_the_analyst_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    said = run_here(tmp_path / "home", "run", WORDS, "--model", "analyst", code=2)
    assert "There is no data" in said.stderr
    assert "--data" in said.stderr
    assert not (tmp_path / "home").exists()


def test_data_without_a_word_is_asked_for_an_overview(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert words_here(None, has_data=True) == OVERVIEW
    with pytest.raises(UserError, match="No goal"):
        words_here(None)
    with pytest.raises(UserError, match="No goal"):
        words_here("", has_data=True)
    assert words_here("why?", has_data=True) == "why?"


def test_the_command_that_opens_a_notebook_is_one_a_shell_can_run() -> None:
    command = opening("/tmp/my notebook.py")
    assert command.endswith("edit '/tmp/my notebook.py'")
    assert "marimo" in command


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody with a project, a state directory, and no key."""

    home: Path
    project: Path

    def cellwright(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        held = key_variables(os.environ)
        kept = {name: value for name, value in os.environ.items() if name not in held}
        done = subprocess.run(
            [CELLWRIGHT, *words],
            env=kept | {"CELLWRIGHT_HOME": str(self.home), "NO_COLOR": "1"},
            cwd=self.project,
            input="",
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done


@pytest.fixture
def person(tmp_path: Path) -> Generator[Person]:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir(mode=0o700)
    project.mkdir()
    (home / "models.toml").write_text(NOBODY_LISTENS)
    (project / "sales.csv").write_text(f"order,region,revenue\n{ROWS}")
    somebody = Person(home=home, project=project)
    try:
        yield somebody
    finally:
        somebody.cellwright("serve", "stop", "--json")
        if (pid := running_pid(home)) is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_without_a_key_a_goal_becomes_a_proven_notebook_and_it_is_said_who_worked(person: Person) -> None:
    done = person.cellwright("run", WORDS, "--data", "sales.csv", "--notebook", "first.py")
    assert "No model is configured" in done.stderr
    assert "cellwright models set-key" in done.stderr
    assert "North" in done.stdout.split("\n\n")[0]
    for line in ("notebook: ", "report: ", "proof: "):
        assert line in done.stdout
    assert "marimo edit" in done.stderr or "/marimo edit" in done.stderr
    assert (person.project / "first.py").exists()


@pytest.mark.slow
def test_a_goal_that_needs_a_model_says_what_to_configure(person: Person) -> None:
    failed = person.cellwright("run", "Write an essay about the sea.", "--data", "sales.csv", "--json", code=1)
    delivery = json.loads(failed.stdout.splitlines()[-1])
    assert delivery["status"] == "failed"
    assert "cellwright models set-key" in delivery["why"]
