"""Ending a request early: a thread that tells the server to stop when the broker says so or the time is over.

A cancel may come a moment before its statement has begun, so it is told again until the request ends. A server that
does not listen is not waited for: the request is answered, and the process ends, which closes the session.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, Literal

Ending = Literal["", "time", "cancelled"]
_REPEAT_SECONDS: Final = 0.2
_PATIENCE_SECONDS: Final = 8.0


class Interruption:
    """For one request at a time. `cancel` ends what runs on the server; `give_up` is called if that did not help."""

    def __init__(self, cancel: Callable[[], None], give_up: Callable[[Ending], None]) -> None:
        self._cancel, self._give_up = cancel, give_up
        self._changed = threading.Condition()
        self._deadline: float | None = None
        """When the request that runs now is over; None: none runs."""
        self._ending: Ending = ""
        self._canceller: threading.Thread | None = None
        threading.Thread(target=self._watch, name="interruption", daemon=True).start()

    @contextmanager
    def until(self, seconds: float) -> Generator[Callable[[], Ending]]:
        """A request that may last so long; what is given says whether it was ended early, and why."""
        with self._changed:
            self._deadline, self._ending = time.monotonic() + seconds, ""
            self._changed.notify_all()
        try:
            yield lambda: self._ending
        finally:
            with self._changed:
                self._deadline = None
                self._changed.notify_all()
                canceller = self._canceller
            # A cancel that is on its way would end the next statement.
            if canceller is not None:
                canceller.join(_PATIENCE_SECONDS)

    def ask(self) -> None:
        """End what runs now; nothing if nothing does."""
        with self._changed:
            if self._deadline is not None and not self._ending:
                self._ending = "cancelled"
                self._changed.notify_all()

    def _watch(self) -> None:
        while True:
            ending = self._wait_for_ending()
            started = time.monotonic()
            while self._cancel_again():
                if time.monotonic() - started > _PATIENCE_SECONDS:
                    self._give_up(ending)
                with self._changed:
                    self._changed.wait_for(lambda: self._deadline is None, _REPEAT_SECONDS)

    def _wait_for_ending(self) -> Ending:
        with self._changed:
            while True:
                if self._deadline is None:
                    self._changed.wait()
                elif self._ending:
                    return self._ending
                elif (left := self._deadline - time.monotonic()) <= 0:
                    self._ending = "time"
                else:
                    # A wait has an upper limit, which a deadline of years would exceed.
                    self._changed.wait(min(left, 3600))

    def _cancel_again(self) -> bool:
        """Unless the request is over. In a thread of its own: a cancel is a connection too, and may hang."""
        with self._changed:
            if self._deadline is None or not self._ending:
                return False
            if self._canceller is None or not self._canceller.is_alive():
                self._canceller = threading.Thread(target=self._cancel, name="cancel", daemon=True)
                self._canceller.start()
            return True
