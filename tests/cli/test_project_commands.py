"""`cellwright project`: a person reads what a project brings along and accepts it, for unattended runs too."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from cellwright.cli.terminal_input import person_here
from tests.cli.in_process import run_here
from tests.cli.terminal import on_terminal

CELLWRIGHT = Path(sys.executable).with_name("cellwright")
ROLE = "---\nname: coder\ndescription: Works faster.\n---\n{words}\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".cellwright/roles").mkdir(parents=True)
    write(folder, "Write [bold]short[/] cells.")
    return folder


def write(project: Path, words: str) -> None:
    (project / ".cellwright/roles/coder.md").write_text(ROLE.format(words=words))


def told(home: Path, *words: str | Path, code: int = 0, folder: Path | None = None) -> Any:
    return json.loads(run_here(home, "project", *map(str, words), "--json", code=code, folder=folder).stdout)


def test_what_is_shown_is_accepted_by_its_fingerprint_and_then_counts(home: Path, project: Path) -> None:
    seen = told(home, "show", project)
    assert [(each["name"], each["state"]) for each in seen["offered"]] == [("coder", "new")]
    assert "│ Write [bold]short[/] cells." in seen["what"]
    accepted = told(home, "trust", project, "--fingerprint", seen["fingerprint"])
    assert [each["name"] for each in accepted["accepted"]] == ["coder"]
    assert (accepted["offered"], accepted["fingerprint"]) == ([], "")
    [listed] = told(home, "list")["accepted"]
    assert (listed["project"], listed["path"]) == (str(project), ".cellwright/roles/coder.md")
    assert listed["by"] == person_here().name
    assert "Nothing here waits" in run_here(home, "project", "trust", str(project)).stderr
    write(project, "Write long cells.")
    changed = run_here(home, "project", "show", str(project)).stdout
    assert changed.startswith("changed   role coder  .cellwright/roles/coder.md\n")
    assert "│ -Write [bold]short[/] cells.\n│ +Write long cells." in changed


def test_the_project_is_the_one_this_folder_is_in(home: Path, project: Path) -> None:
    (project / "deep/down").mkdir(parents=True)
    assert told(home, "show", folder=project / "deep/down")["project"] == str(project)


def test_what_is_not_what_was_shown_is_refused(home: Path, project: Path) -> None:
    fingerprint = told(home, "show", project)["fingerprint"]
    write(project, "Something else.")
    assert told(home, "trust", project, "--fingerprint", fingerprint, code=3)["refused"] == "not-what-was-shown"
    assert told(home, "list") == {"accepted": []}


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("trust", "{project}"), "Nobody is at this terminal", "cellwright project show"),
        (("trust", "{project}/nowhere"), "is no folder", "Name the folder"),
        (("show", "{project}/.cellwright/roles/coder.md"), "is no folder", "Name the folder"),
        (("revoke", "{project}"), "Nothing of", "cellwright project list"),
        (("show", "{project}/broken"), "roles/x.md:1: the file does not begin", "Put name and description"),
    ],
)
def test_bad_input_ends_with_exit_2_and_a_hint(
    home: Path, project: Path, words: tuple[str, ...], message: str, hint: str
) -> None:
    (project / "broken/.cellwright/roles").mkdir(parents=True)
    (project / "broken/.cellwright/roles/x.md").write_text("x")
    said = run_here(home, "project", *(word.format(project=project) for word in words), code=2).stderr
    assert message in said
    assert hint in said.partition("hint:")[2]


def test_what_was_accepted_can_be_revoked_even_if_the_project_is_gone(home: Path, project: Path) -> None:
    told(home, "trust", project, "--fingerprint", told(home, "show", project)["fingerprint"])
    project.rename(project.with_name("moved"))
    assert [each["path"] for each in told(home, "revoke", project)["revoked"]] == [".cellwright/roles/coder.md"]
    assert "Nothing is accepted" in run_here(home, "project", "list").stderr


def test_without_any_it_says_so(home: Path, tmp_path: Path) -> None:
    assert "no roles and no skills" in run_here(home, "project", "show", str(tmp_path)).stderr


@pytest.mark.slow
@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("\n", 1)])
def test_at_a_terminal_the_person_sees_it_and_is_asked(home: Path, project: Path, typed: str, code: int) -> None:
    environment = os.environ | {"CELLWRIGHT_HOME": str(home), "NO_COLOR": "1", "COLUMNS": "200"}
    with on_terminal([CELLWRIGHT, "project", "trust"], environment=environment, folder=project) as terminal:
        terminal.wait_for("Write [bold]short[/] cells.")
        terminal.wait_for("Accept it? [y/N]")
        terminal.type(typed)
        assert terminal.end() == code
    assert len(told(home, "list")["accepted"]) == (code == 0)
