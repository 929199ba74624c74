"""Real processes for tests: forked from a warm one, waited for with a deadline, killed at the end."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).parents[2]
T = TypeVar("T")


def eventually(look: Callable[[], T], *, seconds: float = 120) -> T:
    """The first true answer; fails after a while."""
    deadline = time.monotonic() + seconds
    while not (answer := look()):
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)
    return answer


class Warm:
    """Starts programs of `tests.journal` in forks of a process that has imported everything."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in = process.stdin
        self._out = process.stdout
        os.set_blocking(self._out.fileno(), False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._out, selectors.EVENT_READ)
        self._pending = b""
        self._pids: list[int] = []
        self._codes: dict[int, int] = {}

    def start(self, program: str, *arguments: str) -> int:
        """The pid of `tests.journal.<program>.start(arguments)`."""
        known = len(self._pids)
        request = {"module": f"tests.journal.{program}", "arguments": arguments}
        self._in.write(json.dumps(request).encode() + b"\n")
        self._in.flush()
        self._read_until(lambda: len(self._pids) > known, seconds=120)
        return self._pids[-1]

    def wait(self, pid: int, *, seconds: float = 60) -> int:
        """How it ended: 0, 1, or -9."""
        self._read_until(lambda: pid in self._codes, seconds=seconds)
        return self._codes[pid]

    def run(self, program: str, *arguments: str, seconds: float = 60) -> int:
        """Start it and wait."""
        return self.wait(self.start(program, *arguments), seconds=seconds)

    def kill(self, pid: int) -> None:
        """With -9, and waited for."""
        os.kill(pid, signal.SIGKILL)
        self.wait(pid)

    def end(self) -> None:
        """Leave nothing running."""
        for pid in self._pids:
            if pid not in self._codes:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _read_until(self, is_known: Callable[[], bool], *, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not is_known():
            left = deadline - time.monotonic()
            assert left > 0, "the process did not answer in time"
            if self._selector.select(left):
                *told, self._pending = (self._pending + (self._out.read() or b"")).split(b"\n")
                for line in told:
                    self._hear(json.loads(line))

    def _hear(self, told: dict[str, Any]) -> None:
        if "code" in told:
            self._codes[told["pid"]] = told["code"]
        else:
            self._pids.append(told["pid"])


@contextmanager
def warm_process() -> Generator[Warm]:
    command: Sequence[str] = [sys.executable, "-W", "error", "-m", "tests.journal.warm"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    warm = Warm(process)
    try:
        yield warm
    finally:
        warm.end()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.wait(30)
        process.stdout.close()
