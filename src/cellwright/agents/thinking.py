"""One thought: a request to a model as one journal step, whose call has the same id whenever the step is done again.

The gateway answers a known id from its record, so a step that was cut off anywhere is never paid twice. How a call can
end is a value here; what follows from it is the loop's to decide.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final, Literal, assert_never

import anyio
from pydantic import TypeAdapter
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.tools import ToolDefinition

from cellwright.agents.assignment import Assignment
from cellwright.agents.context import Prompt
from cellwright.agents.messages import NO_PICTURES, messages_of
from cellwright.agents.role import Role
from cellwright.agents.studio import Models
from cellwright.agents.styles import Style
from cellwright.errors import CellwrightError, RefusedByPolicy, Unavailable, UserError
from cellwright.journal import Flow, Json
from cellwright.kernel.lifetimes import plain_errors
from cellwright.models.calls import (
    Answered,
    AnswerUnknown,
    BudgetReached,
    Call,
    Cancelled,
    Choice,
    Outcome,
    Payer,
    Request,
    call_id,
)
from cellwright.models.names import ModelName
from cellwright.policy import Ledger, Limit, Money, Reached, Unpriced, UseId

_MICRO: Final = Decimal(1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The model answered."""

    kind: Literal["answer"] = "answer"
    response: Any
    """As JSON; `read_response` makes a message of it."""
    model: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    microdollars: int | None
    """None where nobody knows the price in dollars."""
    context: str = ""
    """Under which name what it read is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverBudget:
    """Nothing was sent: a limit stands against it."""

    kind: Literal["over-budget"] = "over-budget"
    limit: Limit
    party: str
    question: str
    call: str
    used: Decimal | None

    def stop(self, limits: tuple[Limit, ...]) -> Reached | Unpriced:
        """As policy's own value, to be put to a person."""
        ledger = Ledger(limits=limits)
        if self.used is not None:
            return Reached(ledger=ledger, limit=self.limit, party=self.party, used=self.used)
        why = "nobody knows what this model costs"
        return Unpriced(ledger=ledger, limit=self.limit, party=self.party, why=why, use=UseId(self.call))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """It was sent, and nobody knows what came of it."""

    kind: Literal["lost"] = "lost"
    model: str
    sent_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBack:
    """Somebody cancelled the call."""

    kind: Literal["taken-back"] = "taken-back"
    why: str = ""
    """Who wanted the agent to stop; empty: somebody cancelled this call alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoModel:
    """No model answered."""

    kind: Literal["no-model"] = "no-model"
    message: str


Thought = Answer | OverBudget | Lost | TakenBack | NoModel
_THOUGHT: Final[TypeAdapter[Thought]] = TypeAdapter(Thought)

Keep = Callable[[], Awaitable[str]]
"""Keeps what the model is about to read, and gives its name."""
UntilStopped = Callable[[], Awaitable[str]]
"""Waits until somebody wants the agent to stop, and says who."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinker:
    """Who thinks, on whose account, with which models."""

    models: Models
    assignment: Assignment
    role: Role
    style: Style
    person: str
    tools: Sequence[ToolDefinition]

    def call(
        self,
        flow: Flow,
        step: int,
        prompt: Prompt,
        limits: tuple[Limit, ...],
        *,
        pictures: Mapping[str, bytes] = NO_PICTURES,
        again: bool,
    ) -> Call:
        """The call of this step; its id follows from the run, the step and the request alone."""
        settings: dict[str, Any] = {"parallel_tool_calls": False} if self.style == "one-call" and self.tools else {}
        if self.role.temperature is not None:
            settings["temperature"] = self.role.temperature
        request = Request(messages=messages_of(prompt, pictures), tools=tuple(self.tools), settings=settings)
        named = tuple(ModelName.parse(name) for name in self.assignment.models)
        return Call(
            id=call_id(run=flow.id, step=f"think-{step}", request=request),
            request=request,
            choice=Choice(models=named, tier=self.role.tier, private=self.assignment.is_private),
            payer=Payer(
                run=flow.run,
                step=f"{flow.id}#{step}",
                role=self.role.name,
                person=self.person,
                team=self.assignment.team,
            ),
            limits=limits,
            if_unknown="again" if again else "tell",
        )

    async def think(self, flow: Flow, name: str, call: Call, keep: Keep, until_stopped: UntilStopped) -> Thought:
        """Ask, once: the step of this name keeps how it ended. Whoever stops the agent stops the call."""

        async def work() -> Json:
            context = await keep()
            return _THOUGHT.dump_python(await self._ask(call, context, until_stopped), mode="json")

        return _THOUGHT.validate_python(await flow.step(name, work))

    async def _ask(self, call: Call, context: str, until_stopped: UntilStopped) -> Thought:
        thought: Thought = TakenBack()
        stopped = ""

        async def heed() -> None:
            nonlocal stopped
            stopped = await until_stopped()
            await self.models.cancel(call.id)

        try:
            with plain_errors():
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(heed)
                    thought = _thought(call, await self.models.ask(call), context)
                    tasks.cancel_scope.cancel()
        except (Unavailable, UserError, RefusedByPolicy) as problem:
            return NoModel(message=_said(problem))
        return replace(thought, why=stopped) if isinstance(thought, TakenBack) else thought


def read_response(answer: Answer) -> ModelResponse:
    """The answer as a message."""
    [message] = ModelMessagesTypeAdapter.validate_python([answer.response])
    assert isinstance(message, ModelResponse)
    return message


def limits_after(limits: tuple[Limit, ...], ledger: Ledger, run: str, stopped: OverBudget) -> tuple[Limit, ...]:
    """The limits to go on with once a person has said how.

    Where they let it go on although a price is unknown, the gateway cannot set it against that limit: it goes.
    """
    if run in ledger.uncounted:
        return tuple(limit for limit in ledger.limits if limit.measure != "money")
    if UseId(stopped.call) in ledger.prices:
        return tuple(limit for limit in ledger.limits if limit != stopped.limit)
    return ledger.limits or limits


def _thought(call: Call, outcome: Outcome, context: str) -> Thought:
    match outcome:
        case Answered():
            [message] = ModelMessagesTypeAdapter.dump_python([outcome.response], mode="json")
            return Answer(
                response=message,
                model=outcome.model,
                input_tokens=outcome.usage.input_tokens,
                output_tokens=outcome.usage.output_tokens,
                cached_tokens=outcome.usage.cache_read_tokens,
                microdollars=_microdollars(outcome),
                context=context,
            )
        case BudgetReached():
            return OverBudget(
                limit=outcome.limit,
                party=outcome.party,
                question=outcome.question,
                call=call.id,
                used=outcome.used,
            )
        case AnswerUnknown():
            return Lost(model=outcome.model, sent_at=outcome.sent_at)
        case Cancelled():
            return TakenBack()
        case _:
            assert_never(outcome)


def _microdollars(outcome: Answered) -> int | None:
    price = outcome.price
    return int(price.amount * _MICRO) if isinstance(price, Money) and price.currency == "USD" else None


def _said(problem: CellwrightError) -> str:
    return f"{problem.message} {problem.hint}".rstrip()
