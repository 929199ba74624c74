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

_FORMATS: Final[dict[WireKind, tuple[Wire, str, str]]] = {
    "openai-chat": (OpenAIChat(), "/openai/v1", "/chat/completions"),
    "openai-responses": (OpenAIResponses(), "/openai/v1", "/responses"),
    "anthropic": (Anthropic(), "/anthropic", "/v1/messages"),
    "google": (Google(), "/google", ""),
    "groq": (Groq(), "/groq", "/openai/v1/chat/completions"),
    "mistral": (Mistral(), "/mistral", "/v1/chat/completions"),
    "ollama": (OpenAIChat(), "/ollama/v1", "/chat/completions"),
}
"""How each writes, what stands before the paths its SDK adds by itself, and where one asks for an answer."""
WIRES: Final = {kind: wire for kind, (wire, _, _) in _FORMATS.items()}
BASE_PATHS: Final = {kind: base for kind, (_, base, _) in _FORMATS.items()}
_ASKING: Final = {base + path: kind for kind, (_, base, path) in _FORMATS.items() if path}


def kind_of(path: str) -> WireKind | None:
    """The format in which a POST to this path asks for an answer; None if it asks for something else."""
    if path.startswith("/google/") and path.endswith((":generateContent", ":streamGenerateContent")):
        return "google"
    return _ASKING.get(path)
