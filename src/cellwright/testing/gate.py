"""Where silent answers wait to be let on."""

from __future__ import annotations

from collections.abc import Callable

import anyio


class Gate:
    """Opens for those who wait now; who comes later waits for the next time."""

    def __init__(self, *, on_change: Callable[[], None]) -> None:
        self._event = anyio.Event()
        self._on_change = on_change
        self.waiting = 0
        """How many wait now."""

    async def wait(self) -> None:
        """Until the next opening."""
        self._count(1)
        try:
            await self._event.wait()
        finally:
            self._count(-1)

    def open(self) -> None:
        """Let all go on who wait now."""
        self._event.set()
        self._event = anyio.Event()

    def _count(self, more: int) -> None:
        self.waiting += more
        self._on_change()
