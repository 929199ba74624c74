"""What `make` would do: only what is needed is installed, and whatever changed is installed again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house.places import ROOT

RUN, WHOLE = "requirements/bootstrap.txt requirements/base.txt", "requirements/dev.txt"
SOURCES = (
    "pyproject.toml",
    "cells/pyproject.toml",
    "clients/python/pyproject.toml",
    *(f"requirements/{name}.txt" for name in ("bootstrap", "base", "dev", "page")),
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout as make sees it: every source from the first second, and nothing made from it."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in SOURCES:
        _made(tmp_path / name, 1)
    for name in ("web/package.json", "tests/house/test_make.py"):
        _made(tmp_path / name, 1)
    return tmp_path


def installs(checkout: Path, verb: str) -> list[str]:
    """The files of requirements that the verb would bring .venv to."""
    command = ["make", "--dry-run", verb, "PYTHON=python3"]
    done = subprocess.run(command, cwd=checkout, check=True, capture_output=True, text=True)
    return re.findall(r"--require-hashes (requirements/\S+(?: requirements/\S+)*)$", done.stdout, re.MULTILINE)


def test_running_installs_what_runs_and_testing_the_rest(checkout: Path) -> None:
    assert {verb: installs(checkout, verb) for verb in ("run", "check", "test", "setup", "page")} == {
        "run": [RUN],
        "check": [WHOLE],
        "test": [WHOLE],
        "setup": [WHOLE],
        "page": [RUN],
    }


def test_what_was_installed_is_not_installed_again(checkout: Path) -> None:
    _made(checkout / ".venv/.runnable", 2)
    assert (installs(checkout, "run"), installs(checkout, "test")) == ([], [WHOLE])
    _made(checkout / ".venv/.ready", 3)
    assert (installs(checkout, "run"), installs(checkout, "test")) == ([], [])


@pytest.mark.parametrize("changed", SOURCES[:5])
def test_what_changed_is_installed_again_and_the_tools_of_tests_stay(checkout: Path, changed: str) -> None:
    _made(checkout / ".venv/.runnable", 2)
    _made(checkout / changed, 3)
    assert installs(checkout, "run") == [RUN]
    _made(checkout / ".venv/.ready", 2)
    assert (installs(checkout, "run"), installs(checkout, "test")) == ([WHOLE], [WHOLE])


def _made(path: Path, second: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (second, second))
