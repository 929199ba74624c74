"""A terminal for tests: a program on a pseudo-terminal, what it shows, and a person who types."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

SECONDS = 90
_TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""In a session of its own the terminal becomes its terminal: then Ctrl-C reaches it as a signal."""


class Terminal:
    """A program that believes a person sits in front of it."""

    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self._process = process
        self._master = master
        self.shown = ""
        self._read_to = 0

    def wait_for(self, words: str) -> None:
        """Read until the words stand on the terminal, behind those that were waited for before."""
        deadline = time.monotonic() + SECONDS
        while (found := self.shown.find(words, self._read_to)) < 0:
            assert time.monotonic() < deadline, f"{words!r} never came:\n{self.shown}"
            assert self._read(), f"It ended without {words!r}:\n{self.shown}"
        self._read_to = found + len(words)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def interrupt(self) -> None:
        """Ctrl-C, as the terminal sends it."""
        self.type("\x03")

    def end(self) -> int:
        """Wait for its end; its exit code."""
        deadline = time.monotonic() + SECONDS
        while self._read():
            assert time.monotonic() < deadline, f"It never ended:\n{self.shown}"
        return self._process.wait(SECONDS)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], 1)
        if not ready:
            return True
        try:
            data = os.read(self._master, 65536)
        except OSError:
            return False
        self.shown += data.decode("utf-8", "replace")
        return bool(data)


@contextmanager
def on_terminal(command: Sequence[str | Path], *, environment: Mapping[str, str], folder: Path) -> Generator[Terminal]:
    """The program with a terminal of its own as its standard input, output and error."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", _TAKE_TERMINAL, *map(str, command)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=folder,
        env={**environment, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"},
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Terminal(process, master)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(SECONDS)
        os.close(master)
