"""Asking the models of a route in turn until one answers: retries, breakers, fallback, restarts.

What two tries say is never joined: a try that failed after telling pieces is followed by `Restarted`.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import anyio
from pydantic_ai.messages import ModelResponse

from cellwright.errors import ModelUnavailable
from cellwright.models.breaker import NEVER_ASKED, Breakers, No, Probe
from cellwright.models.calls import Attempt, Failing, Request, Restarted, Started, Update
from cellwright.models.failing import failure_of
from cellwright.models.hearing import Ask, Deadlines, Explain, Failure, hear
from cellwright.models.names import ModelName
from cellwright.models.retrying import GiveUp, NextModel, RetryAfter, next_move
from cellwright.models.routing import Route

OnSent = Callable[[ModelName, str | None], Awaitable[None]]
OnProviderId = Callable[[ModelName, str], None]

UNHEARD: Final[frozenset[Failing]] = frozenset({"connection", "timed-out"})
"""After these nobody knows whether the provider took the request: the next try carries the same idempotency key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """One model answered."""

    response: ModelResponse
    model: ModelName
    reason: str
    """Why this model was asked."""
    attempts: tuple[Attempt, ...]
    """What was tried before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhausted:
    """None did."""

    attempts: tuple[Attempt, ...]

    def error(self) -> ModelUnavailable:
        """Names every attempt."""
        tried = "; ".join(f"{attempt.model}: {attempt.failing} ({attempt.detail})" for attempt in self.attempts)
        return ModelUnavailable(
            f"No model answered. Tried: {tried}." if tried else "There was no time to ask a model.",
            hint="`cellwright models test` shows which models answer now; add another to the chain as a fallback.",
        )


@dataclass(slots=True, kw_only=True)
class _Progress:
    """One call on its way along the route."""

    request: Request
    stream: bool
    ends_at: float
    tell: Callable[[Update], None]
    on_sent: OnSent | None
    on_provider_id: OnProviderId | None
    idempotency_key: str | None
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    tries: dict[ModelName, int] = field(default_factory=dict[ModelName, int])
    heard: dict[ModelName, int] = field(default_factory=dict[ModelName, int])
    """Tries the provider did answer, badly."""
    passed: dict[ModelName, float] = field(default_factory=dict[ModelName, float])
    """Models passed over because of an open breaker, and until when it is."""
    void: Attempt | None = None
    """The try whose pieces were told and must be taken back."""

    def key_for(self, model: ModelName) -> str | None:
        """The same for tries of which nobody knows what became, another once the provider has answered."""
        if self.idempotency_key is None:
            return None
        text = f"{self.idempotency_key}\n{model}\n{self.heard.get(model, 0)}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def start(self, model: ModelName, reason: str) -> None:
        """Tell that a model is asked, after taking back what an earlier try told."""
        self.passed.pop(model, None)
        self.tries[model] = self.tries.get(model, 0) + 1
        if self.void is not None:
            self.tell(Restarted(failed=self.void))
            self.void = None
        self.tell(Started(model=str(model), reason=reason))

    def note(self, model: ModelName, failure: Failure, milliseconds: int) -> None:
        """Keep what failed."""
        attempt = Attempt(
            model=str(model),
            failing=failure.failing,
            detail=failure.detail,
            milliseconds=milliseconds,
            usage=failure.usage,
        )
        self.attempts.append(attempt)
        if failure.failing not in UNHEARD:
            self.heard[model] = self.heard.get(model, 0) + 1
        if failure.has_told:
            self.void = attempt

    def pass_over(self, model: ModelName, until: float) -> None:
        """Keep that a model was not asked; said once, however often it is looked at."""
        self.passed[model] = until
        attempt = Attempt(model=str(model), failing="breaker-open", detail="its endpoint failed lately; not asked")
        if attempt not in self.attempts:
            self.attempts.append(attempt)


@dataclass(slots=True, kw_only=True)
class Attempts:
    """Asks along a route. One for the whole gateway: the breakers are shared by all calls."""

    ask: Ask
    breakers: Breakers
    deadlines: Deadlines = field(default_factory=Deadlines)
    explain: Explain = failure_of
    clock: Callable[[], float] = anyio.current_time
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    jitter: Callable[[], float] = random.random
    patience_seconds: float = 30
    """How long a call waits for an endpoint with an open breaker when no other model is left."""

    async def run(
        self,
        request: Request,
        route: Route,
        *,
        stream: bool,
        deadline_seconds: float,
        tell: Callable[[Update], None],
        on_sent: OnSent | None = None,
        on_provider_id: OnProviderId | None = None,
        idempotency_key: str | None = None,
    ) -> Finished | Exhausted:
        """The first answer along the route, or every failure.

        `tell` hears `Started` before each try, `Piece`s as they come, `Restarted` when they are void. `on_sent` is
        awaited before anything goes out, with the idempotency key it will carry. Cancelling closes the connection.
        """
        progress = _Progress(
            request=request,
            stream=stream,
            ends_at=self.clock() + deadline_seconds,
            tell=tell,
            on_sent=on_sent,
            on_provider_id=on_provider_id,
            idempotency_key=idempotency_key,
        )
        finished = await self._along(route, progress) or await self._once_back(route, progress)
        return finished or Exhausted(attempts=tuple(progress.attempts))

    async def _along(self, route: Route, progress: _Progress) -> Finished | None:
        for position, model in enumerate(route.order):
            if self._seconds_left(progress) <= 0:
                return None
            is_last = position == len(route.order) - 1
            finished = await self._at(model, route, progress, is_last=is_last)
            if finished is not None:
                return finished
        return None

    async def _once_back(self, route: Route, progress: _Progress) -> Finished | None:
        """Wait for the endpoints that were passed over, now that there is nothing better to do."""
        until = min(self.clock() + self.patience_seconds, progress.ends_at)
        while progress.passed and (left := until - self.clock()) > 0:
            model = min(progress.passed, key=lambda model: progress.passed[model])
            await self.breakers.wait(model.provider, min(left, max(0.0, progress.passed[model] - self.clock())))
            finished = await self._at(model, route, progress, is_last=True)
            if finished is not None:
                return finished
        return None

    async def _at(self, model: ModelName, route: Route, progress: _Progress, *, is_last: bool) -> Finished | None:
        """Every try at one model."""
        reason = route.reasons.get(model, "")
        while True:
            permission = self.breakers.enter(model.provider)
            if isinstance(permission, No):
                progress.pass_over(model, permission.until)
                return None
            progress.start(model, reason)
            outcome = await self._try(model, progress, is_probe=isinstance(permission, Probe))
            if isinstance(outcome, ModelResponse):
                return Finished(response=outcome, model=model, reason=reason, attempts=tuple(progress.attempts))
            move = next_move(
                outcome.failing,
                tries_on_this_model=progress.tries[model],
                retry_after_seconds=outcome.retry_after_seconds,
                seconds_left=self._seconds_left(progress),
                jitter=self.jitter(),
                is_last=is_last,
            )
            match move:
                case RetryAfter(seconds=seconds):
                    await self.sleep(seconds)
                case NextModel() | GiveUp():
                    return None

    async def _try(self, model: ModelName, progress: _Progress, *, is_probe: bool) -> ModelResponse | Failure:
        """One try, with the breaker told how it ended, also when it is cancelled."""
        began_at = self.clock()
        try:
            outcome = await self._put(model, progress)
        except BaseException:
            if is_probe:
                self.breakers.abandoned(model.provider)
            raise
        if isinstance(outcome, ModelResponse):
            self.breakers.succeeded(model.provider)
            return outcome
        progress.note(model, outcome, round(1000 * (self.clock() - began_at)))
        if is_probe and outcome.failing in NEVER_ASKED:
            self.breakers.abandoned(model.provider)
        else:
            self.breakers.failed(model.provider, outcome.failing, outcome.retry_after_seconds)
        return outcome

    async def _put(self, model: ModelName, progress: _Progress) -> ModelResponse | Failure:
        key = progress.key_for(model)
        if progress.on_sent is not None:
            await progress.on_sent(model, key)
        on_id = progress.on_provider_id
        answer = self.ask(
            model,
            progress.request,
            stream=progress.stream,
            idempotency_key=key,
            on_provider_id=None if on_id is None else partial(on_id, model),
        )
        return await hear(
            answer,
            stream=progress.stream,
            deadlines=self.deadlines,
            seconds_left=self._seconds_left(progress),
            tell=progress.tell,
            explain=self.explain,
        )

    def _seconds_left(self, progress: _Progress) -> float:
        return progress.ends_at - self.clock()
