"""An event loop whose clock can leap: deadlines pass at once, and only when a test says so."""

from __future__ import annotations

import asyncio
from typing import Any


class LeapingLoop(asyncio.SelectorEventLoop):
    """Time goes by as always, and in leaps between."""

    leapt_seconds = 0.0

    def time(self) -> float:
        return super().time() + self.leapt_seconds


def leap(seconds: float) -> None:
    """Let everything due within these seconds be due now."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, LeapingLoop)
    loop.leapt_seconds += seconds


LEAPING: tuple[str, dict[str, Any]] = ("asyncio", {"loop_factory": LeapingLoop})
"""What an `anyio_backend` fixture returns."""
