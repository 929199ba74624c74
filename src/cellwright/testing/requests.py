"""What the server received."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

WireKind = Literal["openai-chat", "openai-responses", "anthropic", "google", "groq", "mistral", "ollama"]
"""How a client speaks; `ollama` is OpenAI's chat at another address."""

WIRE_KINDS: tuple[WireKind, ...] = get_args(WireKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One request for an answer."""

    id: str
    kind: WireKind
    path: str
    model: str
    is_stream: bool
    prompt: str
    """The last text of the user."""
    tools: tuple[str, ...]
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(repr=False)
    """Names in lower case. The credential is among them: not shown when printed."""

    @property
    def credential(self) -> str | None:
        """The key it came with, without the scheme."""
        for name in ("authorization", "x-api-key", "x-goog-api-key", "api-key"):
            if value := self.headers.get(name):
                return value.removeprefix("Bearer ")
        return None

    @property
    def idempotency_key(self) -> str | None:
        """What names this request for a provider that answers a repeated one from memory."""
        return self.headers.get("idempotency-key")


def read_json(body: bytes) -> dict[str, Any] | None:
    """The object in a request's body; None if it is none."""
    try:
        value = json.loads(body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
