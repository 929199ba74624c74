"""Asking the models of a route in turn until one answers: retries, breakers, fallback, restarts.

One try puts the request to one model and hears the answer to its end, its failure or its deadline. What two tries say
is never joined: a try that failed after emitting pieces is followed by `Restarted`. What to do after
a try that gave no answer is decided by `seconds_until_retry`, which is pure.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import anyio
from pydantic_ai.messages import ModelResponse, ModelResponseStreamEvent

from cellwright.errors import ModelUnavailable
from cellwright.models.calls import FailedAttempt, FailureKind, Piece, Request, Restarted, Started, TokenUsage, Update
from cellwright.models.config.names import ModelName
from cellwright.models.providers.failures import failure_of
from cellwright.models.routing.breaker import NEVER_ASKED, Breakers
from cellwright.models.routing.route import Route
from cellwright.remedies import remedy

AnswerStream = AbstractAsyncContextManager[AsyncIterator[ModelResponseStreamEvent | ModelResponse]]
"""Pieces, if streaming, then the whole response. A response followed by an error only tells what was used."""


AskModel = Callable[..., AnswerStream]
"""Puts a request to one model, as `ModelRegistry.ask` does: asked for on entering, the connection closed on leaving."""
Explain = Callable[[BaseException], tuple[FailureKind, str, float | None]]
"""What an error of a provider means: the kind, a short text, and after how many seconds it said to come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """How long a model may be silent. A deadline too short pays twice, so these are generous."""

    first_piece_seconds: float = 600
    """Until the first piece of a stream. Models that reason before they speak are silent for minutes, and so are small
    ones that read a long prompt on a slow machine."""
    next_piece_seconds: float = 180
    """Between two pieces of a stream: longer is a stall. Some providers send a long argument of a call in one piece."""
    answer_seconds: float = 600
    """Until the whole answer, where it comes in one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFailure:
    """The try gave no answer."""

    attempt: FailedAttempt
    retry_after_seconds: float | None = None
    has_emitted: bool = False
    """Pieces of this try were emitted: they are void."""


def usage_of(response: ModelResponse) -> TokenUsage | None:
    """What the provider counted; None where it counted nothing, which is unknown, not zero."""
    usage = response.usage
    used = TokenUsage(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    return used if used.tokens else None


MAX_RETRIES: Final[Mapping[FailureKind, int]] = {
    "rate-limited": 2,
    "overloaded": 2,
    "server-error": 2,
    "connection": 2,
    # A whole deadline has been waited, or a whole answer paid: once more, not twice.
    "timed-out": 1,
    "broken-answer": 1,
}
"""How often one model is asked again after such a failure; after any other, asking again would fail alike."""

INITIAL_BACKOFF_SECONDS: Final = 0.5
MAX_BACKOFF_SECONDS: Final = 8.0
MAX_WAIT_WITH_FALLBACK_SECONDS: Final = 10.0
"""Limit of the wait a provider may ask for before the next model is tried, if there is one."""


def seconds_until_retry(
    failing: FailureKind,
    *,
    tries_on_this_model: int,
    retry_after_seconds: float | None,
    seconds_left: float,
    jitter: float,
    is_last: bool = False,
) -> float | None:
    """After which wait to ask the same model again, the last of so many tries having failed so; None: no more.

    Waits grow exponentially with full jitter (`jitter` is in [0, 1)) and never end before the time a provider
    named, nor after the deadline. `is_last` says that no other model is left to ask.
    """
    if tries_on_this_model > MAX_RETRIES.get(failing, 0):
        return None
    growing = min(MAX_BACKOFF_SECONDS, INITIAL_BACKOFF_SECONDS * 2 ** max(0, tries_on_this_model - 1))
    named = max(0.0, retry_after_seconds or 0.0)
    wait = named + jitter * (INITIAL_BACKOFF_SECONDS if named else growing)
    is_too_long = wait >= seconds_left or (wait > MAX_WAIT_WITH_FALLBACK_SECONDS and not is_last)
    return None if is_too_long else wait


OnSent = Callable[[ModelName, str | None], Awaitable[None]]
OnProviderId = Callable[[ModelName, str], None]

OUTCOME_UNKNOWN: Final[frozenset[FailureKind]] = frozenset({"connection", "timed-out"})
"""After these nobody knows whether the provider took the request: the next try carries the same idempotency key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteAnswer:
    """One model answered."""

    response: ModelResponse
    model: ModelName
    reason: str
    """Why this model was asked."""
    attempts: tuple[FailedAttempt, ...]
    """What was tried before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteExhausted:
    """None did."""

    attempts: tuple[FailedAttempt, ...]

    def error(self) -> ModelUnavailable:
        """Names every attempt."""
        tried = "; ".join(f"{attempt.model}: {attempt.failing} ({attempt.detail})" for attempt in self.attempts)
        return ModelUnavailable(
            f"No model answered. Tried: {tried}." if tried else "There was no time to ask a model.",
            hint=remedy("test_models", lead="Add another to the chain as a fallback;"),
        )


@dataclass(slots=True, kw_only=True)
class RoutedCall:
    """One call on its way along its route."""

    request: Request
    route: Route
    stream: bool
    deadline_seconds: float
    emit: Callable[[Update], None]
    """Gets `Started` before each try, `Piece`s as they come, `Restarted` when they are void."""
    on_sent: OnSent | None = None
    """Awaited before anything goes out, with the idempotency key it will carry."""
    on_provider_id: OnProviderId | None = None
    idempotency_key: str | None = None
    ends_at: float = field(default=0, init=False)
    attempts: list[FailedAttempt] = field(default_factory=list[FailedAttempt])
    tries: dict[ModelName, int] = field(default_factory=dict[ModelName, int])
    heard: dict[ModelName, int] = field(default_factory=dict[ModelName, int])
    """Tries the provider did answer, badly."""
    passed: dict[ModelName, float] = field(default_factory=dict[ModelName, float])
    """Models passed over because of an open breaker, and until when it is."""
    void: FailedAttempt | None = None
    """The try whose pieces were emitted and must be taken back."""

    def key_for(self, model: ModelName) -> str | None:
        """The same for tries of which nobody knows what became, another once the provider has answered."""
        if self.idempotency_key is None:
            return None
        text = f"{self.idempotency_key}\n{model}\n{self.heard.get(model, 0)}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def start(self, model: ModelName, reason: str) -> None:
        """Emit that a model is asked, after taking back what an earlier try emitted."""
        self.passed.pop(model, None)
        self.tries[model] = self.tries.get(model, 0) + 1
        if self.void is not None:
            self.emit(Restarted(failed=self.void))
            self.void = None
        self.emit(Started(model=str(model), reason=reason))

    def note(self, model: ModelName, failure: AttemptFailure, milliseconds: int) -> None:
        """Keep what failed."""
        attempt = replace(failure.attempt, milliseconds=milliseconds)
        self.attempts.append(attempt)
        if attempt.failing not in OUTCOME_UNKNOWN:
            self.heard[model] = self.heard.get(model, 0) + 1
        if failure.has_emitted:
            self.void = attempt

    def pass_over(self, model: ModelName, until: float) -> None:
        """Keep that a model was not asked; said once, however often it is looked at."""
        self.passed[model] = until
        attempt = FailedAttempt(
            model=str(model), failing="breaker-open", detail="its endpoint failed lately; not asked"
        )
        if attempt not in self.attempts:
            self.attempts.append(attempt)


@dataclass(slots=True, kw_only=True)
class Attempts:
    """Asks along a route. One for the whole gateway: the breakers are shared by all calls."""

    ask: AskModel
    breakers: Breakers
    deadlines: Deadlines = field(default_factory=Deadlines)
    explain: Explain = failure_of
    clock: Callable[[], float] = anyio.current_time
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    jitter: Callable[[], float] = random.random
    patience_seconds: float = 30
    """How long a call waits for an endpoint with an open breaker when no other model is left."""

    async def run(self, call: RoutedCall) -> RouteAnswer | RouteExhausted:
        """The first answer along the route, or every failure. Cancelling closes the connection."""
        call.ends_at = self.clock() + call.deadline_seconds
        finished = await self._along(call) or await self._after_breakers(call)
        return finished or RouteExhausted(attempts=tuple(call.attempts))

    async def _along(self, call: RoutedCall) -> RouteAnswer | None:
        for model in call.route.order:
            if self._seconds_left(call) <= 0:
                return None
            if finished := await self._at(model, call, is_last=model == call.route.order[-1]):
                return finished
        return None

    async def _after_breakers(self, call: RoutedCall) -> RouteAnswer | None:
        """Wait for the endpoints that were passed over, now that there is nothing better to do."""
        until = min(self.clock() + self.patience_seconds, call.ends_at)
        while call.passed and (left := until - self.clock()) > 0:
            model = min(call.passed, key=lambda model: call.passed[model])
            await self.breakers.wait(model.provider, min(left, max(0.0, call.passed[model] - self.clock())))
            if finished := await self._at(model, call, is_last=True):
                return finished
        return None

    async def _at(self, model: ModelName, call: RoutedCall, *, is_last: bool) -> RouteAnswer | None:
        """Every try at one model."""
        reason = call.route.reasons.get(model, "")
        while True:
            permission = self.breakers.admit(model.provider)
            if not isinstance(permission, str):
                call.pass_over(model, permission)
                return None
            call.start(model, reason)
            outcome = await self._try(model, call, is_probe=permission == "probe")
            if isinstance(outcome, ModelResponse):
                return RouteAnswer(response=outcome, model=model, reason=reason, attempts=tuple(call.attempts))
            wait_seconds = seconds_until_retry(
                outcome.attempt.failing,
                tries_on_this_model=call.tries[model],
                retry_after_seconds=outcome.retry_after_seconds,
                seconds_left=self._seconds_left(call),
                jitter=self.jitter(),
                is_last=is_last,
            )
            if wait_seconds is None:
                return None
            await self.sleep(wait_seconds)

    async def _try(self, model: ModelName, call: RoutedCall, *, is_probe: bool) -> ModelResponse | AttemptFailure:
        """One try, with the breaker told how it ended, also when it is cancelled."""
        began_at = self.clock()
        try:
            outcome = await self._put(model, call)
        except BaseException:
            if is_probe:
                self.breakers.abandoned(model.provider)
            raise
        if isinstance(outcome, ModelResponse):
            self.breakers.succeeded(model.provider)
            return outcome
        call.note(model, outcome, round(1000 * (self.clock() - began_at)))
        if is_probe and outcome.attempt.failing in NEVER_ASKED:
            self.breakers.abandoned(model.provider)
        else:
            self.breakers.failed(model.provider, outcome.attempt.failing, outcome.retry_after_seconds)
        return outcome

    async def _put(self, model: ModelName, call: RoutedCall) -> ModelResponse | AttemptFailure:
        key = call.key_for(model)
        if call.on_sent is not None:
            await call.on_sent(model, key)
        on_id = call.on_provider_id
        answer = self.ask(
            model,
            call.request,
            stream=call.stream,
            idempotency_key=key,
            on_provider_id=None if on_id is None else partial(on_id, model),
        )
        return await self._receive(answer, model, call)

    async def _receive(
        self, answer: AnswerStream, model: ModelName, call: RoutedCall
    ) -> ModelResponse | AttemptFailure:
        """The whole response, with its pieces emitted as they come; or why there is none."""
        now = anyio.current_time()
        ends_at = now + self._seconds_left(call)
        silence = self.deadlines.first_piece_seconds if call.stream else self.deadlines.answer_seconds
        response: ModelResponse | None = None
        explained: tuple[FailureKind, str, float | None] | None = None
        has_emitted = is_whole = False
        with anyio.CancelScope(deadline=min(now + silence, ends_at)) as scope:
            try:
                async with answer as events:
                    async for event in events:
                        if isinstance(event, ModelResponse):
                            response = event
                        else:
                            call.emit(Piece(event=event))
                            has_emitted = True
                            silence = self.deadlines.next_piece_seconds
                        now = anyio.current_time()
                        # Moving it costs more than the piece, so it is set a little further and moved seldom.
                        if not now + silence <= scope.deadline <= now + 1.25 * silence:
                            scope.deadline = min(now + 1.25 * silence, ends_at)
                    is_whole = True
            except Exception as error:  # noqa: BLE001 - SDKs raise whatever they like; `explain` knows what it means
                # An error raised while a deadline breaks in says only that it did.
                explained = None if scope.cancel_called else self.explain(error)
        if is_whole and response is not None:
            return response
        if scope.cancel_called:
            why = "within the call's deadline" if anyio.current_time() >= ends_at else f"for {silence:g} s"
            explained = ("timed-out", f"silent {why}" if has_emitted else f"no answer {why}", None)
        failing, detail, retry_after_seconds = explained or ("broken-answer", "it ended without an answer", None)
        usage = None if response is None else usage_of(response)
        attempt = FailedAttempt(model=str(model), failing=failing, detail=detail, usage=usage)
        return AttemptFailure(attempt=attempt, retry_after_seconds=retry_after_seconds, has_emitted=has_emitted)

    def _seconds_left(self, call: RoutedCall) -> float:
        return call.ends_at - self.clock()
