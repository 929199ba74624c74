"""Which wire format a path belongs to."""

from __future__ import annotations

from typing import Final

from cellwright.testing.requests import WireKind
from cellwright.testing.wire.anthropic import Anthropic
from cellwright.testing.wire.google import Google
from cellwright.testing.wire.groq import Groq
from cellwright.testing.wire.mistral import Mistral
from cellwright.testing.wire.openai_chat import OpenAIChat
from cellwright.testing.wire.openai_responses import OpenAIResponses
from cellwright.testing.wire.reply import Wire

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


def kind_of(path: str) -> WireKind | None:
    """The format in which a POST to this path asks for an answer; None if it asks for something else."""
    room, _, rest = path.removeprefix("/").partition("/")
    match room, rest:
        case "openai", "v1/chat/completions":
            return "openai-chat"
        case "openai", "v1/responses":
            return "openai-responses"
        case "ollama", "v1/chat/completions":
            return "ollama"
        case "anthropic", "v1/messages":
            return "anthropic"
        case "groq", "openai/v1/chat/completions":
            return "groq"
        case "mistral", "v1/chat/completions":
            return "mistral"
        case "google", _ if rest.endswith((":generateContent", ":streamGenerateContent")):
            return "google"
        case _:
            return None
