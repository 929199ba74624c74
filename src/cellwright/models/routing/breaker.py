"""A breaker per endpoint: after failures in a row nobody asks it for a while, then one call tries whether it is back.

The states and what follows them are plain values; `Breakers` only holds one for each endpoint and wakes who waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import anyio

from cellwright.models.calls import ENDPOINT_FAILURES, FailureKind

Health = Literal["closed", "open", "half-open"]

NEVER_ASKED: Final[frozenset[FailureKind]] = frozenset({"breaker-open", "not-ready"})
"""Failures of ours: the endpoint was not asked, so nothing was learnt about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerRules:
    """When a breaker opens and for how long."""

    failures_in_a_row: int = 4
    open_seconds: float = 10
    """The first time; each failed probe doubles it."""
    longest_open_seconds: float = 300
    """Also bounds what a provider may ask for with Retry-After."""
    probe_seconds: float = 120
    """A probe nobody heard of again for this long is counted as lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerState:
    """Closed, and asked freely, unless it is open or one call is trying whether the endpoint is back."""

    failures: int = 0
    """In a row, while it is closed."""
    until: float | None = None
    """Nobody asks before this time; of a probe, when it counts as lost. None: it is closed."""
    seconds: float = 0
    """How long it was opened for, the last time."""
    is_probing: bool = False


Permission = Literal["call", "probe"] | float
"""Ask; ask, as the only one; or do not ask before this time, unless the state changes."""


def may_try(state: BreakerState, now: float) -> Permission:
    """Whether a call may go to the endpoint now. After "probe", the state is `probing(...)`."""
    if state.until is None:
        return "call"
    return "probe" if now >= state.until else state.until


def probing(state: BreakerState, now: float, rules: BreakerRules) -> BreakerState:
    """The state once a probe was let through."""
    return replace(state, until=now + rules.probe_seconds, is_probing=True)


def after_success(state: BreakerState) -> BreakerState:
    """An answer came. One asked for before the breaker opened does not close it: only a probe does."""
    return BreakerState() if state.until is None or state.is_probing else state


def after_failure(
    state: BreakerState, failing: FailureKind, now: float, rules: BreakerRules, retry_after_seconds: float | None = None
) -> BreakerState:
    """The state after a try that failed so. A rate limit that says when to come back opens at once, until then."""
    if failing in NEVER_ASKED:
        return state
    if failing not in ENDPOINT_FAILURES:
        return after_success(state)
    named = min(retry_after_seconds or 0.0, rules.longest_open_seconds) if failing == "rate-limited" else 0.0
    if state.until is not None and not state.is_probing:
        return replace(state, until=max(state.until, now + named))
    if state.is_probing:
        seconds = named or min(2 * max(state.seconds, rules.open_seconds), rules.longest_open_seconds)
    elif state.failures + 1 < rules.failures_in_a_row and named <= 0:
        return BreakerState(failures=state.failures + 1)
    else:
        seconds = named or rules.open_seconds
    return BreakerState(until=now + seconds, seconds=seconds)


def after_abandoned(state: BreakerState, now: float) -> BreakerState:
    """The call was taken back before it ended: if it was the probe, the next one may try at once."""
    return replace(state, until=now, is_probing=False) if state.is_probing else state


def health(state: BreakerState, now: float) -> Health:
    """For routing and for people. An open breaker whose time has come is already half-open."""
    if state.until is None:
        return "closed"
    return "open" if not state.is_probing and now < state.until else "half-open"


@dataclass(slots=True)
class Breakers:
    """The breaker of every endpoint, shared by all calls of the gateway. Not for several threads."""

    clock: Callable[[], float] = anyio.current_time
    rules: BreakerRules = field(default_factory=BreakerRules)
    _states: dict[str, BreakerState] = field(default_factory=dict[str, BreakerState])
    _changes: dict[str, anyio.Event] = field(default_factory=dict[str, anyio.Event])

    def health(self, endpoint: str) -> Health:
        """How the endpoint is doing."""
        return health(self._state(endpoint), self.clock())

    def admit(self, endpoint: str) -> Permission:
        """Whether a call may go there now. Who is let in says afterwards how it ended."""
        state, now = self._state(endpoint), self.clock()
        permission = may_try(state, now)
        if permission == "probe":
            self._become(endpoint, probing(state, now, self.rules))
        return permission

    def succeeded(self, endpoint: str) -> None:
        """It answered."""
        self._become(endpoint, after_success(self._state(endpoint)))

    def failed(self, endpoint: str, failing: FailureKind, retry_after_seconds: float | None) -> None:
        """It did not."""
        state = self._state(endpoint)
        self._become(endpoint, after_failure(state, failing, self.clock(), self.rules, retry_after_seconds))

    def abandoned(self, endpoint: str) -> None:
        """The caller took the call back."""
        self._become(endpoint, after_abandoned(self._state(endpoint), self.clock()))

    async def wait(self, endpoint: str, seconds: float) -> None:
        """Until the state of this endpoint changes, at most so long."""
        change = self._changes.setdefault(endpoint, anyio.Event())
        with anyio.move_on_after(seconds):
            await change.wait()

    def _state(self, endpoint: str) -> BreakerState:
        return self._states.get(endpoint, BreakerState())

    def _become(self, endpoint: str, state: BreakerState) -> None:
        if state != self._state(endpoint):
            self._states[endpoint] = state
            self._changes.pop(endpoint, anyio.Event()).set()
