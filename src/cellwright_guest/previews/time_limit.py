"""A time limit on code that is not ours, without threads.

One `ITIMER_REAL` ticks for a whole batch; its handler compares the clock with the deadline of the value that is
being looked at, so a value costs two attribute writes and no system call. A late value gets `TimeUp`, a
`BaseException`. Code that swallows it gets it again, and from the second time on so fast that it lands inside the
`except` clause too, until `_ATTEMPTS` are used up.

What this cannot end for certain: code that swallows it on two levels, a loop inside C that never asks for signals
(`sum(range(10**12))`), and code that takes SIGALRM for itself. The host's deadline and its kill handle are for those.
"""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Callable
from time import monotonic, thread_time
from types import FrameType, TracebackType
from typing import Any, Final, Literal, TypeVar

_TICK_SECONDS: Final = 0.02
_FLOOD_SECONDS: Final = 0.000_02
_ATTEMPTS: Final = 20_000
WAITING_TIMES: Final = 3
"""So much longer may a value take by the clock than by its own work: on a busy machine it waits for others."""
NEVER: Final = float("inf")

T = TypeVar("T")


class TimeUp(BaseException):
    """The value being looked at took longer than it may."""


class Discard(io.TextIOBase):
    """A text stream that keeps nothing."""

    encoding = "utf-8"
    errors = "replace"

    def write(self, text: str) -> int:
        """Forget `text`."""
        return len(text)


class TimeLimit:
    """While entered: each `start`ed value may work for `each_seconds`, all may take `seconds`; prints are discarded.

    A value is done when `deadline` is set to `NEVER`. In an `except` clause that must be the first statement, and
    must not be a call: Python looks for signals when it calls, so a call could be met by one more `TimeUp`.

    Whatever handler and timer the person's code had on SIGALRM are put back, with the time it had left.
    Off the main thread, where signals cannot be handled, there is no limit.
    """

    def __init__(self, *, seconds: float, each_seconds: float) -> None:
        self._seconds = seconds
        self._each_seconds = each_seconds
        self.deadline = NEVER
        self._worked = 0.0
        self._attempts = 0
        self._floods = False
        self._is_armed = False
        self._entered_at = 0.0
        self._mask: set[int] = set()
        self._old_handler: Callable[[int, FrameType | None], Any] | int | None = None
        self._old_timer = (0.0, 0.0)
        self._streams: tuple[object, object] = (None, None)

    def __enter__(self) -> TimeLimit:
        self._entered_at = monotonic()
        self._streams = (sys.stdout, sys.stderr)
        sys.stdout = sys.stderr = Discard()  # print() asks for no more
        try:
            self._old_handler = signal.signal(signal.SIGALRM, self._on_tick)
        except ValueError:
            return self
        self._is_armed = True
        self._mask = set(signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM}))
        self._old_timer = signal.setitimer(signal.ITIMER_REAL, _TICK_SECONDS, _TICK_SECONDS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> Literal[False]:
        self.deadline = NEVER
        if self._is_armed:
            self._disarm()
        sys.stdout, sys.stderr = self._streams
        return False

    def start(self) -> bool:
        """Begin one value; False when the batch has no time left for it."""
        now = monotonic()
        end = self._entered_at + self._seconds
        if now >= end:
            return False
        self._attempts = 0
        self._worked = thread_time() + self._each_seconds
        self.deadline = min(now + self._each_seconds * WAITING_TIMES, end)
        return True

    def _disarm(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        handler = self._old_handler
        # None: a handler that C installed, which Python can neither see nor put back.
        signal.signal(signal.SIGALRM, signal.SIG_IGN if handler is None else handler)
        if signal.SIGALRM in self._mask:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        left, interval = self._old_timer
        if left > 0:
            passed = monotonic() - self._entered_at
            signal.setitimer(signal.ITIMER_REAL, max(left - passed, 1e-6), interval)

    def _on_tick(self, number: int, frame: FrameType | None) -> None:
        is_late = self.deadline != NEVER and (thread_time() >= self._worked or monotonic() >= self.deadline)
        if not is_late or self._attempts > _ATTEMPTS:
            if self._floods:
                self._floods = False
                signal.setitimer(signal.ITIMER_REAL, _TICK_SECONDS, _TICK_SECONDS)
            return
        self._attempts += 1
        if self._attempts > 1 and not self._floods:
            self._floods = True
            signal.setitimer(signal.ITIMER_REAL, _FLOOD_SECONDS, _FLOOD_SECONDS)
        raise TimeUp


def within(seconds: float, action: Callable[[], T], otherwise: Callable[[BaseException], T]) -> T:
    """What `action` gives, or `otherwise` of what it raised: `TimeUp` when it took longer than `seconds`."""
    with TimeLimit(seconds=seconds, each_seconds=seconds) as limit:
        try:
            limit.start()
            result = action()
            limit.deadline = NEVER
        except BaseException as error:  # noqa: BLE001  # it runs code that is not ours
            limit.deadline = NEVER
            return otherwise(error)
    return result
