"""What is known about each model: what it can do, how much it can read, and where it runs.

What the person says counts most, then what a probe found, then what pydantic-ai and genai-prices know, then caution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, assert_never

from cellwright.models.config.configuration import Configuration, Kind
from cellwright.models.config.names import ModelName

if TYPE_CHECKING:
    from pydantic_ai.profiles import ModelProfile

_FORWARDED: Final = ("-cloud", ":cloud")
"""How a local Ollama names models that it asks elsewhere."""
_GREAT: Final = ("gpt-4", "gpt-5", "gpt-6", "claude-", "gemini-")
"""Models that run on nobody's own machine: what answers for them here only stands in front of them."""
_PRICE_LISTS: Final[Mapping[Kind, str]] = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "anthropic": "anthropic",
    "google": "google",
    "groq": "groq",
    "mistral": "mistral",
}


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
    believed = configuration.models.get(name)
    if believed is None:
        return traits
    # pydantic-ai has no way to ask Mistral for a schema, whatever the model could do.
    believes_schema = believed.schema if endpoint.kind != "mistral" else None
    return replace(
        traits,
        tools=traits.tools if believed.tools is None else believed.tools,
        schema=traits.schema if believes_schema is None else believes_schema,
        images=traits.images if believed.images is None else believed.images,
        reasoning=traits.reasoning if believed.reasoning is None else believed.reasoning,
        context_tokens=believed.context_tokens or traits.context_tokens,
    )


def is_worth_probing(name: ModelName, configuration: Configuration, probed: Mapping[ModelName, ProbeResult]) -> bool:
    """Whether only trying shows what this model can do: it runs here and nobody has said anything about it."""
    if name in probed or not traits_of(name, configuration, probed).local:
        return False
    believed = configuration.beliefs(name)
    return believed.tools is None or believed.schema is None


@lru_cache(maxsize=1024)
def _known_at(kind: Kind, endpoint_name: str, is_here: bool, model: str) -> Traits:
    profile = _profile(kind, model)
    is_forwarded = is_here and model.endswith(_FORWARDED)
    is_local = is_here and not is_forwarded and not model.startswith(_GREAT)
    is_small = is_local and kind in ("openai-chat", "ollama")
    return Traits(
        # Small models that run here often write their calls as text; constrained to a schema they get them right.
        tools=not is_small and profile.get("supports_tools", True),
        schema=is_small or (profile.get("supports_json_schema_output", False) and not is_forwarded),
        images=not is_small and profile.get("supports_image_input", True),
        streaming=True,
        reasoning=profile.get("supports_thinking", False),
        caching=kind == "anthropic" or _has_breakpoints(profile, endpoint_name),
        context_tokens=None if is_local else _context_tokens(kind, endpoint_name, model),
        local=is_local,
        schema_with_tools=kind != "google" or bool(profile.get("google_supports_tool_combination", False)),
    )


def _has_breakpoints(profile: ModelProfile, endpoint_name: str) -> bool:
    return endpoint_name == "openai" and bool(profile.get("openai_supports_prompt_cache_breakpoints", False))


def _profile(kind: Kind, model: str) -> ModelProfile:
    """pydantic-ai's own knowledge, without its providers: those load the SDKs."""
    match kind:
        case "openai-chat" | "openai-responses" | "ollama":
            from pydantic_ai.profiles.openai import openai_model_profile as found
        case "anthropic":
            from pydantic_ai.profiles.anthropic import anthropic_model_profile as found
        case "google":
            from pydantic_ai.profiles.google import google_model_profile as found
        case "groq":
            from pydantic_ai.profiles.groq import groq_model_profile as found
        case "mistral":
            from pydantic_ai.profiles.mistral import mistral_model_profile as found
        case _:
            assert_never(kind)
    return found(model) or {}


def _context_tokens(kind: Kind, endpoint_name: str, model: str) -> int | None:
    """From the price lists, which know it for many."""
    price_list = _PRICE_LISTS.get(kind)
    if price_list is None or (price_list == "openai" and endpoint_name != "openai" and not model.startswith("gpt-")):
        return None
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, known = get_snapshot().find_provider_model(model, None, price_list, None)
    except LookupError:
        return None
    return known.context_window
