"""What to do after a try that gave no answer: try again a little later, ask the next model, or stop. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cellwright.models.calls import Failing

MOST_RETRIES: Final[Mapping[Failing, int]] = {
    "rate-limited": 2,
    "overloaded": 2,
    "server-error": 2,
    "connection": 2,
    # A whole deadline has been waited, or a whole answer paid: once more, not twice.
    "timed-out": 1,
    "broken-answer": 1,
}
"""How often one model is asked again after such a failure; after any other, asking again would fail alike."""

FIRST_WAIT_SECONDS: Final = 0.5
LONGEST_WAIT_SECONDS: Final = 8.0
LONGEST_WAIT_WITH_A_FALLBACK_SECONDS: Final = 10.0
"""A provider that asks for more patience than this is left for the next model, if there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryAfter:
    """Ask the same model again, not sooner than this."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NextModel:
    """Nothing more to hope for here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """The time is over."""


Move = RetryAfter | NextModel | GiveUp


def next_move(
    failing: Failing,
    *,
    tries_on_this_model: int,
    retry_after_seconds: float | None,
    seconds_left: float,
    jitter: float,
    is_last: bool = False,
) -> Move:
    """The move after `tries_on_this_model` tries, the last of which failed so.

    Waits grow exponentially with full jitter (`jitter` is in [0, 1)) and never end before the time a provider
    named, nor after the deadline. `is_last` says that no other model is left to ask.
    """
    if seconds_left <= 0:
        return GiveUp()
    if tries_on_this_model > MOST_RETRIES.get(failing, 0):
        return NextModel()
    growing = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** max(0, tries_on_this_model - 1))
    named = max(0.0, retry_after_seconds or 0.0)
    wait = named + jitter * (FIRST_WAIT_SECONDS if named else growing)
    if wait >= seconds_left or (wait > LONGEST_WAIT_WITH_A_FALLBACK_SECONDS and not is_last):
        return NextModel()
    return RetryAfter(seconds=wait)
