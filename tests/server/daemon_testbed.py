"""A state directory with daemons that are real processes, warm ones to save time."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import anyio

from cellwright.background import BackgroundProcess, running_pid
from cellwright.journal.chain import read_key
from cellwright.journal.records import Records
from cellwright.runs.events import EVENT_TYPES
from cellwright.runs.goal.goal import Goal
from cellwright.server import DaemonLaunch
from cellwright.server.daemon.launch import daemon_at
from cellwright.settings import Settings
from tests.server.warm import Warm

SECONDS = 240
T = TypeVar("T")


def a_goal(words: str = "why did revenue fall?") -> Goal:
    return Goal(words=words, notebook="/project/notebook.py", project="/project", person="ada")


def eventually(look: Callable[[], T]) -> T:
    """The first true answer; fails after a while."""
    deadline = time.monotonic() + SECONDS
    while not (answer := look()):
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)
    return answer


def all_said(connection: socket.socket) -> bytes:
    """Everything until the other side is gone; it may leave without having read what was sent."""
    said = b""
    with suppress(ConnectionResetError):
        while data := connection.recv(4096):
            said += data
    return said


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonTestbed:
    """A state directory, and how its daemon is started."""

    home: Path
    folder: Path
    """Where the tiny run leaves its traces."""
    warm: Warm

    @classmethod
    @contextmanager
    def open(cls, folder: Path, template: Path, warm: Warm) -> Generator[Self]:
        home = folder / "home"
        home.mkdir(mode=0o700)
        read_key(home / "journal.key")
        shutil.copyfile(template, home / "journal.db")
        testbed = cls(home=home, folder=folder, warm=warm)
        try:
            yield testbed
        finally:
            testbed.let_go()
            testbed.kill()

    @property
    def settings(self) -> Settings:
        return Settings(home=self.home, cache=self.folder / "cache", environment={"PATH": os.defpath})

    @property
    def resident(self) -> BackgroundProcess:
        return daemon_at(self.home)

    @property
    def pid(self) -> int | None:
        return running_pid(self.resident)

    @property
    def log(self) -> str:
        return self.resident.file("log").read_text()

    def launch(self, version: str = "1.0", journal_version: str = "1", **more: Any) -> DaemonLaunch:
        command = self.warm.command(str(self.folder), version, journal_version)
        return DaemonLaunch(command=command, version=version, **more)

    # ── the tiny run ──

    def hold(self) -> None:
        """From now on the second step lasts."""
        (self.folder / "hold").touch()

    def let_go(self) -> None:
        (self.folder / "hold").unlink(missing_ok=True)

    def is_begun(self, run: str, step: str) -> bool:
        return any(line.startswith(f"{run} {step} ") for line in lines(self.folder / "begun.txt"))

    def worked(self, run: str) -> list[str]:
        """The steps of the run that were done, in order."""
        return [step for name, step in map(str.split, lines(self.folder / "work.txt")) if name == run]

    @asynccontextmanager
    async def records(self) -> AsyncGenerator[Records]:
        """As any other process sees the journal."""
        async with Records.open(self.home / "journal.db", types=EVENT_TYPES) as records:
            yield records

    async def until(self, run: str, standing: str) -> None:
        """Until the run stands like this."""
        async with self.records() as records:
            with anyio.fail_after(SECONDS):
                while (await records.status(run)).standing != standing:  # noqa: ASYNC110 (another process works)
                    await anyio.sleep(0.01)

    # ── the daemon ──

    def kill(self) -> None:
        """With -9, and gone when this returns."""
        if (pid := self.pid) is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            self.until_ended()

    def until_ended(self) -> None:
        eventually(lambda: self.pid is None)
