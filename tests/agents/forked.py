"""Workers for tests that kill, forked from a process that has imported what they need: no test pays that again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.journal import warm

ROOT = Path(__file__).parents[2]
PROGRAM = "tests.agents.killed_worker"


class Forker:
    """Starts workers that are one module's `start`, each a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes], module: str, codes: dict[int, int], pids: list[int]) -> None:
        self._process = process
        self._module = module
        self._codes = codes
        self._pids = pids

    def of(self, module: str) -> Forker:
        """Workers that are another module's `start`, from the same process."""
        return Forker(self._process, module, self._codes, self._pids)

    def start(self, *arguments: str) -> int:
        """The pid of a worker with these arguments."""
        known = len(self._pids)
        # Imported before the fork, once.
        self._ask(module=self._module)
        self._ask(module=self._module, arguments=arguments)
        while len(self._pids) == known:
            self._hear()
        return self._pids[-1]

    def run(self, *arguments: str) -> int:
        """Start one, and how it ended: 0, 1, or -9."""
        return self.wait(self.start(*arguments))

    def wait(self, pid: int) -> int:
        """How it ended."""
        while pid not in self._codes:
            self._hear()
        return self._codes[pid]

    def kill(self, pid: int) -> None:
        """With -9, and waited for."""
        os.kill(pid, signal.SIGKILL)
        assert self.wait(pid) == -9

    def end(self) -> None:
        """Leave nothing running."""
        for pid in self._pids:
            if pid not in self._codes:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _ask(self, **request: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()

    def _hear(self) -> None:
        assert self._process.stdout is not None
        told = json.loads(self._process.stdout.readline())
        if "code" in told:
            self._codes[told["pid"]] = told["code"]
        else:
            self._pids.append(told["pid"])


@contextmanager
def forking() -> Generator[Forker]:
    """Workers that are agents at work; `of` makes others."""
    command = [sys.executable, "-W", "error", "-m", "tests.agents.forked"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    forker = Forker(process, PROGRAM, {}, [])
    try:
        yield forker
    finally:
        forker.end()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.wait(30)
        process.stdout.close()


if __name__ == "__main__":
    warm.main()
