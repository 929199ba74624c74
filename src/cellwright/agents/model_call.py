"""A model call: a prompt as the messages of one request, sent as one journal step under one id.

The gateway answers a known id from its record, so a step that was cut off anywhere is never paid twice. How a call can
end is a value here; what follows from it is the loop's to decide.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Literal, assert_never

import anyio
from pydantic import TypeAdapter
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition

from cellwright.agents.agent_context import AgentContext
from cellwright.agents.assignment import Assignment
from cellwright.agents.drafts import AnswerDraft
from cellwright.agents.prompt.composition import AssignmentContext
from cellwright.agents.prompt.prompt import Prompt, PromptSpan
from cellwright.errors import RefusedByPolicy, Unavailable, UserError
from cellwright.journal.flow import Flow
from cellwright.journal.values import Json
from cellwright.kernel.task_groups import unwrap_single_error
from cellwright.models import calls
from cellwright.models.config.names import ModelName
from cellwright.policy.budgets import BudgetLedger, Limit, Reached, Unpriced, UseId
from cellwright.policy.money import Money

NO_PICTURES: Final[Mapping[str, bytes]] = MappingProxyType({})


def messages_of(prompt: Prompt, pictures: Mapping[str, bytes] = NO_PICTURES) -> list[ModelMessage]:
    """The request's messages: every span but those of the tools, which travel beside them.

    `pictures` has the spans' pictures by name; one that is not there is left out.
    """
    # One system part: providers join several with characters that no span would account for.
    system = "".join(prompt.text_of(span) for span in prompt.spans if span.place == "system")
    messages: list[ModelMessage] = [ModelRequest(parts=[SystemPromptPart(system)])] if system else []
    for span in prompt.spans:
        last = messages[-1] if messages else None
        text = prompt.text_of(span)
        match span.place:
            case "system" | "tools":
                continue
            case "said" | "call":
                if not isinstance(last, ModelResponse):
                    messages.append(last := ModelResponse(parts=[]))
                last.parts = [*last.parts, _response_part(span, text)]
            case "user" | "result":
                if not isinstance(last, ModelRequest):
                    messages.append(last := ModelRequest(parts=[]))
                last.parts = [*last.parts, _request_part(span, text, pictures.get(span.picture))]
    return messages


def _response_part(span: PromptSpan, text: str) -> ModelResponsePart:
    if span.place == "said":
        return TextPart(text)
    return ToolCallPart(tool_name=span.tool, args=_arguments(text), tool_call_id=span.call)


def _request_part(span: PromptSpan, text: str, picture: bytes | None) -> ModelRequestPart:
    if span.place == "result":
        return ToolReturnPart(tool_name=span.tool, content=text, tool_call_id=span.call)
    if picture is None:
        return UserPromptPart(text)
    return UserPromptPart([text, BinaryContent(data=picture, media_type="image/png")])


def _arguments(text: str) -> str | dict[str, Any]:
    """As an object where it is one: some providers refuse a call whose arguments are broken JSON."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else json.dumps({"broken": text[:500]})


_MICRO: Final = Decimal(1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReceived:
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
        ledger = BudgetLedger(limits=limits)
        if self.used is not None:
            return Reached(ledger=ledger, limit=self.limit, party=self.party, used=self.used)
        why = "nobody knows what this model costs"
        return Unpriced(ledger=ledger, limit=self.limit, party=self.party, why=why, use=UseId(self.call))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLost:
    """It was sent, and nobody knows what came of it."""

    kind: Literal["lost"] = "lost"
    model: str
    sent_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCancelled:
    """Somebody cancelled the call."""

    kind: Literal["taken-back"] = "taken-back"
    why: str = ""
    """Who wanted the agent to stop; empty: somebody cancelled this call alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoModel:
    """No model answered."""

    kind: Literal["no-model"] = "no-model"
    message: str


ModelOutcome = AnswerReceived | OverBudget | AnswerLost | CallCancelled | NoModel
_MODEL_OUTCOME: Final[TypeAdapter[ModelOutcome]] = TypeAdapter(ModelOutcome)

StorePrompt = Callable[[], Awaitable[str]]
"""Keeps what the model is about to read, and gives its name."""
WaitForStop = Callable[[], Awaitable[str]]
"""Waits until somebody wants the agent to stop, and says who."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCaller:
    """Who thinks, on whose account, with which models."""

    context: AgentContext
    assignment: Assignment
    brief: AssignmentContext
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
    ) -> calls.ModelCall:
        """The call of this step; its id follows from the run, the step and the request alone."""
        settings: dict[str, Any] = (
            {"parallel_tool_calls": False} if self.brief.style == "one-call" and self.tools else {}
        )
        if self.brief.role.temperature is not None:
            settings["temperature"] = self.brief.role.temperature
        request = calls.Request(messages=messages_of(prompt, pictures), tools=tuple(self.tools), settings=settings)
        named = tuple(ModelName.parse(name) for name in self.assignment.models)
        return calls.ModelCall(
            id=calls.call_id(run=flow.id, step=f"think-{step}", request=request),
            request=request,
            choice=calls.Choice(models=named, tier=self.brief.role.tier, private=self.assignment.is_private),
            payer=calls.Payer(
                run=flow.run,
                step=f"{flow.id}#{step}",
                role=self.brief.role.name,
                person=self.context.person,
                team=self.assignment.team,
            ),
            limits=limits,
            stream=True,
            if_unknown="again" if again else "tell",
        )

    async def send(
        self, flow: Flow, name: str, call: calls.ModelCall, keep: StorePrompt, until_stopped: WaitForStop
    ) -> ModelOutcome:
        """Ask, once: the step of this name keeps how it ended. Whoever stops the agent stops the call."""

        async def work() -> Json:
            context = await keep()
            with self._draft(call) as draft:
                thought = await self._ask(call, context, until_stopped, partial(_draw, draft))
                if isinstance(thought, AnswerReceived):
                    draft.finish()
            return _MODEL_OUTCOME.dump_python(thought, mode="json")

        return _MODEL_OUTCOME.validate_python(await flow.step(name, work))

    @contextmanager
    def _draft(self, call: calls.ModelCall) -> Generator[AnswerDraft]:
        """Shows the answer while it is made. One that is whole stays, until the agent's next: its record follows."""
        agent, _, step = call.payer.step.rpartition("#")
        draft = self.context.drafts.begin(agent, int(step), self.context.masker)
        try:
            yield draft
        finally:
            if not draft.is_done:
                self.context.drafts.discard(agent)

    async def _ask(
        self, call: calls.ModelCall, context: str, until_stopped: WaitForStop, on_update: calls.OnUpdate
    ) -> ModelOutcome:
        thought: ModelOutcome = CallCancelled()
        stopped = ""

        async def heed() -> None:
            nonlocal stopped
            stopped = await until_stopped()
            await self.context.models.cancel(call.id)

        try:
            with unwrap_single_error():
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(heed)
                    thought = model_outcome(call, await self.context.models.ask(call, on_update), context)
                    tasks.cancel_scope.cancel()
        except (Unavailable, UserError, RefusedByPolicy) as problem:
            return NoModel(message=f"{problem.message} {problem.hint}".rstrip())
        return replace(thought, why=stopped) if isinstance(thought, CallCancelled) else thought


def _draw(draft: AnswerDraft, update: calls.Update) -> None:
    """What is emitted, into the draft."""
    match update:
        case calls.Restarted():
            draft.restart()
        case calls.Piece(event=PartStartEvent(index=index, part=TextPart(content=text))):
            draft.begin_part(index, tool=None, text=text)
        case calls.Piece(event=PartStartEvent(index=index, part=ToolCallPart(tool_name=tool, args=args))):
            # A text as it is: it may be the beginning of one, which pydantic-ai would wrap as broken.
            text = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False) if args else ""
            draft.begin_part(index, tool=tool, text=text)
        case calls.Piece(event=PartDeltaEvent(index=index, delta=TextPartDelta(content_delta=text))):
            draft.add(index, text)
        case calls.Piece(event=PartDeltaEvent(index=index, delta=ToolCallPartDelta(args_delta=str(text)))):
            draft.add(index, text)
        case _:
            # What a model thinks before it speaks is no part of its answer.
            pass


def read_response(answer: AnswerReceived) -> ModelResponse:
    """The answer as a message."""
    [message] = ModelMessagesTypeAdapter.validate_python([answer.response])
    assert isinstance(message, ModelResponse)
    return message


def limits_after(limits: tuple[Limit, ...], ledger: BudgetLedger, run: str, stopped: OverBudget) -> tuple[Limit, ...]:
    """The limits to go on with once a person has said how.

    Where they let it go on although a price is unknown, the gateway cannot set it against that limit: it goes.
    """
    if run in ledger.uncounted:
        return tuple(limit for limit in ledger.limits if limit.measure != "money")
    if UseId(stopped.call) in ledger.prices:
        return tuple(limit for limit in ledger.limits if limit != stopped.limit)
    return ledger.limits or limits


def model_outcome(call: calls.ModelCall, outcome: calls.Outcome, context: str) -> ModelOutcome:
    """How a call ended, as a value that a step keeps."""
    match outcome:
        case calls.ModelAnswer():
            [message] = ModelMessagesTypeAdapter.dump_python([outcome.response], mode="json")
            return AnswerReceived(
                response=message,
                model=outcome.model,
                input_tokens=outcome.usage.input_tokens,
                output_tokens=outcome.usage.output_tokens,
                cached_tokens=outcome.usage.cache_read_tokens,
                microdollars=_microdollars(outcome),
                context=context,
            )
        case calls.BudgetReached():
            return OverBudget(
                limit=outcome.limit, party=outcome.party, question=outcome.question, call=call.id, used=outcome.used
            )
        case calls.AnswerUnknown():
            return AnswerLost(model=outcome.model, sent_at=outcome.sent_at)
        case calls.Cancelled():
            return CallCancelled()
        case _:
            assert_never(outcome)


def _microdollars(outcome: calls.ModelAnswer) -> int | None:
    price = outcome.price
    return int(price.amount * _MICRO) if isinstance(price, Money) and price.currency == "USD" else None
