"""When the gateway process ends: after it was idle for long enough, or at a named crash point of a test."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from enum import StrEnum
from typing import Final

import anyio

_FIRST_CONNECTION_SECONDS: Final = 10.0
"""Extra time for whoever started the gateway to connect to it, on a machine that is busy."""


class IdleTimer:
    """Counts who needs the gateway: connections and calls."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._users = 0
        self._free_since = anyio.current_time() + _FIRST_CONNECTION_SECONDS
        self._freed = anyio.Event()

    @property
    def users(self) -> int:
        """How many connections and calls there are now."""
        return self._users

    @contextmanager
    def busy(self) -> Generator[None]:
        """Not idle in this block."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self._free_since = anyio.current_time()
                self._freed.set()

    async def wait(self) -> None:
        """Until nobody has needed it for so long."""
        while True:
            if self._users:
                self._freed = anyio.Event()
                await self._freed.wait()
            left = self._free_since + self.seconds - anyio.current_time()
            if not self._users and left <= 0:
                return
            await anyio.sleep(max(left, 0))


class GatewayCrash(StrEnum):
    """Where a call can be cut."""

    BEGUN = "begun"
    """The call is known to the gateway; nothing of it is on disk, nothing was sent."""
    SENT = "sent"
    """It is recorded as sent; nothing may have left yet."""
    FIRST_PIECE = "first-piece"
    """The provider is answering."""
    ANSWERED_UNRECORDED = "answered-unrecorded"
    """The whole answer is here and was paid; the record does not know."""
    RECORDED_UNTOLD = "recorded-untold"
    """The answer is recorded; the caller does not know."""


AtGatewayCrash = Callable[[GatewayCrash], None]
"""Called at every such place."""


def carry_on(point: GatewayCrash) -> None:
    """Do nothing: what happens outside of tests."""
