"""After a failed try: again a little later, the next model, or the end."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellwright.models.calls import FailureKind
from cellwright.models.routing.fallback import MAX_RETRIES, MAX_WAIT_WITH_FALLBACK_SECONDS, seconds_until_retry

PROPERTY = settings(deadline=None, derandomize=True, database=None)

FAILING: list[FailureKind] = list(get_args(FailureKind))
failings = st.sampled_from(FAILING)
jitters = st.floats(min_value=0, max_value=1, exclude_max=True)
seconds = st.floats(min_value=0, max_value=3600)
tries = st.integers(min_value=1, max_value=5)


def wait(
    failing: FailureKind = "server-error",
    *,
    tries: int = 1,
    named: float | None = None,
    left: float = 600,
    jitter: float = 0.5,
    is_last: bool = False,
) -> float | None:
    return seconds_until_retry(
        failing,
        tries_on_this_model=tries,
        retry_after_seconds=named,
        seconds_left=left,
        jitter=jitter,
        is_last=is_last,
    )


@pytest.mark.parametrize("failing", ["unauthorised", "not-found", "rejected", "context-too-long", "not-ready"])
def test_what_would_fail_again_goes_to_the_next_model_at_once(failing: FailureKind) -> None:
    assert wait(failing) is None


def test_an_ill_endpoint_is_asked_twice_again_and_then_left() -> None:
    assert [wait(tries=tries) for tries in (1, 2, 3)] == [0.25, 0.5, None]


@pytest.mark.parametrize("failing", ["timed-out", "broken-answer"])
def test_what_cost_a_deadline_or_an_answer_is_asked_once_again(failing: FailureKind) -> None:
    assert wait(failing) is not None
    assert wait(failing, tries=2) is None


def test_a_wait_that_a_provider_named_is_kept_to_if_it_fits_the_deadline() -> None:
    assert wait("rate-limited", named=4, jitter=0) == 4
    assert wait("rate-limited", named=4, left=3) is None


def test_a_long_wait_is_for_the_last_model_only() -> None:
    assert wait("rate-limited", named=60) is None
    assert wait("rate-limited", named=60, is_last=True, jitter=0) == 60


@given(failings, tries, st.none() | seconds, jitters, st.booleans())
@PROPERTY
def test_after_the_deadline_nothing_is_asked(
    failing: FailureKind, tries: int, named: float | None, jitter: float, is_last: bool
) -> None:
    assert wait(failing, tries=tries, named=named, left=0, jitter=jitter, is_last=is_last) is None


@given(failings, tries, st.none() | seconds, seconds, jitters, st.booleans())
@PROPERTY
def test_a_wait_is_never_shorter_than_named_nor_longer_than_the_time_left(
    failing: FailureKind, tries: int, named: float | None, left: float, jitter: float, is_last: bool
) -> None:
    waited = wait(failing, tries=tries, named=named, left=left, jitter=jitter, is_last=is_last)
    if waited is not None:
        assert (named or 0) <= waited < left
        assert is_last or waited <= MAX_WAIT_WITH_FALLBACK_SECONDS
        assert tries <= MAX_RETRIES[failing] <= 2


@given(failings, seconds, st.data())
@PROPERTY
def test_every_model_is_left_after_three_tries_at_most(failing: FailureKind, left: float, data: st.DataObject) -> None:
    waits = [wait(failing, tries=tries, left=left, jitter=data.draw(jitters)) for tries in (1, 2, 3)]
    assert waits[-1] is None
