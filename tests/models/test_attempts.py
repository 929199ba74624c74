"""Along a route until one answers: retries, fallback, restarts, breakers, deadlines and who is told what."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, get_args

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    ModelResponseStreamEvent,
    PartStartEvent,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from cellwright.errors import ModelUnavailable
from cellwright.models.calls import FailedAttempt, FailureKind, Piece, Request, Restarted, Started, TokenUsage, Update
from cellwright.models.config.names import ModelName
from cellwright.models.routing.breaker import BreakerRules, Breakers
from cellwright.models.routing.fallback import Attempts, Deadlines, RouteAnswer, RoutedCall, RouteExhausted
from cellwright.models.routing.route import Route

FIRST, SECOND = ModelName("a", "first"), ModelName("b", "second")
REQUEST = Request(messages=[ModelRequest(parts=[UserPromptPart(content="hello")])])
SILENCE = "silence"


class ProviderError(Exception):
    """What the scripted provider raises: the failure it stands for."""

    def __init__(self, failing: FailureKind, retry_after_seconds: float | None = None) -> None:
        super().__init__(failing)
        self.meaning = (failing, f"it is {failing}", retry_after_seconds)


def explain(error: BaseException) -> tuple[FailureKind, str, float | None]:
    assert isinstance(error, ProviderError)
    return error.meaning


def fails(failing: FailureKind, retry_after_seconds: float | None = None) -> ProviderError:
    return ProviderError(failing, retry_after_seconds)


def says(text: str, usage: RequestUsage | None = None) -> ModelResponse:
    return ModelResponse(parts=[TextPart(content=text)], usage=usage or RequestUsage())


def piece(text: str) -> PartStartEvent:
    return PartStartEvent(index=0, part=TextPart(content=text))


Step = ModelResponseStreamEvent | ModelResponse | ProviderError | anyio.Event | str
"""What happens next in an answer: a piece, the response, an error, silence until an event, or for ever."""


@dataclass(kw_only=True)
class Harness:
    """Attempts at scripted models, on a clock that moves only when somebody sleeps."""

    script: dict[ModelName, list[list[Step]]]
    now: float = 0
    slept: list[float] = field(default_factory=list[float])
    asked: list[tuple[ModelName, bool, str | None]] = field(default_factory=list[tuple[ModelName, bool, str | None]])
    closed: int = 0
    told: list[Update] = field(default_factory=list[Update])
    sent: list[tuple[ModelName, str | None]] = field(default_factory=list[tuple[ModelName, str | None]])
    ids: list[tuple[ModelName, str]] = field(default_factory=list[tuple[ModelName, str]])
    rules: BreakerRules = field(default_factory=BreakerRules)
    deadlines: Deadlines = field(default_factory=Deadlines)
    attempts: Attempts = field(init=False)

    def __post_init__(self) -> None:
        self.attempts = Attempts(
            ask=self.ask,
            breakers=Breakers(clock=self.clock, rules=self.rules),
            deadlines=self.deadlines,
            explain=explain,
            clock=self.clock,
            sleep=self.sleep,
            jitter=lambda: 0.5,
        )

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    @asynccontextmanager
    async def ask(
        self,
        name: ModelName,
        request: Request,
        *,
        stream: bool,
        idempotency_key: str | None,
        on_provider_id: Callable[[str], None] | None,
    ) -> AsyncGenerator[AsyncIterator[ModelResponseStreamEvent | ModelResponse]]:
        assert request is REQUEST
        assert self.sent[-1][0] == name, "it is said before it is sent"
        self.asked.append((name, stream, idempotency_key))
        if on_provider_id is not None:
            on_provider_id(f"id-{len(self.asked)}")
        try:
            yield self.play(self.script[name].pop(0))
        finally:
            self.closed += 1

    async def play(self, steps: list[Step]) -> AsyncGenerator[ModelResponseStreamEvent | ModelResponse]:
        for step in steps:
            match step:
                case ProviderError():
                    raise step
                case anyio.Event():
                    await step.wait()
                case str():
                    await anyio.sleep_forever()
                case _:
                    yield step

    async def note_sent(self, model: ModelName, key: str | None) -> None:
        self.sent.append((model, key))

    def note_id(self, model: ModelName, provider_id: str) -> None:
        self.ids.append((model, provider_id))

    async def run(self, *models: ModelName, stream: bool = False, **more: Any) -> RouteAnswer | RouteExhausted:
        route = Route(order=models, reasons={model: f"why {model}" for model in models}, refused={})
        known: dict[str, Any] = {"deadline_seconds": 600, "on_sent": self.note_sent}
        with anyio.fail_after(120):
            call = RoutedCall(request=REQUEST, route=route, stream=stream, emit=self.told.append, **(known | more))
            return await self.attempts.run(call)


def failings(outcome: RouteAnswer | RouteExhausted) -> list[tuple[str, FailureKind]]:
    return [(attempt.model, attempt.failing) for attempt in outcome.attempts]


async def test_the_first_answer_ends_it() -> None:
    answer = says("hi")
    harness = Harness(script={FIRST: [[answer]]})
    outcome = await harness.run(FIRST, SECOND)
    assert outcome == RouteAnswer(response=answer, model=FIRST, reason="why a:first", attempts=())
    assert harness.told == [Started(model="a:first", reason="why a:first")]
    assert harness.closed == 1


async def test_pieces_are_told_as_they_come_and_the_response_is_whole() -> None:
    answer = says("hi there")
    harness = Harness(script={FIRST: [[piece("hi"), piece("there"), answer]]})
    outcome = await harness.run(FIRST, stream=True)
    assert isinstance(outcome, RouteAnswer)
    assert outcome.response is answer
    assert harness.told[1:] == [Piece(event=piece("hi")), Piece(event=piece("there"))]


async def test_an_ill_model_is_asked_again_and_then_the_next_one() -> None:
    harness = Harness(
        script={FIRST: [[fails("server-error")], [fails("overloaded")], [fails("connection")]], SECOND: [[says("hi")]]}
    )
    outcome = await harness.run(FIRST, SECOND)
    assert isinstance(outcome, RouteAnswer)
    assert outcome.model == SECOND
    assert failings(outcome) == [("a:first", "server-error"), ("a:first", "overloaded"), ("a:first", "connection")]
    assert harness.slept == [0.25, 0.5]


async def test_a_refused_request_goes_to_the_next_model_without_waiting() -> None:
    harness = Harness(script={FIRST: [[fails("unauthorised")]], SECOND: [[says("hi")]]})
    outcome = await harness.run(FIRST, SECOND)
    assert failings(outcome) == [("a:first", "unauthorised")]
    assert harness.slept == []


async def test_what_was_told_is_taken_back_before_another_try_never_continued() -> None:
    harness = Harness(
        script={
            FIRST: [[piece("The answer"), fails("connection")], [piece("The"), fails("rejected")]],
            SECOND: [[piece("42"), says("42")]],
        }
    )
    outcome = await harness.run(FIRST, SECOND, stream=True)
    assert harness.told == [
        Started(model="a:first", reason="why a:first"),
        Piece(event=piece("The answer")),
        Restarted(failed=outcome.attempts[0]),
        Started(model="a:first", reason="why a:first"),
        Piece(event=piece("The")),
        Restarted(failed=outcome.attempts[1]),
        Started(model="b:second", reason="why b:second"),
        Piece(event=piece("42")),
    ]


async def test_a_failure_before_the_first_piece_takes_nothing_back() -> None:
    harness = Harness(script={FIRST: [[fails("rejected")]], SECOND: [[piece("42"), says("42")]]})
    await harness.run(FIRST, SECOND, stream=True)
    assert not any(isinstance(update, Restarted) for update in harness.told)


async def test_what_a_failed_try_used_is_kept() -> None:
    used = says("half", RequestUsage(input_tokens=7, output_tokens=3, cache_read_tokens=2, cache_write_tokens=1))
    harness = Harness(script={FIRST: [[piece("half"), used, fails("rejected")]], SECOND: [[says("hi")]]})
    outcome = await harness.run(FIRST, SECOND, stream=True)
    assert outcome.attempts[0].usage == TokenUsage(
        input_tokens=7, output_tokens=3, cache_read_tokens=2, cache_write_tokens=1
    )


async def test_an_answer_that_ends_without_a_response_is_broken() -> None:
    harness = Harness(script={FIRST: [[piece("x")], []]})
    outcome = await harness.run(FIRST, stream=True)
    assert failings(outcome) == [("a:first", "broken-answer"), ("a:first", "broken-answer")]


async def test_an_exhausted_chain_names_every_attempt() -> None:
    harness = Harness(script={FIRST: [[fails("not-found")]], SECOND: [[fails("unauthorised")]]})
    outcome = await harness.run(FIRST, SECOND)
    assert isinstance(outcome, RouteExhausted)
    error = outcome.error()
    assert isinstance(error, ModelUnavailable)
    assert error.message == (
        "No model answered. Tried: a:first: not-found (it is not-found); b:second: unauthorised (it is unauthorised)."
    )


async def test_a_wait_the_provider_named_is_kept_to_and_the_breaker_lets_the_retry_through() -> None:
    harness = Harness(script={FIRST: [[fails("rate-limited", 3.0)], [says("hi")]]})
    outcome = await harness.run(FIRST, SECOND)
    assert isinstance(outcome, RouteAnswer)
    assert harness.slept == [3.25]
    assert harness.attempts.breakers.health("a") == "closed"


async def test_a_wait_too_long_for_the_deadline_goes_to_the_next_model() -> None:
    harness = Harness(script={FIRST: [[fails("rate-limited", 30.0)]], SECOND: [[says("hi")]]})
    outcome = await harness.run(FIRST, SECOND, deadline_seconds=20)
    assert failings(outcome) == [("a:first", "rate-limited")]
    assert harness.slept == []


@pytest.mark.parametrize(
    ("steps", "stream", "detail"),
    [
        ([SILENCE], True, "no answer for 0.01 s"),
        ([piece("x"), SILENCE], True, "silent for 0.02 s"),
        ([SILENCE], False, "no answer for 0.03 s"),
    ],
)
async def test_silence_has_a_deadline(steps: list[Step], stream: bool, detail: str) -> None:
    deadlines = Deadlines(first_piece_seconds=0.01, next_piece_seconds=0.02, answer_seconds=0.03)
    harness = Harness(script={FIRST: [steps, list(steps)], SECOND: [[says("hi")]]}, deadlines=deadlines)
    outcome = await harness.run(FIRST, SECOND, stream=stream)
    assert isinstance(outcome, RouteAnswer)
    assert outcome.model == SECOND
    assert [(attempt.failing, attempt.detail) for attempt in outcome.attempts] == [("timed-out", detail)] * 2
    assert harness.closed == 3


async def test_the_deadline_of_the_call_bounds_everything_together() -> None:
    harness = Harness(script={FIRST: [[SILENCE]], SECOND: [[says("never asked")]]})
    harness.attempts.clock = anyio.current_time
    outcome = await harness.run(FIRST, SECOND, deadline_seconds=0.02)
    assert isinstance(outcome, RouteExhausted)
    assert outcome.attempts == (
        FailedAttempt(
            model="a:first",
            failing="timed-out",
            detail="no answer within the call's deadline",
            milliseconds=outcome.attempts[0].milliseconds,
        ),
    )
    assert [name for name, *_ in harness.asked] == [FIRST]


async def test_a_call_with_no_time_left_asks_nobody() -> None:
    harness = Harness(script={})
    outcome = await harness.run(FIRST, deadline_seconds=0)
    assert isinstance(outcome, RouteExhausted)
    assert outcome.attempts == ()
    assert outcome.error().message == "There was no time to ask a model."


async def test_an_open_breaker_is_passed_over_and_said_so() -> None:
    harness = Harness(script={FIRST: [[fails("server-error")]] * 3, SECOND: [[says("hi")], [says("hi")]]})
    harness.attempts.breakers.rules = BreakerRules(failures_in_a_row=3)
    await harness.run(FIRST, SECOND)
    outcome = await harness.run(FIRST, SECOND)
    assert isinstance(outcome, RouteAnswer)
    assert failings(outcome) == [("a:first", "breaker-open")]
    assert len(harness.asked) == 5


async def test_with_no_other_model_left_a_call_waits_for_the_endpoint_and_then_tries_it() -> None:
    harness = Harness(script={FIRST: [[says("back")]]})
    breakers = harness.attempts.breakers
    breakers.failed("a", "rate-limited", 5)
    outcomes: list[RouteAnswer | RouteExhausted] = []

    async def ask() -> None:
        outcomes.append(await harness.run(FIRST))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        harness.now = 5
        breakers.admit("a")
        breakers.succeeded("a")
    assert isinstance(outcomes[0], RouteAnswer)
    assert failings(outcomes[0]) == [("a:first", "breaker-open")]


async def test_an_endpoint_that_does_not_come_back_in_time_is_not_waited_for() -> None:
    harness = Harness(script={})
    harness.attempts.breakers.failed("a", "rate-limited", 5)
    harness.attempts.patience_seconds = 0
    outcome = await harness.run(FIRST)
    assert isinstance(outcome, RouteExhausted)
    assert failings(outcome) == [("a:first", "breaker-open")]


async def test_a_probe_that_is_cancelled_leaves_room_for_the_next() -> None:
    harness = Harness(script={FIRST: [[SILENCE], [says("back")]]})
    harness.attempts.breakers.failed("a", "rate-limited", 5)
    harness.now = 5
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(harness.run, FIRST)
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
    assert harness.closed == 1
    assert isinstance(await harness.run(FIRST), RouteAnswer)


async def test_a_probe_that_was_never_sent_leaves_room_for_the_next() -> None:
    harness = Harness(script={FIRST: [[fails("not-ready")], [says("back")]], SECOND: [[says("hi")]]})
    harness.attempts.breakers.failed("a", "rate-limited", 5)
    harness.now = 5
    assert failings(await harness.run(FIRST, SECOND)) == [("a:first", "not-ready")]
    assert failings(await harness.run(FIRST, SECOND)) == []


async def test_a_retry_carries_the_same_idempotency_key_only_while_nobody_knows_what_became_of_it() -> None:
    harness = Harness(
        script={
            FIRST: [[fails("connection")], [fails("server-error")], [fails("server-error")]],
            SECOND: [[says("hi")]],
        }
    )
    await harness.run(FIRST, SECOND, idempotency_key="call-1")
    unheard, again, after_an_answer, other_model = [key for _, _, key in harness.asked]
    assert unheard == again
    assert len({again, after_an_answer, other_model, "call-1"}) == 4
    assert [key for _, key in harness.sent] == [unheard, again, after_an_answer, other_model]


async def test_the_same_call_asked_again_after_a_crash_carries_the_same_keys() -> None:
    keys: list[str | None] = []
    for _ in range(2):
        harness = Harness(script={FIRST: [[says("hi")]]})
        await harness.run(FIRST, idempotency_key="call-1")
        keys.append(harness.asked[0][2])
    assert keys[0] == keys[1] is not None


async def test_the_providers_own_id_is_told_as_soon_as_it_is_known() -> None:
    harness = Harness(script={FIRST: [[fails("rejected")]], SECOND: [[says("hi")]]})
    await harness.run(FIRST, SECOND, on_provider_id=harness.note_id)
    assert harness.ids == [(FIRST, "id-1"), (SECOND, "id-2")]


async def test_calls_that_wait_for_one_endpoint_all_get_through_after_a_single_probe() -> None:
    release = anyio.Event()
    harness = Harness(script={FIRST: [[release, says("back")], *([says("hi")] for _ in range(9))]})
    harness.attempts.breakers.failed("a", "rate-limited", 5)
    harness.now = 5
    outcomes: list[RouteAnswer | RouteExhausted] = []

    async def ask() -> None:
        outcomes.append(await harness.run(FIRST))

    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        assert len(harness.asked) == 1
        release.set()
    assert len(harness.asked) == 10
    assert all(isinstance(outcome, RouteAnswer) for outcome in outcomes)


texts = st.lists(st.text(alphabet="abc", min_size=1, max_size=3), max_size=3)
endings: st.SearchStrategy[FailureKind | None] = st.none() | st.sampled_from(get_args(FailureKind))
tries = st.lists(st.tuples(texts, endings), min_size=3, max_size=3)


@given(tries, tries)
@settings(deadline=None, derandomize=True, database=None)
def test_whatever_fails_when_only_the_pieces_of_the_answer_are_left_standing(
    first: list[tuple[list[str], FailureKind | None]], second: list[tuple[list[str], FailureKind | None]]
) -> None:
    def steps(said: list[str], failing: FailureKind | None) -> list[Step]:
        return [*map(piece, said), says("".join(said)) if failing is None else fails(failing)]

    script = {FIRST: [steps(*one) for one in first], SECOND: [steps(*one) for one in second]}
    harness = Harness(script=script, rules=BreakerRules(failures_in_a_row=100))
    outcome = anyio.run(partial(harness.run, FIRST, SECOND, stream=True))
    standing: list[str] = []
    for update in harness.told:
        match update:
            case Restarted():
                assert standing, "nothing is taken back that was not told"
                standing = []
            case Piece(event=PartStartEvent(part=TextPart(content=content))):
                standing.append(content)
            case _:
                pass
    assert len(outcome.attempts) + isinstance(outcome, RouteAnswer) == len(harness.asked) <= 6
    assert harness.closed == len(harness.asked) == sum(isinstance(update, Started) for update in harness.told)
    if isinstance(outcome, RouteAnswer):
        assert "".join(standing) == "".join(
            part.content for part in outcome.response.parts if isinstance(part, TextPart)
        )
