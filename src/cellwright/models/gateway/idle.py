"""When a gateway has had nothing to do for long enough to end."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import anyio


class Idle:
    """Counts who needs the gateway: connections and calls."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._users = 0
        self._free_since = anyio.current_time()
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
