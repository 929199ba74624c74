"""Named places where the gateway may die, so that tests can let it die exactly there."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from enum import StrEnum


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


def crash_at(point: GatewayCrash) -> AtGatewayCrash:
    """Kill this process with -9 there."""

    def at(reached: GatewayCrash) -> None:
        if reached is point:
            os.kill(os.getpid(), signal.SIGKILL)

    return at
