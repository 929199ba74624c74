"""A small real model is given a goal and does badly: the run ends all the same, with a status and one sentence why."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from cellwright.models.client.gateway_process import running_pid
from cellwright.models.config.keys import key_variables
from tests.models.test_local_model import with_a_model
from tests.models.testbed import ROOT

pytestmark = pytest.mark.slow

CELLWRIGHT = Path(sys.executable).with_name("cellwright")
SECONDS = 2400
"""It reads some 25 tokens a second on one core that is not its own."""
CONTEXT = 8192
MOST_TOKENS = 120
"""Of one answer. It repeats itself rather than stop."""
STEPS = 2
MOST_REQUESTS = 2 * STEPS + 4
"""The agent's, each asked once more if it cannot be read, and those that find out what the model can do."""
CONFIGURATION = """
[tiers]
smart = ["local:smollm2"]
fast = ["local:smollm2"]
code = ["local:smollm2"]
[endpoints.local]
kind = "openai-chat"
base_url = "{address}/v1"
key = "none"
models = ["smollm2"]
[models."local:smollm2"]
{abilities}
"""
CODER = f"""\
---
name: coder
description: Writes cells, and has little time.
tools: [apply, finish]
tier: code
steps: {STEPS}
---
Answer with one cell, then call finish.
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """Where the model listens."""
    python = with_a_model(tmp_path_factory.mktemp("local-model") / "environment")
    command = [python, Path(__file__).with_name("local_model_server.py"), str(CONTEXT), str(MOST_TOKENS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as model:
        assert model.stdin is not None
        assert model.stdout is not None
        try:
            yield model.stdout.readline().strip()
        finally:
            model.stdin.close()
            model.kill()


@pytest.fixture
def home(tmp_path: Path) -> Generator[Path]:
    """A state directory; the gateway that was started for it is gone at the end."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    yield folder
    if (pid := running_pid(folder)) is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a coder of its own, who has few steps."""
    role = tmp_path / "project/.cellwright/roles/coder.md"
    role.parent.mkdir(parents=True)
    role.write_text(CODER)
    return tmp_path / "project"


def cellwright(home: Path, project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    held = key_variables(os.environ)
    kept = {name: value for name, value in os.environ.items() if name not in held}
    environment = kept | {"CELLWRIGHT_HOME": str(home), "NO_COLOR": "1"}
    command = [CELLWRIGHT, *words]
    return subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def told(ran: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The last line of JSON."""
    assert ran.stdout, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("abilities", "requests"),
    [
        ("tools = true\nschema = true", range(1, MOST_REQUESTS + 1)),
        ("tools = false\nschema = true", range(1, MOST_REQUESTS + 1)),
        # Nobody could make an agent of it, so it is not even asked.
        ("tools = false\nschema = false", range(1)),
    ],
    ids=["tools", "held-to-json", "neither"],
)
def test_a_model_too_small_for_its_goal_ends_the_run_with_a_status_and_says_why(
    home: Path, project: Path, address: str, abilities: str, requests: range
) -> None:
    (home / "models.toml").write_text(CONFIGURATION.format(address=address, abilities=abilities))
    shown = told(cellwright(home, project, "project", "show", "--json"))
    assert cellwright(home, project, "project", "trust", "--fingerprint", shown["fingerprint"]).returncode == 0
    data = str(ROOT / "examples/data/penguins.csv")
    words = ("How many penguins are there?", "--data", data, "--approve", "never", "--model", "local:smollm2")
    try:
        ran = cellwright(home, project, "run", *words, "--json")
        usage = told(cellwright(home, project, "models", "usage", "--json"))
    finally:
        cellwright(home, project, "serve", "stop", "--kill")
    delivery = told(ran)
    assert delivery["kind"] == "delivery", ran.stderr
    assert delivery["status"] in {"done", "partial", "failed"}
    assert delivery["summary"] if delivery["status"] == "done" else delivery["why"], delivery
    assert ran.returncode == (0 if delivery["status"] == "done" else 1)
    assert "Traceback" not in ran.stdout + ran.stderr
    assert sum(row["calls"] for row in usage["rows"]) in requests, usage
