"""What is known about each model: what it can do, how much it can read, and where it runs.

What the person says counts most, then what a probe found, then what pydantic-ai and genai-prices know, then caution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from cellwright.models.config.configuration import Configuration, Kind
from cellwright.models.config.names import ModelName

if TYPE_CHECKING:
    from pydantic_ai.profiles import ModelProfile

_FORWARDED: Final = ("-cloud", ":cloud")
"""How a local Ollama names models that it asks elsewhere."""
_GREAT: Final = ("gpt-4", "gpt-5", "gpt-6", "claude-", "gemini-")
"""Models that run on nobody's own machine: what answers for them here only stands in front of them."""
_MAKERS: Final[Mapping[str, str]] = {"openai-chat": "openai", "openai-responses": "openai", "ollama": "openai"}
"""Whose profiles pydantic-ai has for what is spoken to so, and whose price lists genai-prices, if not of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What a model can do, as far as anybody knows."""

    tools: bool
    """Its tool calls are dependable; otherwise tools are put to it as a JSON schema."""
    schema: bool
    """It keeps to a JSON schema by itself."""
    images: bool
    streaming: bool
    reasoning: bool
    caching: bool
    """It takes marks of what to keep between calls."""
    context_tokens: int | None
    local: bool
    """What it is asked stays on this machine."""
    schema_with_tools: bool = True
    """A schema and tools may stand in one request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """What a model did when it was tried."""

    tools: bool
    schema: bool
    at: str
    """UTC, ISO 8601."""


def traits_of(name: ModelName, configuration: Configuration, probed: Mapping[ModelName, ProbeResult]) -> Traits:
    """What this model can do. Raises `UserError` if its endpoint is not known."""
    endpoint = configuration.endpoint(name)
    traits = _known_at(endpoint.kind, endpoint.name, endpoint.local, name.model)
    if (found := probed.get(name)) is not None:
        traits = replace(traits, tools=found.tools, schema=found.schema)
    overrides = configuration.overrides(name)
    said = {field: getattr(overrides, field) for field in ("tools", "schema", "images", "reasoning", "context_tokens")}
    if endpoint.kind == "mistral":
        # pydantic-ai has no way to ask Mistral for a schema, whatever the model could do.
        del said["schema"]
    return replace(traits, **{field: value for field, value in said.items() if value is not None})


def is_worth_probing(name: ModelName, configuration: Configuration, probed: Mapping[ModelName, ProbeResult]) -> bool:
    """Whether only trying shows what this model can do: it runs here and nobody has said anything about it."""
    if name in probed or not traits_of(name, configuration, probed).local:
        return False
    overrides = configuration.overrides(name)
    return overrides.tools is None or overrides.schema is None


@lru_cache(maxsize=1024)
def _known_at(kind: Kind, endpoint_name: str, is_here: bool, model: str) -> Traits:
    profile = _profile(kind, model)
    is_forwarded = is_here and model.endswith(_FORWARDED)
    is_local = is_here and not is_forwarded and not model.startswith(_GREAT)
    has_breakpoints = bool(profile.get("openai_supports_prompt_cache_breakpoints", False))
    is_small = is_local and kind in ("openai-chat", "ollama")
    return Traits(
        # Small models that run here often write their calls as text; constrained to a schema they get them right.
        tools=not is_small and profile.get("supports_tools", True),
        schema=is_small or (profile.get("supports_json_schema_output", False) and not is_forwarded),
        images=not is_small and profile.get("supports_image_input", True),
        streaming=True,
        reasoning=profile.get("supports_thinking", False),
        caching=kind == "anthropic" or (endpoint_name == "openai" and has_breakpoints),
        context_tokens=None if is_local else _context_tokens(kind, endpoint_name, model),
        local=is_local,
        schema_with_tools=kind != "google" or bool(profile.get("google_supports_tool_combination", False)),
    )


def _profile(kind: Kind, model: str) -> ModelProfile:
    """pydantic-ai's own knowledge, without its providers: those load the SDKs."""
    maker = _MAKERS.get(kind, kind)
    return getattr(import_module(f"pydantic_ai.profiles.{maker}"), f"{maker}_model_profile")(model) or {}


def _context_tokens(kind: Kind, endpoint_name: str, model: str) -> int | None:
    """From the price lists, which know it for many."""
    maker = _MAKERS.get(kind, kind)
    if kind == "ollama" or (maker == "openai" and endpoint_name != "openai" and not model.startswith("gpt-")):
        return None
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, known = get_snapshot().find_provider_model(model, None, maker, None)
    except LookupError:
        return None
    return known.context_window
