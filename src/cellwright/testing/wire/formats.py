"""Which wire format a path belongs to."""

from __future__ import annotations

from typing import Final, Literal, get_args

from cellwright.testing.wire.anthropic import Anthropic
from cellwright.testing.wire.google import Google
from cellwright.testing.wire.groq import Groq
from cellwright.testing.wire.mistral import Mistral
from cellwright.testing.wire.openai_chat import OpenAIChat
from cellwright.testing.wire.openai_responses import OpenAIResponses
from cellwright.testing.wire.reply import Wire

WireKind = Literal["openai-chat", "openai-responses", "anthropic", "google", "groq", "mistral", "ollama"]
"""How a client speaks; `ollama` is OpenAI's chat at another address."""

WIRE_KINDS: tuple[WireKind, ...] = get_args(WireKind)

WIRES: Final[dict[WireKind, Wire]] = {
    "openai-chat": OpenAIChat(),
    "openai-responses": OpenAIResponses(),
    "anthropic": Anthropic(),
    "google": Google(),
    "groq": Groq(),
    "mistral": Mistral(),
    "ollama": OpenAIChat(),
}

BASE_PATHS: Final[dict[WireKind, str]] = {
    "openai-chat": "/openai/v1",
    "openai-responses": "/openai/v1",
    "anthropic": "/anthropic",
    "google": "/google",
    "groq": "/groq",
    "mistral": "/mistral",
    "ollama": "/ollama/v1",
}
"""What stands before the paths each SDK adds by itself."""


_ASKING: Final[dict[str, WireKind]] = {
    "/openai/v1/chat/completions": "openai-chat",
    "/openai/v1/responses": "openai-responses",
    "/ollama/v1/chat/completions": "ollama",
    "/anthropic/v1/messages": "anthropic",
    "/groq/openai/v1/chat/completions": "groq",
    "/mistral/v1/chat/completions": "mistral",
}


def kind_of(path: str) -> WireKind | None:
    """The format in which a POST to this path asks for an answer; None if it asks for something else."""
    if path.startswith("/google/") and path.endswith((":generateContent", ":streamGenerateContent")):
        return "google"
    return _ASKING.get(path)
