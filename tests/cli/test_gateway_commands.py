"""The gateway through its door: started, looked at, stopped; Ctrl-C and a gateway that hangs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import IsPositiveInt, IsStr
from inline_snapshot import snapshot

from cellwright.models.client.gateway_process import running_pid
from cellwright.models.config.keys import key_variables
from tests.cli.in_process import Said, run_here

CELLWRIGHT = Path(sys.executable).with_name("cellwright")
SECONDS = 240


class Home:
    """A state directory and the commands in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        held = key_variables(os.environ)
        kept = {name: value for name, value in os.environ.items() if name not in held}
        self.environment = kept | {"CELLWRIGHT_HOME": str(folder), "NO_COLOR": "1"}

    def run(self, *words: str, code: int = 0) -> Said:
        return run_here(self.folder, "gateway", *words, code=code)

    def json(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json").stdout)


@pytest.fixture
def home(tmp_path: Path) -> Generator[Home]:
    opened = Home(tmp_path / "state")
    yield opened
    if (pid := running_pid(opened.folder)) is not None:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_gateway_is_started_once_looked_at_and_stopped(home: Home) -> None:
    assert home.json("status") == {"running": False}
    started = home.json("start", "--idle", "60")
    assert started == snapshot(
        {
            "running": True,
            "pid": IsPositiveInt(),
            "version": IsStr(),
            "started_at": IsStr(),
            "calls_in_flight": 0,
            "connections": 1,
            "idle_seconds": 60.0,
            "endpoint": {"base_url": IsStr(regex=r"http://127\.0\.0\.1:\d+/v1")},
        }
    )
    assert home.json("start")["pid"] == home.json("status")["pid"] == started["pid"]
    assert f"process {started['pid']}" in home.run("status").stdout
    assert home.json("stop") == {"was_running": True, "ended": True, "calls_in_flight": 0}
    assert running_pid(home.folder) is None
    assert "No gateway runs." in home.run("stop").stderr
    assert "No gateway runs" in home.run("status").stdout


@pytest.mark.slow
def test_ctrl_c_leaves_a_gateway_that_was_to_stay_and_it_ends_when_idle(home: Home) -> None:
    process = subprocess.Popen(
        [CELLWRIGHT, "gateway", "start", "--stay", "--idle", "1"],
        env=home.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert "It stays until Ctrl-C." in process.stderr.readline()
    assert running_pid(home.folder) is not None
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert "Traceback" not in said


def test_an_idle_time_that_makes_no_sense_is_refused(home: Home) -> None:
    assert "--idle" in home.run("start", "--idle", "0", code=2).stderr
    assert running_pid(home.folder) is None


@pytest.mark.slow
def test_a_gateway_that_hangs_can_be_stopped(home: Home) -> None:
    pid = home.json("start")["pid"]
    os.kill(pid, signal.SIGSTOP)
    assert home.json("stop", "--now") == {"was_running": True, "ended": True, "calls_in_flight": 0}
    assert running_pid(home.folder) is None
