"""What a model answered, in OpenAI's words. Pure: values in, plain JSON values out."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, assert_never

from pydantic_ai.messages import (
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_core import to_json

from cellwright.errors import CellwrightError, RefusedByPolicy, Unavailable, UserError
from cellwright.models.calls import (
    AnswerUnknown,
    BudgetReached,
    Cancelled,
    ModelAnswer,
    Piece,
    Restarted,
    Started,
    Update,
)
from cellwright.models.calls import TokenUsage as Used
from cellwright.models.config.names import TIERS
from cellwright.models.reports import ListedModel
from cellwright.policy.money import Money

Json = dict[str, Any]
DONE: Final = b"data: [DONE]\n\n"

_REASONS: Final[Mapping[str | None, str]] = {"length": "length", "content_filter": "content_filter"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIFailure:
    """Why there is no answer: the status, and the body OpenAI's clients understand."""

    status: int
    message: str
    type: str
    code: str

    @property
    def body(self) -> Json:
        """As JSON."""
        return {"error": {"message": self.message, "type": self.type, "param": None, "code": self.code}}


_FAILURES: Final[Mapping[type[CellwrightError | BudgetReached | AnswerUnknown | Cancelled], tuple[int, str, str]]] = {
    BudgetReached: (402, "insufficient_quota", "cellwright_budget_reached"),
    AnswerUnknown: (409, "answer_unknown", "cellwright_answer_unknown"),
    Cancelled: (499, "cancelled", "cellwright_cancelled"),
    UserError: (400, "invalid_request_error", "cellwright_bad_request"),
    RefusedByPolicy: (403, "permission_error", "cellwright_refused"),
    Unavailable: (503, "server_error", "cellwright_unavailable"),
    CellwrightError: (500, "server_error", "cellwright_defect"),
}


def failure_of(problem: CellwrightError | BudgetReached | AnswerUnknown | Cancelled) -> OpenAIFailure:
    """The failure a client is told."""
    match problem:
        case BudgetReached():
            message = problem.question
        case AnswerUnknown():
            message = f"It was sent to {problem.model} at {problem.sent_at}, and nobody knows what came of it."
        case Cancelled():
            message = "The call was taken back."
        case _:
            message = f"{problem.message} {problem.hint}".strip()
    status, type_, code = next(row for kind, row in _FAILURES.items() if isinstance(problem, kind))
    return OpenAIFailure(status=status, message=message, type=type_, code=code)


def completion(answered: ModelAnswer, *, identity: str, created: int) -> Json:
    """The body of a chat completion that is not streamed."""
    choice = {
        "index": 0,
        "message": _message(answered.response),
        "logprobs": None,
        "finish_reason": _finish_reason(answered.response),
    }
    return {
        "id": identity,
        "object": "chat.completion",
        "created": created,
        "model": answered.model,
        "choices": [choice],
        "usage": _usage(answered.usage),
        "cellwright": _account(answered),
    }


@dataclass(slots=True, kw_only=True)
class Chunks:
    """A streamed chat completion: what to send for each update, and for the end.

    Text once sent cannot be taken back here. If the model that wrote it fails, the stream ends with an error, and
    nothing of another model is put behind it.
    """

    identity: str
    created: int
    include_usage: bool
    model: str = ""
    is_over: bool = False
    _has_begun: bool = False
    _calls: dict[int, int] = field(default_factory=dict[int, int])
    """Which tool call a part is: parts count text too."""

    def add(self, update: Update) -> list[Json]:
        """The chunks of one update."""
        match update:
            case Started():
                self.model = update.model
                return []
            case Piece():
                delta = self._delta(update.event)
                return [] if delta is None else self._deltas(delta)
            case Restarted(failed=failed):
                self._calls.clear()
                if not self._has_begun:
                    return []
                self.is_over = True
                message = f"{failed.model} broke off in the middle of its answer: {failed.detail}"
                failure = OpenAIFailure(status=502, message=message, type="server_error", code="cellwright_broke_off")
                return [failure.body]
            case _:
                assert_never(update)

    def finish(self, outcome: ModelAnswer) -> list[Json]:
        """The chunks that end the stream; the whole answer, if nothing of it was told before."""
        self.is_over = True
        self.model = outcome.model
        whole = [] if self._has_begun else self._deltas(_message(outcome.response, is_delta=True))
        last = self._chunk({}, _finish_reason(outcome.response)) | {"cellwright": _account(outcome)}
        if not self.include_usage:
            return [*whole, last]
        return [*whole, last, self._chunk(None, None) | {"usage": _usage(outcome.usage)}]

    def _deltas(self, delta: Json) -> list[Json]:
        first = {} if self._has_begun else {"role": "assistant"}
        self._has_begun = True
        return [self._chunk(first | delta, None)]

    def _chunk(self, delta: Json | None, finish_reason: str | None) -> Json:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return {
            "id": self.identity,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": [] if delta is None else [choice],
        }

    def _delta(self, event: ModelResponseStreamEvent) -> Json | None:
        match event:
            case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                return {"content": text} if text else None
            case (
                PartStartEvent(part=ThinkingPart(content=text))
                | PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text))
            ):
                return {"reasoning_content": text} if text else None
            case PartStartEvent(part=ToolCallPart() as call):
                number = self._calls.setdefault(event.index, len(self._calls))
                return {"tool_calls": [{"index": number, **_call(call)}]}
            case PartDeltaEvent(delta=ToolCallPartDelta() as more) if event.index in self._calls:
                function: Json = {"name": more.tool_name_delta} if more.tool_name_delta else {}
                function |= {"arguments": _arguments(more.args_delta)}
                index = self._calls[event.index]
                return {"tool_calls": [{"index": index, "function": function}]} if any(function.values()) else None
            case _:
                return None


def model_list(models: Sequence[ListedModel]) -> Json:
    """The body of `/v1/models`: the tiers that have a ready model, then the ready models."""
    ready = [model for model in models if model.is_ready]
    tiers = [tier for tier in TIERS if any(tier in model.tiers for model in ready)]
    return {
        "object": "list",
        "data": [
            *(_listed(tier, "cellwright") for tier in tiers),
            *(_listed(model.name, model.name.partition(":")[0]) for model in ready),
        ],
    }


def embeddings(vectors: Sequence[Sequence[float]], *, model: str, encoding: Literal["float", "base64"]) -> Json:
    """The body of `/v1/embeddings`. How many tokens they took is not known, so it says 0."""
    written: Iterable[Any] = map(list, vectors)
    if encoding == "base64":
        written = (base64.b64encode(struct.pack(f"<{len(one)}f", *one)).decode("ascii") for one in vectors)
    data = [{"object": "embedding", "index": index, "embedding": one} for index, one in enumerate(written)]
    return {"object": "list", "data": data, "model": model, "usage": {"prompt_tokens": 0, "total_tokens": 0}}


def server_sent(chunk: Json) -> bytes:
    """One event of a stream."""
    return b"data: " + to_json(chunk) + b"\n\n"


def _message(response: ModelResponse, *, is_delta: bool = False) -> Json:
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    thoughts = "".join(part.content for part in response.parts if isinstance(part, ThinkingPart))
    called = [part for part in response.parts if isinstance(part, ToolCallPart)]
    calls = [({"index": index} if is_delta else {}) | _call(part) for index, part in enumerate(called)]
    message: Json = {"role": "assistant", "content": text if text or not calls else None, "refusal": None}
    if thoughts:
        message["reasoning_content"] = thoughts
    return message | ({"tool_calls": calls} if calls else {})


def _call(part: ToolCallPart) -> Json:
    function = {"name": part.tool_name, "arguments": _arguments(part.args)}
    return {"id": part.tool_call_id, "type": "function", "function": function}


def _arguments(arguments: str | dict[str, Any] | None) -> str:
    return to_json(arguments).decode() if isinstance(arguments, dict) else arguments or ""


def _finish_reason(response: ModelResponse) -> str:
    if any(isinstance(part, ToolCallPart) for part in response.parts):
        return "tool_calls"
    return _REASONS.get(response.finish_reason, "stop")


def _usage(used: Used) -> Json:
    return {
        "prompt_tokens": used.input_tokens,
        "completion_tokens": used.output_tokens,
        "total_tokens": used.tokens,
        "prompt_tokens_details": {"cached_tokens": used.cache_read_tokens},
    }


def _account(answered: ModelAnswer) -> Json:
    """What OpenAI has no word for. An unknown price is null, never 0."""
    price = answered.price
    return {
        "price": f"{price.amount:f}" if isinstance(price, Money) else None,
        "currency": price.currency if isinstance(price, Money) else None,
        "source": answered.source,
        "reason": answered.reason,
        "tried_before": [attempt.model for attempt in answered.attempts],
    }


def _listed(name: str, owner: str) -> Json:
    return {"id": name, "object": "model", "created": 0, "owned_by": owner}
