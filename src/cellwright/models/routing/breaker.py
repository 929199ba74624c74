"""A breaker per endpoint: after failures in a row nobody asks it for a while, then one call tries whether it is back.

The states and what follows them are plain values; `Breakers` only holds one for each endpoint and wakes who waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
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
class Closed:
    """Asked freely."""

    failures: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """Not asked until then."""

    until: float
    seconds: float
    """How long it was opened for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfOpen:
    """One call is trying whether it is back."""

    since: float
    seconds: float
    """How long it was open before."""


State = Closed | Open | HalfOpen


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAllowed:
    """Ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Ask, as the only one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallBlocked:
    """Do not ask before this time, unless the state changes."""

    until: float


Permission = CallAllowed | CallBlocked | Probe


def may_try(state: State, now: float, rules: BreakerRules) -> Permission:
    """Whether a call may go to the endpoint now. After `Probe`, the state is `probing(...)`."""
    match state:
        case Closed():
            return CallAllowed()
        case Open(until=until):
            return Probe() if now >= until else CallBlocked(until=until)
        case HalfOpen(since=since):
            lost = since + rules.probe_seconds
            return Probe() if now >= lost else CallBlocked(until=lost)


def probing(state: State, now: float) -> State:
    """The state once a probe was let through."""
    return state if isinstance(state, Closed) else HalfOpen(since=now, seconds=state.seconds)


def after_success(state: State) -> State:
    """An answer came. One asked for before the breaker opened does not close it: only a probe does."""
    return state if isinstance(state, Open) else Closed()


def after_failure(
    state: State, failing: FailureKind, now: float, rules: BreakerRules, retry_after_seconds: float | None = None
) -> State:
    """The state after a try that failed so. A rate limit that says when to come back opens at once, until then."""
    if failing in NEVER_ASKED:
        return state
    if failing not in ENDPOINT_FAILURES:
        return after_success(state)
    named = min(retry_after_seconds or 0.0, rules.longest_open_seconds) if failing == "rate-limited" else 0.0
    match state:
        case Closed(failures=failures):
            if failures + 1 < rules.failures_in_a_row and named <= 0:
                return Closed(failures=failures + 1)
            seconds = named or rules.open_seconds
        case HalfOpen(seconds=seconds):
            seconds = named or min(2 * max(seconds, rules.open_seconds), rules.longest_open_seconds)
        case Open(until=until, seconds=seconds):
            return Open(until=max(until, now + named), seconds=seconds)
    return Open(until=now + seconds, seconds=seconds)


def after_abandoned(state: State, now: float) -> State:
    """The call was taken back before it ended: if it was the probe, the next one may try at once."""
    return Open(until=now, seconds=state.seconds) if isinstance(state, HalfOpen) else state


def health(state: State, now: float) -> Health:
    """For routing and for people. An open breaker whose time has come is already half-open."""
    if isinstance(state, Closed):
        return "closed"
    return "open" if isinstance(state, Open) and now < state.until else "half-open"


@dataclass(slots=True)
class Breakers:
    """The breaker of every endpoint, shared by all calls of the gateway. Not for several threads."""

    clock: Callable[[], float] = anyio.current_time
    rules: BreakerRules = field(default_factory=BreakerRules)
    _states: dict[str, State] = field(default_factory=dict[str, State])
    _changes: dict[str, anyio.Event] = field(default_factory=dict[str, anyio.Event])

    def health(self, endpoint: str) -> Health:
        """How the endpoint is doing."""
        return health(self._state(endpoint), self.clock())

    def admit(self, endpoint: str) -> Permission:
        """Whether a call may go there now. Who is let in says afterwards how it ended."""
        state, now = self._state(endpoint), self.clock()
        permission = may_try(state, now, self.rules)
        if isinstance(permission, Probe):
            self._become(endpoint, probing(state, now))
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

    def _state(self, endpoint: str) -> State:
        return self._states.get(endpoint, Closed())

    def _become(self, endpoint: str, state: State) -> None:
        if state != self._state(endpoint):
            self._states[endpoint] = state
            self._changes.pop(endpoint, anyio.Event()).set()
