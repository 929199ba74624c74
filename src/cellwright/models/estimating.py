"""How much a request will use, guessed before it is sent: for budgets and routing, always labelled as an estimate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_core import to_json

from cellwright.models.calls import Request, Usage

BYTES_PER_TOKEN: Final = 4
"""Of English and code; other scripts take more bytes a letter and more tokens."""
TOKENS_PER_IMAGE: Final = 1_500
TOKENS_PER_MESSAGE: Final = 4
EXPECTED_OUTPUT_TOKENS: Final = 1_000
"""Where the request sets no `max_tokens`."""


def estimate(request: Request, output_tokens: int | None = None) -> Usage:
    """What this request may use: its text at four bytes a token, images at a flat rate, and all it may answer.

    Real counts lie between half and twice of it for ordinary text. The answer is taken at `output_tokens`, else at the
    request's `max_tokens`, else at a thousand.
    """
    size, images = 0, 0
    for message in request.messages:
        for content in _contents(message):
            match content:
                case str():
                    size += _bytes(content)
                case BinaryContent() if not content.media_type.startswith("image/"):
                    size += len(content.data)
                case BinaryContent():
                    images += 1
                case _ if hasattr(content, "url"):
                    images += 1
                case _:
                    size += len(to_json(content, fallback=str))
    tools = [(tool.name, tool.description, tool.parameters_json_schema) for tool in request.tools]
    size += len(to_json(tools)) if tools else 0
    size += len(to_json(request.output.schema)) if request.output is not None else 0
    into = -(-size // BYTES_PER_TOKEN) + images * TOKENS_PER_IMAGE + len(request.messages) * TOKENS_PER_MESSAGE
    return Usage(input_tokens=into, output_tokens=_output_tokens(request, output_tokens), is_estimate=True)


def _output_tokens(request: Request, given: int | None) -> int:
    most = request.settings.get("max_tokens")
    asked = given if given is not None else most
    return asked if isinstance(asked, int) and asked >= 0 else EXPECTED_OUTPUT_TOKENS


def _contents(message: ModelMessage) -> Iterable[Any]:
    if isinstance(message, ModelRequest) and message.instructions:
        yield message.instructions
    for part in message.parts:
        match part:
            case UserPromptPart(content=str() as content):
                yield content
            case UserPromptPart(content=contents):
                yield from contents
            case ToolCallPart():
                yield part.tool_name
                yield part.args_as_json_str()
            case ToolReturnPart():
                yield part.model_response_str()
            case _:
                yield getattr(part, "content", "") or ""


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
