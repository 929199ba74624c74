"""An endpoint that keeps failing is left alone for a while, then one call tries whether it is back."""

from __future__ import annotations

from typing import get_args

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from cellwright.models.calls import ENDPOINT_FAILURES, FailureKind
from cellwright.models.routing.breaker import (
    NEVER_ASKED,
    BreakerRules,
    Breakers,
    BreakerState,
    after_abandoned,
    after_failure,
    after_success,
    health,
    may_try,
    probing,
)

PROPERTY = settings(deadline=None, derandomize=True, database=None)
RULES = BreakerRules(failures_in_a_row=3, open_seconds=10, longest_open_seconds=60, probe_seconds=30)
FAILING: list[FailureKind] = list(get_args(FailureKind))

moments = st.floats(min_value=0, max_value=1000)
states = st.one_of(
    st.builds(BreakerState, failures=st.integers(min_value=0, max_value=2)),
    st.builds(BreakerState, until=moments, seconds=st.floats(min_value=0, max_value=60), is_probing=st.booleans()),
)


def failed(state: BreakerState, *failings: FailureKind, now: float = 0, named: float | None = None) -> BreakerState:
    for failing in failings:
        state = after_failure(state, failing, now, RULES, named)
    return state


def test_it_opens_after_failures_in_a_row_and_not_before() -> None:
    assert failed(BreakerState(), "server-error", "timed-out") == BreakerState(failures=2)
    assert failed(BreakerState(), "server-error", "timed-out", "connection", now=5) == BreakerState(
        until=15, seconds=10
    )


def test_an_answer_in_between_ends_the_row() -> None:
    assert after_success(failed(BreakerState(), "server-error", "server-error")) == BreakerState()


@pytest.mark.parametrize("failing", sorted(set(FAILING) - ENDPOINT_FAILURES - NEVER_ASKED))
def test_a_refusal_shows_that_the_endpoint_is_there(failing: FailureKind) -> None:
    assert failed(BreakerState(failures=2), failing) == BreakerState()
    assert failed(BreakerState(until=30, seconds=10, is_probing=True), failing) == BreakerState()


def test_a_rate_limit_that_says_when_to_come_back_opens_until_then_within_bounds() -> None:
    assert failed(BreakerState(), "rate-limited", now=1, named=7) == BreakerState(until=8, seconds=7)
    assert failed(BreakerState(), "rate-limited", now=1, named=9999) == BreakerState(until=61, seconds=60)
    assert failed(BreakerState(), "rate-limited", now=1) == BreakerState(failures=1)


def test_when_its_time_has_come_exactly_one_call_is_let_through() -> None:
    state: BreakerState = BreakerState(until=10, seconds=10)
    assert may_try(state, 9.9) == 10
    assert may_try(state, 10) == "probe"
    state = probing(state, 10, RULES)
    assert may_try(state, 11) == 40
    assert may_try(after_success(state), 11) == "call"


def test_each_failed_probe_doubles_the_wait_up_to_a_bound() -> None:
    state: BreakerState = BreakerState(until=10, seconds=10)
    waits: list[float] = []
    for _ in range(4):
        assert state.until is not None
        state = failed(probing(state, state.until, RULES), "server-error", now=state.until)
        waits.append(state.seconds)
    assert waits == [20, 40, 60, 60]


def test_a_probe_that_was_taken_back_or_lost_lets_the_next_one_try() -> None:
    state = probing(BreakerState(until=10, seconds=10), 10, RULES)
    assert may_try(after_abandoned(state, 12), 12) == "probe"
    assert may_try(state, 10 + RULES.probe_seconds) == "probe"


def test_an_answer_asked_for_before_it_opened_does_not_close_it() -> None:
    state = BreakerState(until=10, seconds=10)
    assert after_success(state) == state


@given(states, st.sampled_from(FAILING), moments, st.none() | st.floats(min_value=0, max_value=9999))
@PROPERTY
def test_nothing_is_ever_closed_to_everybody_for_longer_than_the_bounds(
    state: BreakerState, failing: FailureKind, now: float, named: float | None
) -> None:
    after = after_failure(state, failing, now, RULES, named)
    if after.until is not None and after != state:
        assert after.until <= max(now + RULES.longest_open_seconds, state.until or 0)
    far = now + 2000 + RULES.longest_open_seconds
    assert may_try(after, far) in {"call", "probe"}


@given(states, st.sampled_from(sorted(NEVER_ASKED)), moments)
@PROPERTY
def test_what_was_never_asked_teaches_nothing(state: BreakerState, failing: FailureKind, now: float) -> None:
    assert after_failure(state, failing, now, RULES) == state


@given(states, moments)
@PROPERTY
def test_health_says_what_a_call_would_meet(state: BreakerState, now: float) -> None:
    match may_try(state, now):
        case "call":
            assert health(state, now) == "closed"
        case "probe":
            assert health(state, now) == "half-open"
        case _:
            assert health(state, now) in {"open", "half-open"}


class OneProbeAtATime(RuleBasedStateMachine):
    """Whatever happens in whatever order, no two probes are on their way, and a closed breaker needs none."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.breakers = Breakers(clock=lambda: self.now, rules=RULES)
        self.probes_since: list[float] = []
        self.calls = 0

    @rule(seconds=st.floats(min_value=0, max_value=25))
    def time_goes_by(self, seconds: float) -> None:
        self.now += seconds
        self.probes_since = [since for since in self.probes_since if self.now < since + RULES.probe_seconds]

    @rule()
    def a_call_comes(self) -> None:
        match self.breakers.admit("x"):
            case "call":
                self.calls += 1
            case "probe":
                self.probes_since.append(self.now)
            case until:
                assert until > self.now

    @rule(failing=st.sampled_from(FAILING), named=st.none() | st.floats(min_value=0, max_value=20))
    def a_call_fails(self, failing: FailureKind, named: float | None) -> None:
        if self.calls:
            self.calls -= 1
            self.breakers.failed("x", failing, named)
            if self.breakers.health("x") != "half-open":
                self.probes_since = []

    @rule(failing=st.sampled_from(FAILING))
    def the_probe_fails(self, failing: FailureKind) -> None:
        if self.probes_since:
            self.breakers.failed("x", failing, None)
            if failing not in NEVER_ASKED:
                self.probes_since = []

    @rule(is_taken_back=st.booleans())
    def the_probe_ends(self, is_taken_back: bool) -> None:
        if self.probes_since:
            self.breakers.abandoned("x") if is_taken_back else self.breakers.succeeded("x")
            self.probes_since = []

    @invariant()
    def never_two(self) -> None:
        assert len(self.probes_since) <= 1


TestOneProbeAtATime = OneProbeAtATime.TestCase
TestOneProbeAtATime.settings = settings(derandomize=True, database=None, stateful_step_count=40)


def test_one_endpoint_says_nothing_about_another() -> None:
    breakers = Breakers(clock=lambda: 0.0, rules=RULES)
    for _ in range(RULES.failures_in_a_row):
        breakers.failed("ill", "server-error", None)
    assert (breakers.health("ill"), breakers.health("well")) == ("open", "closed")


async def test_who_waits_for_an_endpoint_is_woken_by_its_change() -> None:
    now = [0.0]
    breakers = Breakers(clock=lambda: now[0], rules=RULES)
    breakers.failed("x", "rate-limited", 5)
    now[0] = 5.0
    assert breakers.admit("x") == "probe"
    woken: list[str] = []

    async def wait() -> None:
        await breakers.wait("x", 60)
        woken.append(breakers.health("x"))

    with anyio.fail_after(120):
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            breakers.succeeded("x")
    assert woken == ["closed", "closed"]
