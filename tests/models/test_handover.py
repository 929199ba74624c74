"""A door started with a key hands it over and goes on without it, losing nothing of its command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from cellwright.models.client.gateway_client import Models
from cellwright.models.client.gateway_process import MARKER, connect_or_start, hand_over_keys
from tests.models.testbed import ROOT, ModelTestbed, a_call

KEY = "sk-handover-0123456789abcdef"
CLIENT = ROOT / "tests/models/key_client.py"


def run_door(testbed: ModelTestbed, *arguments: str, command: tuple[str, ...], **variables: str) -> Any:
    """What a door sees of itself after it handed over its keys."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(CLIENT), str(testbed.home), json.dumps(command), *arguments],
        env={**environment, **variables},
        cwd=testbed.home,
        input="what was piped in",
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 7, ran.stderr
    return {**json.loads(ran.stdout), "stderr": ran.stderr}


async def test_a_client_hands_its_keys_to_the_gateway_and_begins_again_without_them(testbed: ModelTestbed) -> None:
    seen = run_door(
        testbed,
        "two words",
        "--flag",
        command=testbed.warm.command("gateway"),
        CELLWRIGHT_KEY_NEAR=KEY,
        OPENAI_API_KEY=KEY,
        OTHER="kept",
    )
    assert seen["arguments"] == ["two words", "--flag"]
    assert seen["stdin"] == "what was piped in"
    assert seen["folder"] == str(testbed.home)
    assert seen["environment"]["OTHER"] == "kept"
    assert KEY not in json.dumps(seen)
    assert KEY not in seen["environ"]
    assert seen["stderr"] == ""
    assert seen["starts"] == 2
    async with Models.open(testbed.home, launch=testbed.launch()) as models:
        sources = {state.name: state.key_from for state in (await models.providers()).providers}
        assert (sources["near"], sources["openai"]) == ("environment", "environment")
        await models.ask(a_call("hello", id="run/1"))
    (request,) = testbed.provider.requests
    assert KEY in str(request.headers)


def test_keys_go_to_a_gateway_that_runs_already(testbed: ModelTestbed) -> None:
    with connect_or_start(testbed.launch()):
        seen = run_door(testbed, command=("/bin/false",), OPENAI_API_KEY=KEY)
    assert seen["stderr"] == ""
    assert "OPENAI_API_KEY" not in seen["environment"]


def test_a_client_without_keys_goes_on_as_it_is(testbed: ModelTestbed) -> None:
    seen = run_door(testbed, command=("/bin/false",))
    assert seen["starts"] == 1
    assert seen["stderr"] == ""


def test_a_client_whose_gateway_cannot_start_goes_on_without_its_keys_and_says_so_once(testbed: ModelTestbed) -> None:
    seen = run_door(testbed, "word", command=("/bin/false",), OPENAI_API_KEY=KEY)
    assert seen["arguments"] == ["word"]
    assert seen["stdin"] == "what was piped in"
    assert KEY not in json.dumps(seen)
    assert seen["stderr"].count("OPENAI_API_KEY") == 1


def test_a_client_that_finds_keys_again_does_not_begin_again_for_ever(tmp_path: Path) -> None:
    environment = {"OPENAI_API_KEY": KEY, "PATH": "/bin", MARKER: str(os.getpid())}
    told: list[str] = []
    clean = hand_over_keys(environment, tmp_path, sys.orig_argv, warn=told.append)
    assert clean == {"PATH": "/bin", MARKER: str(os.getpid())}
    assert told == []


def test_an_empty_key_is_no_key(testbed: ModelTestbed) -> None:
    seen = run_door(testbed, command=("/bin/false",), OPENAI_API_KEY="")
    assert seen["stderr"] == ""
    assert "OPENAI_API_KEY" not in seen["environment"]
