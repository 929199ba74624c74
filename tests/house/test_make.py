"""What `make` would do: only what is needed is installed, and whatever changed is installed again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from dirty_equals import IsPartialDict

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


# Stands for the interpreter of .venv: it writes down with which settings pip and npm would be called, and runs the
# rest without any package, as it is before the first one is installed.
INTERPRETER = """#!/bin/sh
case "$1 $2" in
    "-m pip") env > pip.env; printf '#!/bin/sh\\n' > .venv/bin/uv; chmod +x .venv/bin/uv;;
    "hatch_build.py ci") env > npm.env; mkdir -p src/cellwright/server/http/static;;
    "hatch_build.py run") ;;
    *) exec {python} -S "$@";;
esac
"""


def test_what_sets_up_uses_the_index_proxy_and_certificates_in_force_from_its_first_step_on(checkout: Path) -> None:
    python, state = checkout / ".venv/bin/python", checkout / "state"
    python.parent.mkdir(parents=True)
    python.write_text(INTERPRETER.format(python=sys.executable))
    python.chmod(0o755)
    (checkout / "src").mkdir()
    shutil.copytree(ROOT / "src/cellwright", checkout / "src/cellwright", ignore=shutil.ignore_patterns("static"))
    state.mkdir()
    (state / "network.toml").write_text(
        'index = "corp=https://ada:word@index.corp/simple"\ncertificates = "/corp.pem"\nno_proxy = ".corp"\n'
    )
    variables = {"PATH": os.environ["PATH"], "HOME": str(state), "CELLWRIGHT_HOME": str(state), "UV_NO_CONFIG": "1"}
    variables |= {"HTTPS_PROXY": "http://proxy:3128", "PIP_CONFIG_FILE": "/dev/null"}
    command = ["make", "page", "PYTHON=python3"]
    subprocess.run(command, cwd=checkout, check=True, capture_output=True, text=True, env=variables)
    proxies = {"HTTPS_PROXY": "http://proxy:3128", "https_proxy": "http://proxy:3128", "no_proxy": ".corp"}
    assert _written(checkout / "pip.env") == IsPartialDict(
        {"PIP_INDEX_URL": "https://ada:word@index.corp/simple", "PIP_CERT": "/corp.pem", "PIP_PROXY": "", **proxies}
    )
    assert _written(checkout / "npm.env") == IsPartialDict({"SSL_CERT_FILE": "/corp.pem", **proxies})


def _written(environment: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in environment.read_text().splitlines() if "=" in line)


def _made(path: Path, second: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (second, second))
