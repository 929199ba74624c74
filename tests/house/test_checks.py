"""Checkers are skipped only when nothing they read has changed, never in CI, and a failure is told whole."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.checks import CHECKERS, Checker, digest, listed, run, stamps_of
from tests.house.places import ROOT

SHELL = Path("/bin")


def checker(script: str, name: str = "sample") -> Checker:
    return Checker(name=name, command=("sh", "-c", script))


def test_a_checker_runs_again_only_after_a_change(tmp_path: Path) -> None:
    source = tmp_path / "source.py"
    source.write_text("x = 1\n")
    counts = checker("echo ran >> runs")

    def check(stamps: Path | None) -> int:
        assert run([counts], [source], stamps=stamps, cwd=tmp_path, tools=SHELL)
        return (tmp_path / "runs").read_text().count("ran")

    stamps = tmp_path / "stamps"
    assert [check(stamps), check(stamps)] == [1, 1]
    source.write_text("x = 2\n")
    assert [check(stamps), check(stamps)] == [2, 2]
    assert [check(None), check(None)] == [3, 4]


def test_a_failure_is_told_whole_remembered_by_nobody_and_hides_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = [checker("echo found this; echo and that >&2; exit 3", "first"), checker("exit 0", "second")]
    for _ in range(2):
        assert not run(both, [], stamps=tmp_path / "stamps", cwd=tmp_path, tools=SHELL)
        said = capsys.readouterr().out
        assert "first: FAILED" in said and "found this\nand that\n" in said
        assert "second: " in said
    assert not run(both[::-1], [], stamps=None, cwd=tmp_path, tools=SHELL)


def test_continuous_integration_remembers_nothing() -> None:
    assert stamps_of({}, []) is not None
    assert stamps_of({"CI": "true"}, []) is None
    assert stamps_of({}, ["--cold"]) is None


def test_sources_settings_pins_and_the_interpreter_count(tmp_path: Path) -> None:
    files = {path.relative_to(ROOT).as_posix() for path in listed(ROOT) or []}
    assert files >= {"pyproject.toml", "requirements/dev.txt", "src/cellwright/errors.py", "tests/checks.py"}
    (tmp_path / "a.py").touch()
    found = {
        digest([tmp_path / "a.py"], ["x"]),
        digest([tmp_path / "b.py"], ["x"]),
        digest([], ["x"]),
        digest([], ["x", "--strict"]),
        digest([], ["x"], python="another"),
    }
    assert len(found) == 5
    assert [each.name for each in CHECKERS] == ["lint", "format", "floors", "types"]


@pytest.mark.parametrize(("tests", "checks"), [(0, 0), (5, 0), (1, 0), (0, 1), (3, 1)])
def test_whichever_fails_make_fails_and_both_are_told(tmp_path: Path, tests: int, checks: int) -> None:
    for name, says, code in (("pytest", "tests ran", tests), ("python", "checks ran", checks)):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho {says}\nexit {code}\n")
        program.chmod(0o700)
    ready = tmp_path / "ready"
    ready.touch()
    # Programs of ours in place of pytest and the checkers; for pytest, 5 means that no test was chosen.
    command = ["make", "check", f"BIN={tmp_path}", f"READY={ready}"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert bool(ran.returncode) == (tests in (1, 3) or bool(checks))
    assert sorted(ran.stdout.splitlines()) == ["checks ran", "house", "tests ran"]
