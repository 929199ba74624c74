"""When a background process is needed no more: nobody was connected and nothing ran for a while."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import anyio

_FIRST_CONNECTION_SECONDS: Final = 10.0
"""Extra time for whoever started the process to connect to it, on a machine that is busy."""


class IdleTimer:
    """Counts who needs the process: connections and calls."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.users = 0
        """How many connections and calls there are now."""
        self._free_since = anyio.current_time() + _FIRST_CONNECTION_SECONDS
        self._freed = anyio.Event()

    @contextmanager
    def busy(self) -> Generator[None]:
        """Not idle in this block."""
        self.users += 1
        try:
            yield
        finally:
            self.users -= 1
            if not self.users:
                self._free_since = anyio.current_time()
                self._freed.set()

    async def wait(self) -> None:
        """Until nobody has needed it for so long."""
        while True:
            if self.users:
                self._freed = anyio.Event()
                await self._freed.wait()
            left = self._free_since + self.seconds - anyio.current_time()
            if not self.users and left <= 0:
                return
            await anyio.sleep(max(left, 0))
