"""Runs a hostile program without a cage, so that every probe is known to be live: bounded, and swept up after.

It runs as the user the cage would use, in the setting its attack needs to be possible at all: most as a plain
user; some as root of throw-away namespaces, in a chroot, at a terminal, or (only harmless ones) as root.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from typing import IO, TYPE_CHECKING

from .sighting import Sighting, processes_named, survivors, sweep, watch
from .victim import HERE, NaiveHost, Stage

if TYPE_CHECKING:
    from .catalogue import Attack
    from .sighting import Ending

KEPT_BYTES = 16 << 10
PATIENCE_SECONDS = 20
ENDLESS_SECONDS = 0.5


class _Console:
    """Reads all of a stream, keeps its end."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.total, self.end = 0, b""
        self.ready = threading.Event()
        self._stream = stream
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while data := os.read(self._stream.fileno(), 1 << 16):
            self.total += len(data)
            self.end = (self.end + data)[-KEPT_BYTES:]
            if b'"ready"' in self.end:
                self.ready.set()

    def join(self) -> None:
        """Until everyone who could still write is done: a program that killed its parent still talks."""
        self._thread.join(timeout=3)

    def close(self) -> str:
        self.join()
        self._stream.close()
        return self.end.decode("utf-8", "replace")


def run_uncaged(attack: Attack, stage: Stage) -> Sighting:
    """What the attack does to a host that does not defend itself."""
    host = NaiveHost(stage.uid) if attack.module == "host_socket" else None
    process = _start(attack, stage, host)
    assert process.stdout is not None
    console = _Console(process.stdout)
    try:
        with watch(stage.mark, processes=attack.kind == "resource", memory=attack.takes_memory) as peak:
            ended = _wait(attack, process, console, stage.mark)
            if ended != "outlived":
                console.join()
            left = _kill(process, stage.mark)
    finally:
        sweep(stage.mark)
        process.wait(timeout=10)
    return Sighting(
        ended=ended,
        console=console.close(),
        console_bytes=console.total,
        survivors=left,
        peak_processes=peak.processes,
        peak_memory_mb=peak.memory_mb,
        host_fell=host.fell() if host else "",
        traces=stage.traces(),
        project_mb=stage.project_mb(),
    )


def _start(attack: Attack, stage: Stage, host: NaiveHost | None) -> subprocess.Popen[bytes]:
    orders = {
        "uid": stage.uid,
        "setting": attack.control,
        "inherited": [stage.targets["home"], stage.targets["home_secret"]],
        "masked": stage.targets["masked"],
        "read_only": stage.targets["read_only"],
        "jail": str(stage.base / "jail"),
    }
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", HERE / "launcher.py", json.dumps(orders)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={"HOSTILE_SUITE_TOKEN": stage.secret, "PATH": "/usr/bin:/bin"},
        cwd=stage.base,
        start_new_session=True,
        pass_fds=[host.guest_end.fileno()] if host else [],
    )
    assert process.stdin is not None
    with process.stdin as source:
        source.write(attack.source(stage.targets).encode())
    return process


def _wait(attack: Attack, process: subprocess.Popen[bytes], console: _Console, mark: str) -> Ending:
    """Until it ends, or, for those that mean to go on, until waiting and asking have not helped."""
    if attack.goes_on:
        console.ready.wait(timeout=10)
    if attack.goes_on == "although asked":
        for request in (signal.SIGINT, signal.SIGTERM):
            for pid in processes_named(mark):
                os.kill(pid, request)
    if not _ends_within(process, ENDLESS_SECONDS if attack.goes_on else PATIENCE_SECONDS):
        return "outlived"
    process.wait()
    return "finished" if 0 <= process.returncode < 128 else "died"


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Waits on a pidfd, which unlike `Popen.wait` with a timeout does not poll."""
    pidfd = os.pidfd_open(process.pid)
    try:
        return bool(select.select([pidfd], [], [], seconds)[0])
    finally:
        os.close(pidfd)


def _kill(process: subprocess.Popen[bytes], mark: str) -> int:
    """What a host without a cage can do: end the process group. Says how many processes that left."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return survivors(mark)
