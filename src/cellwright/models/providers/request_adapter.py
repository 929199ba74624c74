"""How a request is put to a model with given traits, and how its answer is made to look the same from all of them.

A shape is asked for natively where the model keeps to schemas, as a tool it must call where it only does that, and in
words otherwise. Whichever it was: the answer is one text part of JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_ai.messages import (
    BaseToolCallPart,
    FileUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.tools import ToolDefinition

from cellwright.errors import UserError
from cellwright.models.calls import OutputSchema, Request
from cellwright.models.config.catalogue import Traits
from cellwright.models.providers.failures import BrokenAnswer

if TYPE_CHECKING:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

ANSWER_TOOL: Final = "give_answer"
"""The tool a model must call where it has no other way to keep to a shape."""


_Texts = list[str] | tuple[str, ...]
_Count = Annotated[int, Field(ge=0, lt=2**53)]
_Retention = Literal["5m", "30m", "1h", "12h"]


class _CacheOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    retention: _Retention = "5m"
    messages: bool = False


class _Settings(BaseModel):
    """What a caller may set. Addresses, headers, timeouts and raw bodies are ours alone."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    max_tokens: Annotated[int, Field(ge=1, lt=2**53)] | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: _Count | None = None
    seed: _Count | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    stop_sequences: _Texts | None = None
    parallel_tool_calls: bool | None = None
    tool_choice: Literal["auto", "none", "required"] | _Texts | None = None
    thinking: bool | Literal["minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    cache: bool | _Retention | _CacheOptions | None = None
    service_tier: Literal["auto", "default", "flex", "priority"] | None = None


SETTINGS: Final = tuple(_Settings.model_fields)


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raises `UserError` for a setting that is not known, or has no sound value."""
    if unknown := [name for name in settings if name not in SETTINGS]:
        raise UserError(f"A request cannot set {unknown[0]!r}.", hint=f"Known: {', '.join(SETTINGS)}.")
    try:
        _Settings.model_validate(dict(settings))
    except ValidationError as error:
        name = str(error.errors(include_url=False)[0]["loc"][0])
        hint = "See docs/models.md."
        raise UserError(f"{name!r} cannot be {str(settings[name])[:40]!r}.", hint=hint) from None


def prepare(request: Request, traits: Traits) -> tuple[list[ModelMessage], ModelRequestParameters, ModelSettings]:
    """What pydantic-ai is given. Raises `UserError` for what may not be asked."""
    from pydantic_ai.models import ModelRequestParameters

    check_settings(request.settings)
    if any(isinstance(each, FileUrl) and (traits.local or each.force_download) for each in request.contents):
        hint = "Send its bytes instead."
        raise UserError("A file given as an address would be fetched over the network.", hint=hint)
    parameters = ModelRequestParameters(function_tools=list(request.tools))
    if request.output is not None:
        parameters = _with_shape(parameters, request.output, traits)
    settings = {name: value for name, value in request.settings.items() if value is not None}
    if not request.tools:
        # Without tools these mean nothing, and some providers refuse them.
        settings.pop("tool_choice", None)
        settings.pop("parallel_tool_calls", None)
    return list(request.messages), _with_instructions(parameters, request.messages), cast("ModelSettings", settings)


def finish(response: ModelResponse, request: Request) -> ModelResponse:
    """The answer as every caller sees it. Raises `BrokenAnswer` if it is not what was asked for."""
    if response.state in ("incomplete", "interrupted"):
        raise BrokenAnswer("the answer ended before it was whole")
    if not response.parts:
        raise BrokenAnswer(f"the answer is empty (it ended with {response.finish_reason!r})")
    parts = list(response.parts) if request.output is None else [_as_text_part(part) for part in response.parts]
    if any(isinstance(part, BaseToolCallPart) for part in parts):
        # Some providers end a call of a tool with "stop".
        return replace(response, parts=parts, finish_reason="tool_call")
    if request.output is None:
        return response
    texts = [part for part in parts if isinstance(part, TextPart)]
    text = _checked_json("".join(part.content for part in texts), request.output, response)
    others = [part for part in parts if not isinstance(part, TextPart)]
    return replace(response, parts=[*others, TextPart(content=text)], finish_reason="stop")


@dataclass(slots=True)
class AsText:
    """Pieces of a call of our own answer tool as the pieces of text that they stand for."""

    _answers: set[int] = field(default_factory=set[int], init=False)

    def __call__(self, event: ModelResponseStreamEvent) -> ModelResponseStreamEvent:
        """The piece that the caller is told."""
        match event:
            case PartStartEvent(index=index, part=ToolCallPart(tool_name=name, args=args)) if name == ANSWER_TOOL:
                self._answers.add(index)
                return PartStartEvent(index=index, part=TextPart(content=_json_of(args) if args else ""))
            case PartDeltaEvent(index=index, delta=ToolCallPartDelta(args_delta=args)) if index in self._answers:
                return PartDeltaEvent(index=index, delta=TextPartDelta(content_delta=_json_of(args) if args else ""))
            case _:
                return event


def _json_of(args: object) -> str:
    return args if isinstance(args, str) else json.dumps(args or {}, ensure_ascii=False)


def _as_text_part(part: ModelResponsePart) -> ModelResponsePart:
    if isinstance(part, ToolCallPart) and part.tool_name == ANSWER_TOOL:
        return TextPart(content=_json_of(part.args))
    return part


def _with_shape(parameters: ModelRequestParameters, output: OutputSchema, traits: Traits) -> ModelRequestParameters:
    from pydantic_ai.output import OutputObjectDefinition

    shape = OutputObjectDefinition(
        json_schema=output.schema, name=output.name, description=output.description or None, strict=None
    )
    if traits.schema and (traits.schema_with_tools or not parameters.function_tools):
        return replace(parameters, output_mode="native", output_object=shape)
    if traits.tools:
        tool = ToolDefinition(
            name=ANSWER_TOOL,
            parameters_json_schema=output.schema,
            description=output.description or f"Gives the final answer: {output.name}.",
            kind="output",
        )
        return replace(parameters, output_mode="tool", output_tools=[tool], allow_text_output=False)
    return replace(parameters, output_mode="prompted", output_object=shape)


def _with_instructions(parameters: ModelRequestParameters, messages: Sequence[ModelMessage]) -> ModelRequestParameters:
    """pydantic-ai reads the latest instructions from here, not from the message that carries them."""
    for message in reversed(messages):
        if isinstance(message, ModelRequest) and message.instructions is not None:
            from pydantic_ai.messages import InstructionPart

            return replace(parameters, instruction_parts=[InstructionPart(content=message.instructions)])
    return parameters


def _checked_json(text: str, output: OutputSchema, response: ModelResponse) -> str:
    text = _unfenced(text)
    try:
        value: object = json.loads(text)
    except ValueError:
        why = "it was cut off by max_tokens" if response.finish_reason == "length" else "it does not parse"
        raise BrokenAnswer(f"the answer should be JSON, but {why}") from None
    if output.schema.get("type") == "object":
        if not isinstance(value, dict):
            raise BrokenAnswer("the answer should be a JSON object")
        missing = [name for name in output.schema.get("required", ()) if name not in value]
        if missing:
            raise BrokenAnswer(f"the answer lacks {', '.join(map(repr, missing[:5]))}")
    return text


def _unfenced(text: str) -> str:
    """Without the fence that models put around JSON when nothing forces them."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```"):
        return text[3:-3].removeprefix("json").strip()
    return text
