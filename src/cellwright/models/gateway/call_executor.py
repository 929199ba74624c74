"""Calls being worked on. A call belongs to the gateway, not to who asked: it goes on when the asker is gone.

The record is written to the disk in a thread, while calls go on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Final

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from pydantic_ai.messages import ModelResponseStreamEvent, PartDeltaEvent, TextPartDelta, ToolCallPartDelta

from cellwright.errors import CellwrightError, Defect, Unavailable
from cellwright.idle import IdleTimer
from cellwright.models.calls import (
    ENDPOINT_FAILURES,
    AnswerUnknown,
    BudgetReached,
    Cancelled,
    Choice,
    FailedAttempt,
    ModelAnswer,
    ModelCall,
    Outcome,
    Piece,
    Restarted,
    TokenUsage,
    Update,
)
from cellwright.models.config.catalogue import is_worth_probing
from cellwright.models.config.names import CallId, ModelName
from cellwright.models.gateway.call_plan import CallPlan, CallPlanner, embed
from cellwright.models.gateway.gateway_reports import GatewayReports
from cellwright.models.gateway.in_flight import AtGatewayCrash, GatewayCrash, InFlightCall, Subscription
from cellwright.models.gateway.model_probe import probe_model
from cellwright.models.gateway.model_registry import ModelRegistry
from cellwright.models.money.budgets import BYTES_PER_TOKEN, estimate
from cellwright.models.money.call_records import SentCall, another_request, is_worth_keeping
from cellwright.models.money.ledger import Ledger
from cellwright.models.providers.failures import failure_of
from cellwright.models.providers.sdk_clients import BEFORE_SENDING
from cellwright.models.routing.fallback import Attempts, RouteAnswer, RoutedCall, RouteExhausted, usage_of
from cellwright.policy.money import Money

logger = logging.getLogger(__name__)

_ANSWER_SYNC_DELAY_SECONDS: Final = 0.025
"""Limit of how long a recorded answer waits for the disk. Only a power cut can lose it, and then it is unknown."""


class LedgerSync:
    """One wait for the disk, begun in one task and awaited in another."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._is_over = anyio.Event()
        self._problem: Unavailable | None = None

    async def run(self) -> None:
        """Have everything told so far written. Once begun it is finished."""
        try:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._ledger.sync)
        except Unavailable as problem:
            logger.warning("%s", problem.message)
            self._problem = problem
        finally:
            self._is_over.set()

    async def done(self) -> None:
        """Until it is written. Raises `Unavailable` if it could not be."""
        await self._is_over.wait()
        if self._problem is not None:
            raise self._problem


class AnswerSync:
    """Writes answers to the disk soon: those that come together with one wait, or with that of the next request."""

    def __init__(self, ledger: Ledger, tasks: TaskGroup) -> None:
        self._ledger = ledger
        self._tasks = tasks
        self._is_coming = False

    def soon(self) -> None:
        """An answer was recorded."""
        if not self._is_coming:
            self._is_coming = True
            self._tasks.start_soon(self._run)

    async def _run(self) -> None:
        await anyio.sleep(_ANSWER_SYNC_DELAY_SECONDS)
        self._is_coming = False
        if not self._ledger.is_synced:
            await LedgerSync(self._ledger).run()


_FREE: Final = Money(amount=Decimal(0))


class _OverBudget(Exception):
    """The next model of the chain would pass a limit."""

    def __init__(self, reached: BudgetReached) -> None:
        super().__init__(reached.question)
        self.reached = reached


@dataclass(eq=False, kw_only=True)
class CallExecutor:
    """Every call in flight, by id."""

    registry: ModelRegistry
    ledger: Ledger
    planner: CallPlanner
    attempts: Attempts
    reports: GatewayReports
    idle: IdleTimer
    tasks: TaskGroup
    at_crash: AtGatewayCrash
    _flights: dict[CallId, InFlightCall] = field(default_factory=dict[CallId, InFlightCall], init=False)

    def __post_init__(self) -> None:
        self._answer_sync = AnswerSync(self.ledger, self.tasks)

    @property
    def in_flight(self) -> int:
        """How many calls are being worked on."""
        return len(self._flights)

    def start(self, call: ModelCall) -> Subscription:
        """Begin this call, or join it, or answer it from the record: never twice."""
        flight = self._flights.get(call.id)
        if flight is None:
            flight = self._flights[call.id] = InFlightCall(call)
            self.tasks.start_soon(self._fly, flight)
        elif flight.call.request.hash != call.request.hash:
            flight = InFlightCall(call)
            flight.finish(another_request(call.id))
        return Subscription(flight)

    async def cancel(self, call: CallId) -> bool:
        """Stop it and stop paying. False if it is not in flight; its subscribers are told `Cancelled`."""
        flight = self._flights.get(call)
        if flight is None:
            return False
        flight.scope.cancel()
        return True

    async def drained(self) -> None:
        """Until nothing is in flight."""
        while self._flights:
            await Subscription(next(iter(self._flights.values()))).ended()

    async def embed(self, texts: Sequence[str], choice: Choice) -> list[list[float]]:
        """One vector per text, by the first model of the choice (tier `embed` by default) that answers."""
        with self.idle.busy():
            return await embed(self.registry, self.ledger, texts, choice)

    async def _fly(self, flight: InFlightCall) -> None:
        """Carry one call to its end, whatever that is."""
        # What stays if the gateway ends under it; the record knows better.
        end: Outcome | CellwrightError = Unavailable("The model gateway ended.", hint="Ask again with the same id.")
        try:
            with self.idle.busy():
                with flight.scope:
                    end = await self._begin(flight)
                if flight.scope.cancelled_caught:
                    end = self._taken_back(flight)
        except CellwrightError as error:
            end = error
        except Exception as error:
            defect = Defect(f"The model gateway failed: {type(error).__name__}.")
            logger.exception("call %s, defect %s", flight.call.id, defect.report_id)
            end = defect
        finally:
            # Before its end is told, so that nobody joins a call that has ended.
            del self._flights[flight.call.id]
            self.planner.budgets.release(flight.call.id)
            self.ledger.let_go(flight.call.id)
            flight.finish(end)

    async def _begin(self, flight: InFlightCall) -> Outcome:
        call = flight.call
        # Even who would risk paying again gets the answer that can still be fetched.
        begun = self.ledger.begin(replace(call, if_unknown="tell"))
        if isinstance(begun, SentCall):
            begun = await self._lost(call, begun)
            if isinstance(begun, AnswerUnknown) and call.if_unknown == "again":
                self.ledger.begin(call)
                return await self._answer(flight)
        elif begun is None:
            self.at_crash(GatewayCrash.BEGUN)
            return await self._answer(flight)
        return begun

    async def _answer(self, flight: InFlightCall) -> Outcome:
        """Ask the models of its route, unless it may not be paid or an equal request was answered before."""
        call, began = flight.call, time.monotonic()
        plan = await self.planner.plan(call)
        if isinstance(plan, BudgetReached):
            return plan
        first = str(plan.route.order[0])
        may_cache = call.cache and self.registry.configuration().cache
        if may_cache and (kept := self.ledger.cached(call.request.hash, first)) is not None:
            self.ledger.answered(call.id, kept)
            return kept
        try:
            await self._prepare(call, plan.route.order[0])
            ended = await self._attempt(flight, plan)
        except _OverBudget as over:
            await self._written(lambda: self.ledger.failed(call.id, ()))
            return over.reached
        match ended:
            case RouteAnswer():
                answered = self._answered(ended, began)
                self.at_crash(GatewayCrash.ANSWERED_UNRECORDED)
                keeps = may_cache and is_worth_keeping(answered, first)
                self.ledger.answered(call.id, answered, cache_for=first if keeps else "", is_synced=False)
                self._answer_sync.soon()
                self.at_crash(GatewayCrash.RECORDED_UNTOLD)
                return answered
            case RouteExhausted(attempts=attempts):
                await self._written(lambda: self.ledger.failed(call.id, attempts))
                raise RouteExhausted(attempts=tuple(map(self._masked, attempts))).error()

    async def _prepare(self, call: ModelCall, first: ModelName) -> None:
        """Know how the first model wants to be asked, if that matters and only trying can show it."""
        await self.registry.load(first)
        has_shape = bool(call.request.tools) or call.request.output is not None
        if has_shape and is_worth_probing(first, self.registry.configuration(), self.registry.probed):
            try:
                await probe_model(self.registry, self.ledger, first)
            except Exception as error:  # noqa: BLE001 - the call itself will show what is wrong, and fall back
                logger.warning("%s could not be tried: %s", first, failure_of(error)[0])

    async def _attempt(self, flight: InFlightCall, plan: CallPlan) -> RouteAnswer | RouteExhausted:
        call = flight.call

        async def on_sent(model: ModelName, idempotency_key: str | None) -> None:
            # Held for the first model already; a fallback may cost more.
            if (reached := self.planner.reserve(call, plan, model)) is not None:
                raise _OverBudget(reached)
            self.ledger.sent(
                call.id,
                str(model),
                idempotency_key=idempotency_key or "",
                is_background=self.registry.endpoint(model).background,
                estimate=plan.estimate,
                price=self.registry.price_of(model, plan.estimate),
                is_synced=self.in_flight == 1,
            )
            if self.in_flight > 1:
                sync = LedgerSync(self.ledger)
                self.tasks.start_soon(sync.run)
                BEFORE_SENDING.set(sync.done)
            flight.sent_to = str(model)
            self.at_crash(GatewayCrash.SENT)

        def on_provider_id(model: ModelName, response_id: str) -> None:
            # Elsewhere an answer cannot be fetched by its id, and another write would only take time.
            if self.registry.endpoint(model).background:
                self.ledger.provider_id(call.id, response_id)

        routed = RoutedCall(
            request=call.request,
            route=plan.route,
            stream=call.stream,
            deadline_seconds=call.deadline_seconds,
            emit=self._emitter(flight),
            on_sent=on_sent,
            on_provider_id=on_provider_id,
            idempotency_key=call.id,
        )
        return await self.attempts.run(routed)

    def _emitter(self, flight: InFlightCall) -> Callable[[Update], None]:
        def emit(update: Update) -> None:
            if type(update) is Restarted:
                self.ledger.attempted(flight.call.id, update.failed)
                update = Restarted(failed=self._masked(update.failed))
            flight.add_update(update)
            if type(update) is Piece:
                self.at_crash(GatewayCrash.FIRST_PIECE)

        return emit

    def _answered(self, finished: RouteAnswer, began: float) -> ModelAnswer:
        usage = usage_of(finished.response) or TokenUsage()
        return ModelAnswer(
            response=finished.response,
            model=str(finished.model),
            usage=usage,
            price=self.registry.price_of(finished.model, usage),
            reason=finished.reason,
            attempts=tuple(map(self._masked, finished.attempts)),
            milliseconds=round(1000 * (time.monotonic() - began)),
        )

    async def _lost(self, call: ModelCall, sent: SentCall) -> Outcome:
        """A gateway died while this was in flight: its answer, if the provider kept it for us."""
        unknown, again = AnswerUnknown(model=sent.model, sent_at=sent.sent_at), "Ask again with the same id."
        if not sent.is_resumable:
            return unknown
        began, name = time.monotonic(), ModelName.parse(sent.model)
        try:
            with anyio.fail_after(call.deadline_seconds):
                response = await self.registry.resume(name, call.request, sent.response_id)
        except TimeoutError as error:
            raise Unavailable(f"{name} is still making its answer.", hint=again) from error
        except Exception as error:  # noqa: BLE001 - SDKs raise whatever they like; `failure_of` knows what it means
            failing, detail, _ = failure_of(error)
            if failing in ENDPOINT_FAILURES:
                raise Unavailable(
                    f"The answer cannot be fetched now: {self.registry.mask(detail)}", hint=again
                ) from None
            logger.warning("call %s: its answer cannot be fetched (%s)", call.id, failing)
            return unknown
        reason = "fetched after the gateway that asked for it had died"
        answered = self._answered(RouteAnswer(response=response, model=name, reason=reason, attempts=()), began)
        self.ledger.answered(call.id, answered)
        return answered

    def _taken_back(self, flight: InFlightCall) -> Cancelled:
        """What a cancelled call used until then: all that was sent and what had been said, estimated."""
        call, cancelled = flight.call, Cancelled(model="", usage=TokenUsage(), price=_FREE)
        if flight.sent_to:
            said = sum(_size(update.event) for update in flight.updates if isinstance(update, Piece))
            usage = estimate(call.request, output_tokens=-(-said // BYTES_PER_TOKEN))
            price = self.registry.price_of(flight.sent_to, usage)
            cancelled = Cancelled(model=flight.sent_to, usage=usage, price=price)
        self.ledger.cancelled(call.id, cancelled)
        return cancelled

    async def _written(self, write: Callable[[], None]) -> None:
        """Write to the record. A disk may take its time: beside other calls, in a thread. Once begun it is finished."""
        if self.in_flight == 1:
            write()
            return
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(write)

    def _masked(self, attempt: FailedAttempt) -> FailedAttempt:
        return replace(attempt, detail=self.registry.mask(attempt.detail))


def _size(event: ModelResponseStreamEvent) -> int:
    """How many bytes of the answer a piece carries."""
    match event:
        case PartDeltaEvent(
            delta=TextPartDelta(content_delta=str() as text) | ToolCallPartDelta(args_delta=str() as text)
        ):
            return len(text.encode())
        case _:
            return 0
