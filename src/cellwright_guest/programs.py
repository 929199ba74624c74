"""Programs beside the notebook: run where its cells run, with what they may see and use, and ended in time."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from cellwright_guest import wire

_POLL_INTERVAL_SECONDS: Final = 0.05
_DRAIN_TIMEOUT_SECONDS: Final = 0.5
_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")


def run_program(asked: wire.RunProgram) -> wire.ProgramEnded:
    """Run it to its end or deadline. It reads nothing, and whatever it started in its session ends with it."""
    try:
        process = subprocess.Popen(
            asked.command,
            cwd=asked.folder or None,
            # What a notebook's code may reach is not offered to programs by itself.
            env={name: value for name, value in os.environ.items() if name not in _PROXIES},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return wire.ProgramEnded(request=asked.request, error=f"{asked.command[0]!r} cannot be run: {reason}.")
    with _Watched(process, asked) as watched:
        return watched.until_the_end()


class _Watched:
    """One running program and what it has said."""

    _before: Callable[[int, FrameType | None], Any] | int | None

    def __init__(self, process: subprocess.Popen[bytes], asked: wire.RunProgram) -> None:
        self._process = process
        self._asked = asked
        self._deadline = time.monotonic() + asked.seconds
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self._is_interrupted = False
        self._selector = selectors.DefaultSelector()
        assert process.stdout is not None
        self._pipe = process.stdout.fileno()
        os.set_blocking(self._pipe, False)
        self._selector.register(self._pipe, selectors.EVENT_READ)

    def __enter__(self) -> _Watched:
        self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()
        self._process.wait()
        signal.signal(signal.SIGINT, self._before)
        self._selector.close()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def until_the_end(self) -> wire.ProgramEnded:
        is_open = True
        while self._process.poll() is None and time.monotonic() < self._deadline and not self._is_interrupted:
            if is_open:
                is_open = self._hear(_POLL_INTERVAL_SECONDS)
            else:
                time.sleep(_POLL_INTERVAL_SECONDS)
        exit_code = self._process.poll()
        self._kill()
        until = time.monotonic() + _DRAIN_TIMEOUT_SECONDS
        while is_open and time.monotonic() < until:
            is_open = self._hear(_POLL_INTERVAL_SECONDS)
        head, tail = self._head.decode("utf-8", "replace"), self._tail.decode("utf-8", "replace")
        left_out = self._total - len(self._head) - len(self._tail)
        return wire.ProgramEnded(
            request=self._asked.request,
            exit_code=exit_code,
            output=f"{head}\n… {left_out:,} bytes left out …\n{tail}" if left_out else head + tail,
            left_out=max(0, self._total - self._asked.output_bytes),
            is_late=exit_code is None and not self._is_interrupted,
        )

    def _hear(self, seconds: float) -> bool:
        """Take what it says within this time; False once it can say no more."""
        if not self._selector.select(seconds):
            return True
        try:
            said = os.read(self._pipe, 1 << 16)
        except BlockingIOError:
            return True
        self._total += len(said)
        half = self._asked.output_bytes // 2
        room = max(0, self._asked.output_bytes - half - len(self._head))
        self._head += said[:room]
        self._tail = (self._tail + said[room:])[-half:] if half else self._tail
        return bool(said)

    def _interrupt(self, _: int, __: FrameType | None) -> None:
        self._is_interrupted = True

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
