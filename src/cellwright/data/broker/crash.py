"""Named places of a write where the broker may die, so that tests can let it die exactly there."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class BrokerCrash(StrEnum):
    """Where a write can be cut."""

    WRITE_JUDGED = "write-judged"
    """It may be made; nothing of it is recorded."""
    WRITE_RECORDED = "write-recorded"
    """It is recorded; nothing was sent."""
    WRITE_MADE = "write-made"
    """The server committed it; that is not recorded."""
    WRITE_ENDED = "write-ended"
    """What came of it is recorded; whoever asked does not know."""


AtBrokerCrash = Callable[[BrokerCrash], None]
"""Called at every one of them."""


def carry_on(point: BrokerCrash) -> None:
    """Do nothing: what happens outside of tests."""
