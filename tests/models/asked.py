"""How the tests here put a request to providers and hear all of the answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.tools import ToolDefinition

from cellwright.models.calls import OutputSchema, Request
from cellwright.models.config.configuration import Configuration, Endpoint, Kind
from cellwright.models.config.names import ModelName
from cellwright.models.providers.providers import Providers
from cellwright.testing import ProviderServer

KEY: Final = "sk-test-0123456789"
MODELS: Final[dict[Kind, str]] = {
    "openai-chat": "gpt-5-mini",
    "openai-responses": "gpt-5-mini",
    "anthropic": "claude-sonnet-5-5",
    "google": "gemini-2.5-flash",
    "groq": "llama-3.3-70b-versatile",
    "mistral": "mistral-large-latest",
    "ollama": "qwen3",
}
WEATHER: Final = ToolDefinition(
    name="weather",
    description="The weather of a city.",
    parameters_json_schema={
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
PERSON: Final = OutputSchema(
    name="person",
    schema={
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
        "additionalProperties": False,
    },
)


def configured(server: ProviderServer, **changes: Any) -> Configuration:
    """Every kind of endpoint at the server, called by its kind."""
    return Configuration(
        endpoints={kind: Endpoint(name=kind, kind=kind, base_url=server.base_url(kind), **changes) for kind in MODELS}
    )


def model_of(kind: Kind) -> ModelName:
    return ModelName(kind, MODELS[kind])


def saying(text: str = "hi there", **fields: Any) -> Request:
    return Request(messages=[ModelRequest.user_text_prompt(text)], **fields)


async def hear(
    providers: Providers,
    name: ModelName,
    request: Request,
    *,
    stream: bool = False,
    key: str | None = KEY,
    idempotency_key: str | None = None,
    on_provider_id: Callable[[str], None] | None = None,
) -> tuple[list[ModelResponseStreamEvent], ModelResponse]:
    pieces, response = list[ModelResponseStreamEvent](), None
    async with providers.ask(
        name, request, stream=stream, key=key, idempotency_key=idempotency_key, on_provider_id=on_provider_id
    ) as told:
        async for event in told:
            if isinstance(event, ModelResponse):
                response = event
            else:
                pieces.append(event)
    assert response is not None
    return pieces, response


def put_together(pieces: list[ModelResponseStreamEvent]) -> list[str]:
    """What the pieces say, by part: a text, or `tool(arguments)`."""
    said = dict[int, str]()
    for piece in pieces:
        match piece:
            case PartStartEvent(index=index, part=TextPart(content=text)):
                said[index] = text
            case PartDeltaEvent(index=index, delta=TextPartDelta(content_delta=text)):
                said[index] += text
            case PartStartEvent(index=index, part=ToolCallPart() as part):
                said[index] = (
                    f"{part.tool_name}({json.dumps(part.args) if isinstance(part.args, dict) else part.args or ''}"
                )
            case PartDeltaEvent(index=index, delta=ToolCallPartDelta(args_delta=str(text))):
                said[index] += text
            case _:
                raise AssertionError(piece)
    return list(said.values())
