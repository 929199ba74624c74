"""Whoever writes a notebook's files into the project may be killed at any moment of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cellwright.sandbox.host.file_changes import without_leftovers
from cellwright.sandbox.host.project import hidden_in
from cellwright.sandbox.host.staging_directory import PREFIX, StagingDirectory
from tests.sandbox import killed_keeper
from tests.sandbox.conftest import plain_uid

PATIENCE_SECONDS = 240


def is_ours(path: str) -> bool:
    return path.startswith(PREFIX) or f"/{PREFIX}" in path


@pytest.mark.slow
def test_killed_before_any_system_call_everything_is_old_or_new_and_the_next_run_clears_the_rest(
    tmp_path: Path,
) -> None:
    program = str(Path(killed_keeper.__file__))
    ended = subprocess.run(
        [sys.executable, program, str(tmp_path), str(plain_uid())],
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    told: dict[str, Any] = json.loads(ended.stdout)
    before, after = told["before"], told["after"]
    assert sorted(before.keys() ^ after.keys()) == [
        "gone.txt", "link", "made", "made.txt", "made/inside.txt", "was a directory/inside.txt",
    ]  # fmt: skip
    assert {owner for _, owner, _ in after.values()} == {plain_uid()}
    assert len(told["killed"]) > 50
    for state in told["killed"]:
        theirs = {path: seen for path, seen in state["left"].items() if not is_ours(path)}
        for path in before.keys() | after.keys():
            # What is in the way of something new is gone for a moment.
            moment = (None,) if path == "was a directory" else ()
            assert theirs.get(path) in (before.get(path), after.get(path), *moment), path
        assert theirs.keys() <= before.keys() | after.keys()
        assert state["cleared"] == theirs
    # It was killed in the midst of a file, of a link and of a directory.
    left = [seen for state in told["killed"] for path, seen in state["left"].items() if is_ours(path)]
    assert {kind[:-3] for kind, _, _ in left} == {"0o100", "0o120", "0o40"}
    assert {content for _, _, content in left} >= {"", "new and whole", "made.txt"}
    # Until everything was copied nothing had changed; a new directory came with all that is in it.
    states = [{path: seen for path, seen in state["left"].items() if not is_ours(path)} for state in told["killed"]]
    first = next(number for number, theirs in enumerate(states) if theirs != before)
    whole = [path for path, seen in told["killed"][first - 1]["left"].items() if seen[2] == "new and whole"]
    assert len(whole) == len(killed_keeper.FILES)
    assert all(("made" in theirs) == ("made/inside.txt" in theirs) for theirs in states)


def test_what_another_process_keeps_at_this_moment_is_not_cleared(tmp_path: Path) -> None:
    project = os.open(tmp_path, os.O_RDONLY)
    claim = StagingDirectory(project)
    (tmp_path / claim.name / claim.next_name()).write_text("on its way")
    assert without_leftovers(tmp_path, hidden_in(tmp_path)) == ()
    assert [path.name for path in tmp_path.iterdir()] == [claim.name]
    claim.close()
    os.close(project)
    assert [*tmp_path.iterdir()] == []


def test_what_a_version_before_left_is_cleared(tmp_path: Path) -> None:
    left = f"{PREFIX}{'b2' * 8}"
    (tmp_path / left).write_text("a file")
    (tmp_path / f"{left}.part").mkdir()
    assert without_leftovers(tmp_path, hidden_in(tmp_path)) == ()
    assert [*tmp_path.iterdir()] == []


def test_only_names_that_are_exactly_ours_are_cleared(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ours = f"{PREFIX}{'a1' * 8}"
    (elsewhere / ours).write_text("behind a link")
    project = tmp_path / "project"
    (project / "deep").mkdir(parents=True)
    (project / "linked").symlink_to(elsewhere)
    for name in (ours, f"deep/{ours}", f"{PREFIX}notes", f"{ours}.txt", ".env"):
        (project / name).write_text("left")
    assert without_leftovers(project, (*hidden_in(project), f"linked/{ours}", f"../elsewhere/{ours}")) == (".env",)
    left = sorted(str(path.relative_to(project)) for path in project.rglob("*"))
    assert left == [f"{ours}.txt", f"{PREFIX}notes", ".env", "deep", "linked"]
    assert (elsewhere / ours).read_text() == "behind a link"
