"""The front door: what it lists, what it loads, and what it leaves outside."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from cellwright.models.client.gateway_process import running_pid
from tests.cli.in_process import run_here

_LIST = """
import sys
from cellwright.cli.main import app
try:
    app(["--help"])
except SystemExit:
    pass
print(sorted({"pydantic_ai", "dbos", "marimo", "pandas", "anyio"} & set(sys.modules)))
"""
_KEY = "sk-a-key-that-nobody-has-4711"


def _run(home: Path, *words: str, key: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CELLWRIGHT_HOME": str(home), "OPENAI_API_KEY": key}
    command = [str(Path(sys.executable).with_name("cellwright")), *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)


def test_listing_the_commands_loads_none_of_them() -> None:
    said = subprocess.run([sys.executable, "-c", _LIST], capture_output=True, text=True, check=True).stdout
    assert "gateway" in said
    assert said.splitlines()[-1] == "[]"


def test_completion_is_offered_by_the_program_and_not_by_each_command(tmp_path: Path) -> None:
    assert "--install-completion" in run_here(tmp_path, "--help").stdout
    for command in ("research", "runs", "models"):
        said = run_here(tmp_path, command, "--help").stdout
        assert "--help" in said
        assert "--install-completion" not in said


def test_the_version_is_told(tmp_path: Path) -> None:
    assert run_here(tmp_path, "--version").stdout == f"cellwright {version('cellwright')}\n"


@pytest.mark.slow
def test_a_key_in_the_environment_goes_to_the_gateway_and_the_command_goes_on_without_it(tmp_path: Path) -> None:
    home = tmp_path / "state"
    try:
        said = _run(home, "models", "list", "--json", key=_KEY)
        assert running_pid(home) is not None
        assert '"openai"' in said.stdout
        assert _KEY not in said.stdout + said.stderr
        assert run_here(home, "models", "list", "--json").stdout == said.stdout
    finally:
        run_here(home, "gateway", "stop", "--json")
    assert running_pid(home) is None
