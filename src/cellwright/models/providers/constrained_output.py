"""A model without dependable tool calls, made to look like one that has them.

Tools and the answer become one JSON schema, and the JSON it writes becomes tool calls or text again; a text is told
while it is still being written.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, cast

from pydantic_ai._run_context import RunContext
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings

from cellwright.models.providers.reply_schema import AnswerText, Options, options, parts_of, rewrite_history


class ConstrainedModel(WrapperModel):
    """Asks the wrapped model for one JSON object, whatever tools and shape the request has."""

    def __init__(self, wrapped: Model, *, schema: bool) -> None:
        """`schema`: the model keeps to one by itself; otherwise it is told it in words."""
        super().__init__(wrapped)
        self._has_schema = schema

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The whole answer."""
        asked, settings, parameters = self._put(messages, model_settings, model_request_parameters)
        response = await self.wrapped.request(rewrite_history(messages), settings, parameters)
        return _translated(response, asked)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """A text as it comes; a tool call once it is whole."""
        asked, settings, parameters = self._put(messages, model_settings, model_request_parameters)
        async with self.wrapped.request_stream(rewrite_history(messages), settings, parameters, run_context) as inner:
            yield _ConstrainedStream(model_request_parameters=model_request_parameters, inner=inner, asked=asked)

    def _put(
        self, messages: list[ModelMessage], settings: ModelSettings | None, parameters: ModelRequestParameters
    ) -> tuple[Options, ModelSettings, ModelRequestParameters]:
        given = dict(settings or {})
        shape = parameters.output_object
        asked = options(parameters.function_tools, shape.json_schema if shape else None, given.pop("tool_choice", None))
        given.pop("parallel_tool_calls", None)
        instructions = InstructionPart(content=asked.instructions)
        constrained = ModelRequestParameters(
            output_mode="native" if self._has_schema else "prompted",
            output_object=OutputObjectDefinition(json_schema=asked.schema, name="reply"),
            instruction_parts=[*(parameters.instruction_parts or []), instructions],
        )
        return asked, cast("ModelSettings", given), constrained


def _translated(response: ModelResponse, asked: Options) -> ModelResponse:
    parts = parts_of(response, asked)
    is_text = any(isinstance(part, TextPart) for part in parts)
    return replace(response, parts=parts, finish_reason=response.finish_reason if is_text else "tool_call")


@dataclass
class _ConstrainedStream(StreamedResponse):
    inner: StreamedResponse = field(kw_only=True)
    asked: Options = field(kw_only=True)
    _answer: AnswerText = field(default_factory=AnswerText, init=False)
    _whole: ModelResponse | None = field(default=None, init=False)
    _has_said: bool = field(default=False, init=False)
    """Whether any text was told while it came."""

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        async for event in self.inner:
            for piece in self._translate(event):
                yield piece
        self._whole = _translated(self.inner.get(), self.asked)
        if not self._has_said:
            for part in self._whole.parts:
                if not isinstance(part, ThinkingPart):
                    yield self._parts_manager.handle_part(vendor_part_id=None, part=part)

    def _translate(self, event: ModelResponseStreamEvent) -> list[ModelResponseStreamEvent]:
        self.provider_response_id = self.inner.provider_response_id
        manager = self._parts_manager
        match event:
            case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                said = self._answer.feed(text) if self.asked.is_free else ""
                self._has_said = self._has_said or bool(said)
                return list(manager.handle_text_delta(vendor_part_id="answer", content=said)) if said else []
            case (
                PartStartEvent(part=ThinkingPart(content=thought))
                | PartDeltaEvent(delta=ThinkingPartDelta(content_delta=thought))
            ):
                return (
                    list(manager.handle_thinking_delta(vendor_part_id="thinking", content=thought)) if thought else []
                )
            case _:
                return []

    def get(self) -> ModelResponse:
        """The whole answer, or what there is of it."""
        return self._whole or replace(self.inner.get(), parts=self._parts_manager.get_parts())

    async def close_stream(self) -> None:
        """Closes the connection."""
        await self.inner.close_stream()

    usage = property(attrgetter("inner.usage"))
    model_name = property(attrgetter("inner.model_name"))
    provider_name = property(attrgetter("inner.provider_name"))
    provider_url = property(attrgetter("inner.provider_url"))
    timestamp = property(attrgetter("inner.timestamp"))
