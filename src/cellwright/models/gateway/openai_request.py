"""What a program asks in OpenAI's words, as our request. Pure: bytes in, values out.

The bytes come from any program that holds the endpoint's token. What we cannot honour is refused, not ignored; words
that change no answer (`user`, `metadata`, `store` …) are read over.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition
from pydantic_core import from_json

from cellwright.errors import UserError
from cellwright.models.calls import Choice, OutputSchema, Request
from cellwright.models.config.names import TIERS, ModelName

_NAME: Final = r"^[a-zA-Z0-9_-]{1,64}$"
_ALIKE: Final = ("temperature", "top_p", "seed", "presence_penalty", "frequency_penalty", "parallel_tool_calls")
"""Settings that have the same name and meaning here and there."""
_Wire = TypeVar("_Wire", bound="_WireModel")


class _WireModel(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True, allow_inf_nan=False)


class _Text(_WireModel):
    type: Literal["text"]
    text: str


class _ImageLink(_WireModel):
    url: str
    detail: Literal["auto", "low", "high"] | None = None


class _Image(_WireModel):
    type: Literal["image_url"]
    image_url: _ImageLink


class _NamedFunction(_WireModel):
    name: str = Field(pattern=_NAME)


class _CalledFunction(_NamedFunction):
    arguments: str = ""


class _FunctionCall(_WireModel):
    id: str = Field(min_length=1, max_length=256)
    type: Literal["function"] = "function"
    function: _CalledFunction


class _SystemMessage(_WireModel):
    role: Literal["system", "developer"]
    content: str | list[_Text]


class _UserMessage(_WireModel):
    role: Literal["user"]
    content: str | list[Annotated[_Text | _Image, Field(discriminator="type")]]


class _AssistantMessage(_WireModel):
    role: Literal["assistant"]
    content: str | list[_Text] | None = None
    tool_calls: list[_FunctionCall] | None = None


class _ToolMessage(_WireModel):
    role: Literal["tool"]
    content: str | list[_Text]
    tool_call_id: str


_Message = Annotated[_SystemMessage | _UserMessage | _AssistantMessage | _ToolMessage, Field(discriminator="role")]


class _ToolFunction(_NamedFunction):
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class _Tool(_WireModel):
    type: Literal["function"]
    function: _ToolFunction


class _NamedTool(_WireModel):
    type: Literal["function"]
    function: _NamedFunction


class _PlainFormat(_WireModel):
    type: Literal["text", "json_object"]


class _JsonSchema(_NamedFunction):
    description: str | None = None
    json_schema: dict[str, Any] = Field(alias="schema")


class _SchemaFormat(_WireModel):
    type: Literal["json_schema"]
    json_schema: _JsonSchema


class _StreamOptions(_WireModel):
    include_usage: bool | None = None


class _ChatBody(_WireModel):
    model: str = Field(min_length=1, max_length=300)
    messages: list[_Message] = Field(min_length=1)
    tools: list[_Tool] | None = None
    tool_choice: Literal["auto", "none", "required"] | _NamedTool | None = None
    response_format: Annotated[_PlainFormat | _SchemaFormat, Field(discriminator="type")] | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    max_tokens: int | None = Field(default=None, ge=1, le=10_000_000)
    max_completion_tokens: int | None = Field(default=None, ge=1, le=10_000_000)
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    presence_penalty: float | None = Field(default=None, ge=-2, le=2)
    frequency_penalty: float | None = Field(default=None, ge=-2, le=2)
    stop: str | list[str] | None = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    n: Literal[1] | None = None
    # What would make another answer than the one we can give.
    logprobs: Literal[False] | None = None
    functions: None = None
    audio: None = None
    modalities: list[Literal["text"]] | None = None


class _EmbeddingBody(_WireModel):
    model: str = Field(min_length=1, max_length=300)
    input: Annotated[str, Field(min_length=1)] | list[Annotated[str, Field(min_length=1)]]
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """One chat completion as we understand it."""

    request: Request
    choice: Choice
    stream: bool
    include_usage: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """Texts to be embedded, and how the numbers are written."""

    texts: list[str]
    choice: Choice
    encoding: Literal["float", "base64"]


def read_chat(body: bytes) -> Chat:
    """The request in a body of `/v1/chat/completions`. Raises `UserError` that says where it is wrong."""
    asked = _read(body, _ChatBody)
    tools = [_tool(tool, index) for index, tool in enumerate(asked.tools or [])]
    request = Request(
        messages=_messages(asked.messages),
        tools=[] if asked.tool_choice == "none" else tools,
        output=_output(asked.response_format),
        settings=_settings(asked, {tool.name for tool in tools}),
    )
    return Chat(
        request=request,
        choice=_choice(asked.model, purpose="chat"),
        stream=bool(asked.stream),
        include_usage=bool(asked.stream_options and asked.stream_options.include_usage),
    )


def read_embedding(body: bytes) -> Embedding:
    """The request in a body of `/v1/embeddings`. Raises `UserError` that says where it is wrong."""
    asked = _read(body, _EmbeddingBody)
    texts = [asked.input] if isinstance(asked.input, str) else asked.input
    if not 1 <= len(texts) <= 2048:
        raise UserError(f"input: {len(texts)} texts.", hint="Between 1 and 2048 texts at once.")
    return Embedding(
        texts=texts, choice=_choice(asked.model, purpose="embed"), encoding=asked.encoding_format or "float"
    )


def _read(body: bytes, kind: type[_Wire]) -> _Wire:
    try:
        return kind.model_validate(from_json(body, allow_inf_nan=False))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        path = ".".join(str(step) for step in first["loc"])
        raise UserError(f"{path or 'body'}: {first['msg']}.", hint="See docs/models.md for what is taken.") from None
    except ValueError as error:
        raise UserError(f"The body is not JSON: {error}.", hint="Send one JSON object.") from None


def _choice(name: str, *, purpose: Literal["chat", "embed"]) -> Choice:
    for tier in TIERS:
        if name == tier and (tier == "embed") != (purpose == "embed"):
            raise UserError(f"model: {name!r} is not for this.", hint="Embeddings: embed. Chat: fast, smart, code.")
        if name == tier:
            return Choice(tier=tier)
    return Choice(models=(ModelName.parse(name),))


# ── messages ──


def _messages(wire: list[_Message]) -> list[ModelMessage]:
    """Neighbours on our side of the conversation become one request, as pydantic-ai keeps them."""
    messages: list[ModelMessage] = []
    waiting: list[ModelRequestPart] = []
    called: dict[str, str] = {}
    for index, message in enumerate(wire):
        match message:
            case _AssistantMessage():
                if waiting:
                    messages.append(ModelRequest(parts=waiting))
                    waiting = []
                called |= {call.id: call.function.name for call in message.tool_calls or []}
                messages.append(_answer_before(message))
            case _:
                waiting.append(_asked(message, called, index))
    if not waiting:
        raise UserError("messages: the last one is the assistant's.", hint="End with what the model shall answer.")
    return [*messages, ModelRequest(parts=waiting)]


def _asked(
    message: _SystemMessage | _UserMessage | _ToolMessage, called: dict[str, str], index: int
) -> ModelRequestPart:
    match message:
        case _SystemMessage():
            return SystemPromptPart(_text(message.content))
        case _UserMessage(content=content):
            if isinstance(content, str):
                return UserPromptPart(content)
            return UserPromptPart([_content(part, f"messages.{index}.content") for part in content])
        case _ToolMessage():
            name = called.get(message.tool_call_id)
            if name is None:
                raise UserError(
                    f"messages.{index}.tool_call_id: no tool call before has this id.",
                    hint="A tool message answers a call of an assistant message before it.",
                )
            return ToolReturnPart(tool_name=name, content=_text(message.content), tool_call_id=message.tool_call_id)


def _answer_before(message: _AssistantMessage) -> ModelResponse:
    text = _text(message.content or "")
    calls = [
        ToolCallPart(tool_name=call.function.name, args=call.function.arguments or "{}", tool_call_id=call.id)
        for call in message.tool_calls or []
    ]
    return ModelResponse(parts=[*([TextPart(text)] if text or not calls else []), *calls])


def _content(part: _Text | _Image, path: str) -> UserContent:
    if isinstance(part, _Text):
        return part.text
    url, hint = part.image_url.url, "A data:image/…;base64,… or an https:// address."
    detail = {"detail": part.image_url.detail} if part.image_url.detail else None
    if url.startswith("https://"):
        return ImageUrl(url, vendor_metadata=detail)
    if not url.startswith("data:image/"):
        raise UserError(f"{path}: the image's address is of no kind we take.", hint=hint)
    try:
        image = BinaryContent.from_data_uri(url)
    except ValueError:
        raise UserError(f"{path}: the image's data cannot be read.", hint=hint) from None
    return BinaryContent(image.data, media_type=image.media_type, vendor_metadata=detail)


def _text(content: str | list[_Text]) -> str:
    return content if isinstance(content, str) else "".join(part.text for part in content)


# ── tools, shape, settings ──


def _tool(tool: _Tool, index: int) -> ToolDefinition:
    function = tool.function
    schema = function.parameters or {"type": "object", "properties": {}}
    return ToolDefinition(
        name=function.name,
        description=function.description or "",
        parameters_json_schema=_finite(schema, f"tools.{index}.function.parameters"),
        strict=function.strict,
    )


def _output(wanted: _PlainFormat | _SchemaFormat | None) -> OutputSchema | None:
    match wanted:
        case None | _PlainFormat(type="text"):
            return None
        case _PlainFormat():
            return OutputSchema(name="answer", schema={"type": "object", "additionalProperties": True})
        case _SchemaFormat(json_schema=wanted):
            schema = _finite(wanted.json_schema, "response_format.json_schema.schema")
            return OutputSchema(name=wanted.name, schema=schema, description=wanted.description or "")


def _settings(asked: _ChatBody, tools: set[str]) -> dict[str, Any]:
    settings: dict[str, Any] = {name: getattr(asked, name) for name in _ALIKE} | {
        "max_tokens": asked.max_completion_tokens or asked.max_tokens,
        "stop_sequences": [asked.stop] if isinstance(asked.stop, str) else asked.stop,
        "thinking": False if asked.reasoning_effort == "none" else asked.reasoning_effort,
    }
    match asked.tool_choice:
        case "required" if tools:
            settings["tool_choice"] = "required"
        case _NamedTool(function=function):
            if function.name not in tools:
                raise UserError("tool_choice: names no tool of this request.", hint="Name one of `tools`.")
            settings["tool_choice"] = [function.name]
        case _:
            pass
    return {name: value for name, value in settings.items() if value is not None}


def _finite(schema: dict[str, Any], path: str) -> dict[str, Any]:
    # A number such as 1e999 is read as infinity, which no provider can be sent.
    try:
        json.dumps(schema, allow_nan=False)
    except ValueError:
        raise UserError(f"{path}: a number is too large.", hint="Send finite numbers.") from None
    return schema
