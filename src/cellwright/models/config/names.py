"""What models are called, and what they can be asked to do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, NewType, get_args

from cellwright.errors import UserError

CallId = NewType("CallId", str)
"""Names one model call for ever: the same id is answered from the record, never paid twice."""

Tier = Literal["fast", "smart", "code", "embed"]
TIERS: Final[tuple[Tier, ...]] = get_args(Tier)

Ability = Literal["tools", "schema", "images", "streaming", "reasoning", "caching"]
ABILITIES: Final[tuple[Ability, ...]] = get_args(Ability)

_PROVIDER: Final = re.compile(r"[a-z][a-z0-9-]{0,39}", flags=re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class ModelName:
    """`provider:model`; the provider is one we know or an endpoint named in the settings."""

    provider: str
    model: str

    @classmethod
    def parse(cls, text: str) -> ModelName:
        """From `provider:model`. Raises `UserError`."""
        provider, colon, model = text.strip().partition(":")
        if not colon or not model or _PROVIDER.fullmatch(provider) is None or not model.isprintable():
            raise UserError(
                f"{text!r} does not name a model.",
                hint="Write provider:model, such as openai:gpt-5-mini or ollama:qwen3.",
            )
        return cls(provider, model)

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"
