"""A model without dependable tool calls, made to look like one that has them.

Tools and the answer become one JSON schema, and the JSON it writes becomes tool calls or text again; a text is told
while it is still being written. The model is held to `{"reply": {"tool": …, "arguments": …}}` or
`{"reply": {"answer": …}}`, and its history is told to it in the same form.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Final, cast

from pydantic_ai._run_context import RunContext
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_core import from_json

from cellwright.models.providers.constrained_pieces import AnswerText, CallText
from cellwright.models.providers.failures import BrokenAnswer

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
"""An answer without a shape."""
LONGEST_STRING: Final = 2000
"""Limit of characters of a tool's argument. Small models repeat themselves for ever unless something stops them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the model may reply with."""

    tools: tuple[ToolDefinition, ...]
    answer: Schema | None
    """The shape of an answer; None: it must use a tool."""

    @property
    def is_free(self) -> bool:
        """An answer is any text."""
        return self.answer is TEXT

    @property
    def schema(self) -> Schema:
        """One object with one of the options in it."""
        definitions = Schema()
        choices = [_call(tool, definitions) for tool in self.tools]
        if self.answer is not None:
            choices.append(_closed(answer=_own(self.answer, "answer", definitions)))
        schema = _closed(reply=choices[0] if len(choices) == 1 else {"anyOf": choices})
        return {**schema, "$defs": definitions} if definitions else schema

    @property
    def instructions(self) -> str:
        """What the model is told about it."""
        lines = ["Reply with one JSON object and nothing else."]
        if self.answer is not None:
            lines.append('To answer: {"reply": {"answer": …}}')
        if self.tools:
            lines.append('To use a tool: {"reply": {"tool": NAME, "arguments": {…}}}. Tools:')
        for tool in self.tools:
            arguments = json.dumps(tool.parameters_json_schema.get("properties", {}), ensure_ascii=False)
            lines.append(f"- {tool.name}: {tool.description or ''} Arguments: {arguments}")
        return "\n".join(lines)


def options(tools: Sequence[ToolDefinition], answer: Schema | None, tool_choice: object) -> Options:
    """What is left of the tools and the answer under a `tool_choice`."""
    shape = TEXT if answer is None else answer
    match tool_choice:
        case "none":
            return Options(tools=(), answer=shape)
        case "required":
            return Options(tools=tuple(tools), answer=None)
        case list() | tuple():
            chosen = tuple(tool for tool in tools if tool.name in cast("Sequence[str]", tool_choice))
            return Options(tools=chosen, answer=None if chosen else shape)
        case _:
            return Options(tools=tuple(tools), answer=shape)


def rewrite_history(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The conversation so far in the form the model is held to: without tool calls and their results."""
    return [
        replace(message, parts=[_asked(part) for part in message.parts])
        if isinstance(message, ModelRequest)
        else replace(message, parts=[_replied(part) for part in message.parts if not isinstance(part, ThinkingPart)])
        for message in messages
    ]


def parts_of(response: ModelResponse, options: Options) -> list[ModelResponsePart]:
    """What the model's JSON says, as parts. Raises `BrokenAnswer`."""
    others = [part for part in response.parts if not isinstance(part, TextPart)]
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    if options.is_free and text.strip() and "{" not in text and "[" not in text:
        # It said it in plain words.
        return [*others, TextPart(text)]
    if options.is_free and _CODE.search(text) and not any(_objects(text)):
        # It wrote code instead of a call: whoever asked may know what to do with it.
        return [*others, TextPart(text)]
    reply = _reply(text, was_cut=response.finish_reason == "length")
    if "answer" in reply and options.answer is not None:
        answer = reply["answer"]
        is_text = options.is_free and isinstance(answer, str)
        return [*others, TextPart(answer if is_text else json.dumps(answer, ensure_ascii=False))]
    name, arguments = reply.get("tool"), reply.get("arguments")
    if name not in [tool.name for tool in options.tools] or not isinstance(arguments, dict):
        raise BrokenAnswer("the model was to use a tool or answer, and did neither")
    if _has_cut_string(arguments):
        raise BrokenAnswer(f"an argument is longer than {LONGEST_STRING} characters")
    return [*others, ToolCallPart(tool_name=str(name), args=json.dumps(arguments, ensure_ascii=False))]


def _reply(text: str, *, was_cut: bool) -> Mapping[str, Any]:
    bare = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    # With prose around it; or without its last brackets, but nothing of a text left out.
    is_half = not was_cut and bare.startswith("{") and bare.endswith(('"', "}", "]"))
    try:
        value: object = next(_objects(text), None) or from_json(
            bare, allow_partial="trailing-strings" if was_cut else is_half
        )
    except ValueError:
        raise BrokenAnswer("the answer should be JSON, but it does not parse") from None
    reply = cast("dict[str, Any]", value).get("reply", value) if isinstance(value, dict) else None
    if not isinstance(reply, dict):
        raise BrokenAnswer("the answer should be a JSON object")
    found = cast("dict[str, Any]", reply)
    if was_cut and not isinstance(found.get("answer"), str):
        raise BrokenAnswer("it was cut off by max_tokens")
    return found


_CODE: Final = re.compile(r"```(?:python|py)\b")
_DECODER: Final = json.JSONDecoder()
_MOST_OBJECTS: Final = 50


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """The whole objects in a text that are a reply, in their order."""
    for found in itertools.islice(re.finditer(r"\{", text), _MOST_OBJECTS):
        try:
            value, _ = _DECODER.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and value.keys() & {"reply", "tool", "answer"}:
            yield cast("dict[str, Any]", value)


def _asked(part: ModelRequestPart) -> ModelRequestPart:
    if isinstance(part, ToolReturnPart):
        text, files = part.model_response_str_and_user_content()
        result = f"Result of {part.tool_name}:\n{text}"
        return UserPromptPart(content=[result, *files] if files else result, timestamp=part.timestamp)
    return part


def _replied(part: ModelResponsePart) -> ModelResponsePart:
    match part:
        case ToolCallPart():
            reply = {"tool": part.tool_name, "arguments": part.args_as_dict()}
        case TextPart():
            reply = {"answer": part.content}
        case _:
            return part
    return TextPart(json.dumps({"reply": reply}, ensure_ascii=False))


def _call(tool: ToolDefinition, definitions: Schema) -> Schema:
    arguments = _own(tool.parameters_json_schema, tool.name, definitions)
    return _closed(tool={"type": "string", "enum": [tool.name]}, arguments=arguments)


def _closed(**properties: Any) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _own(schema: Mapping[str, Any], owner: str, definitions: Schema) -> Schema:
    """A copy with bounded strings, its definitions moved to the common ones under names of their own."""

    def copied(value: Any) -> Any:
        if isinstance(value, list):
            return [copied(inner) for inner in cast("list[Any]", value)]
        if not isinstance(value, dict):
            return value
        found = {key: copied(inner) for key, inner in cast("Schema", value).items() if key != "$defs"}
        reference = found.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/$defs/"):
            found["$ref"] = f"#/$defs/{owner}.{reference.removeprefix('#/$defs/')}"
        if found.get("type") == "string" and owner != "answer" and not found.keys() & _BOUNDED:
            found["maxLength"] = LONGEST_STRING
        return found

    for name, definition in schema.get("$defs", {}).items():
        definitions[f"{owner}.{name}"] = copied(definition)
    return copied(schema)


_BOUNDED: Final = frozenset({"maxLength", "enum", "const", "pattern", "format"})


def _has_cut_string(value: object) -> bool:
    """Whether a string is exactly as long as we let it become: it would have gone on."""
    match value:
        case str():
            return len(value) == LONGEST_STRING
        case dict():
            return any(_has_cut_string(inner) for inner in cast("Schema", value).values())
        case list():
            return any(_has_cut_string(inner) for inner in cast("list[object]", value))
        case _:
            return False


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
        """A text, or the arguments of a tool call, as they come."""
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
    _call: CallText = field(default_factory=CallText, init=False)
    _whole: ModelResponse | None = field(default=None, init=False)
    _has_said: bool = field(default=False, init=False)
    """Whether anything was told while it came."""

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        async for event in self.inner:
            for piece in self._translate(event):
                yield piece
        self._whole = self._with_told_id(_translated(self.inner.get(), self.asked))
        if not self._has_said:
            for part in self._whole.parts:
                if not isinstance(part, ThinkingPart):
                    yield self._parts_manager.handle_part(vendor_part_id=None, part=part)

    def _translate(self, event: ModelResponseStreamEvent) -> list[ModelResponseStreamEvent]:
        self.provider_response_id = self.inner.provider_response_id
        manager = self._parts_manager
        match event:
            case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                told = self._translate_text(text)
                self._has_said = self._has_said or bool(told)
                return told
            case (
                PartStartEvent(part=ThinkingPart(content=thought))
                | PartDeltaEvent(delta=ThinkingPartDelta(content_delta=thought))
            ):
                return (
                    list(manager.handle_thinking_delta(vendor_part_id="thinking", content=thought)) if thought else []
                )
            case _:
                return []

    def _translate_text(self, text: str) -> list[ModelResponseStreamEvent]:
        if self.asked.is_free and (said := self._answer.feed(text)):
            return list(self._parts_manager.handle_text_delta(vendor_part_id="answer", content=said))
        arguments = self._call.feed(text)
        if not arguments or self._call.tool not in [tool.name for tool in self.asked.tools]:
            return []
        name = None if self._has_said else self._call.tool
        event = self._parts_manager.handle_tool_call_delta(vendor_part_id="call", tool_name=name, args=arguments)
        return [event] if event is not None else []

    def _with_told_id(self, whole: ModelResponse) -> ModelResponse:
        """With the id under which its call was told."""
        told = [part.tool_call_id for part in self._parts_manager.get_parts() if isinstance(part, ToolCallPart)]
        parts = [
            replace(part, tool_call_id=told[0]) if told and isinstance(part, ToolCallPart) else part
            for part in whole.parts
        ]
        return replace(whole, parts=parts)

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
