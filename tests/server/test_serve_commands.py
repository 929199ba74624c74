"""The daemon through its door, with everything it really opens: started, looked at, stopped."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from dirty_equals import IsPositiveInt, IsStr
from inline_snapshot import snapshot

from cellwright.background import running_pid
from cellwright.models.config.keys import key_variables
from cellwright.server import connect
from cellwright.server.daemon.launch import daemon_at
from tests.cli.in_process import Said, run_here
from tests.server.daemon_testbed import SECONDS, DaemonTestbed, eventually

CELLWRIGHT = Path(sys.executable).with_name("cellwright")
SECRET = "hunter2-q7Xm2f9Kd4Lw8Rz1"


class Home:
    """A state directory and the commands in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.resident = daemon_at(folder)

    def run(self, *words: str, code: int = 0) -> Said:
        # The page is not what is tried here, and `make test` does not build it.
        page = () if words and words[0] in {"status", "stop", "url", "tokens"} else ("--no-page",)
        return run_here(self.folder, "serve", *page, *words, code=code)

    def json(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json").stdout)


@pytest.fixture
def home(tmp_path: Path) -> Generator[Home]:
    opened = Home(tmp_path / "state")
    yield opened
    if (pid := running_pid(opened.resident)) is not None:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_daemon_in_the_background_is_started_once_looked_at_and_stopped(home: Home) -> None:
    assert home.json("status") == {"running": False}
    assert "No daemon runs" in home.run("status").stdout
    started = home.json("--detach", "--idle", "60")
    assert started == snapshot(
        {
            "running": True,
            "pid": IsPositiveInt(),
            "version": IsStr(),
            "since": IsStr(),
            "runs_at_work": 0,
            "connections": 1,
            "idle_seconds": 60.0,
            "web": IsStr(regex=r"http://127\.0\.0\.1:\d+"),
            "url": IsStr(regex=r"http://127\.0\.0\.1:\d+/#start=[\w-]{43}"),
            "folder": str(Path.cwd()),
        }
    )
    assert home.json("--detach")["pid"] == home.json("status")["pid"] == started["pid"]
    assert f"process {started['pid']}" in home.run("status").stdout
    address = home.run("url").stdout.strip()
    assert address.startswith(f"{started['web']}/#start=")
    # Where a daemon runs already, `serve` gives its address; a door that is open otherwise is left alone.
    assert len({home.run().stdout.strip(), address, started["url"]}) == 3
    assert "open already" in home.run("/", code=2).stderr
    assert started["web"] in home.run("status").stdout
    assert "--when-idle" in home.run("stop", "--when-idle", "--kill", code=2).stderr
    assert home.json("stop", "--when-idle") == {"was_running": True, "ended": True, "runs_at_work": 0}
    assert running_pid(home.resident) is None
    assert not list(home.folder.glob("*.sock"))
    assert "No daemon runs." in home.run("stop").stderr


def test_a_daemon_that_hangs_can_be_ended(testbed: DaemonTestbed) -> None:
    async def start() -> int:
        async with connect(testbed.settings, launch=testbed.launch()) as daemon:
            return (await daemon.status()).pid

    os.kill(anyio.run(start), signal.SIGSTOP)
    assert Home(testbed.home).json("stop", "--kill") == {"was_running": True, "ended": True, "runs_at_work": 0}


@pytest.mark.slow
def test_in_the_foreground_it_says_where_it_listens_stays_and_ends_with_ctrl_c(home: Home) -> None:
    held = key_variables(os.environ)
    kept = {name: value for name, value in os.environ.items() if name not in held}
    home.folder.mkdir(mode=0o700)
    process = subprocess.Popen(
        [CELLWRIGHT, "serve", str(home.folder), "--no-page", "--port", "0", "--json"],
        env=kept | {"CELLWRIGHT_HOME": str(home.folder), "DATABASE_PASSWORD": SECRET},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    said = json.loads(process.stdout.readline())
    assert said == {
        "pid": process.pid,
        "socket": str(home.folder / "daemon.sock"),
        "version": IsStr(),
        "url": IsStr(regex=rf"{said['origin']}/#start=[\w-]{{43}}"),
        "origin": IsStr(regex=r"http://127\.0\.0\.1:\d+"),
        "folder": str(home.folder),
    }
    assert httpx.get(f"{said['origin']}/api/v1/health", trust_env=False).json()["status"] == "ok"
    assert SECRET not in Path(f"/proc/{process.pid}/environ").read_text()
    standing = home.json("status")
    assert (standing["pid"], standing["idle_seconds"]) == (process.pid, None)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    # What a person sees is the address; what is logged goes where logs go.
    assert errors == ""
    assert " INFO cellwright.server" in (home.folder / "daemon.log").read_text()
    assert not (home.folder / "daemon.sock").exists()


def test_an_address_on_the_network_without_tls_is_refused_before_anything_starts(home: Home) -> None:
    said = " ".join(home.run("--host", "0.0.0.0", code=2).stderr.split())
    assert "for everyone to read" in said
    assert "--behind-proxy" in said
    assert "No daemon runs" in home.run("url", code=1).stderr
    for how in ((), ("--detach", "--idle", "1")):
        assert home.run("nowhere", *how, code=2).stderr.splitlines()[0] == "error: 'nowhere' is not a folder."


@pytest.mark.slow
def test_at_a_terminal_the_browser_is_opened_with_the_address(home: Home, tmp_path: Path) -> None:
    seen, opener = tmp_path / "seen.txt", tmp_path / "browser"
    opener.write_text(f'#!/bin/sh\nprintf %s "$1" > {seen}.new && mv {seen}.new {seen}\n')
    opener.chmod(0o700)
    held = key_variables(os.environ)
    kept = {name: value for name, value in os.environ.items() if name not in held}
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0), os.fdopen(theirs, "wb", buffering=0) as terminal:
        process = subprocess.Popen(
            [CELLWRIGHT, "serve", str(tmp_path), "--no-page", "--port", "0"],
            env=kept | {"CELLWRIGHT_HOME": str(home.folder), "BROWSER": f"{opener} %s"},
            stdin=subprocess.DEVNULL,
            stdout=terminal,
            stderr=subprocess.PIPE,
        )
        address = eventually(lambda: seen.read_text() if seen.exists() else "")
        origin, _, code = address.partition("/#start=")
        session = httpx.post(
            f"{origin}/api/v1/session", json={"one_time": code}, headers={"origin": origin}, trust_env=False
        )
        assert session.json()["scope"] == "admin"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=SECONDS)
    assert process.returncode == 0
