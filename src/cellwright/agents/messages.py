"""A prompt as the messages of a request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from cellwright.agents.context import Prompt, Span

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
                said = _said(span, text)
                if isinstance(last, ModelResponse):
                    last.parts = [*last.parts, said]
                else:
                    messages.append(ModelResponse(parts=[said]))
            case "user" | "result":
                told = _told(span, text, pictures.get(span.picture))
                if isinstance(last, ModelRequest):
                    last.parts = [*last.parts, told]
                else:
                    messages.append(ModelRequest(parts=[told]))
    return messages


def _said(span: Span, text: str) -> ModelResponsePart:
    if span.place == "said":
        return TextPart(text)
    return ToolCallPart(tool_name=span.tool, args=_arguments(text), tool_call_id=span.call)


def _told(span: Span, text: str, picture: bytes | None) -> ModelRequestPart:
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
