"""Texts as vectors, from the endpoints that make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, assert_never

from cellwright.errors import UserError
from cellwright.models.clients import NO_KEY, address_of, openai_provider
from cellwright.models.configuration import Endpoint
from cellwright.models.failing import BrokenAnswer

if TYPE_CHECKING:
    from cellwright.models.clients import Http

_BATCH: Final = 100
"""As many texts as every provider takes in one request."""


async def embed(endpoint: Endpoint, model: str, texts: Sequence[str], key: str | None, http: Http) -> list[list[float]]:
    """One vector per text, in order. Raises `UserError` where the endpoint makes none."""
    vectors = list[list[float]]()
    for start in range(0, len(texts), _BATCH):
        batch = list(texts[start : start + _BATCH])
        made = await _batch(endpoint, model, batch, key, http)
        if len(made) != len(batch):
            raise BrokenAnswer(f"{len(batch)} texts were given and {len(made)} vectors came back")
        vectors += made
    return vectors


async def _batch(endpoint: Endpoint, model: str, texts: list[str], key: str | None, http: Http) -> list[list[float]]:
    kind = endpoint.kind
    client: Any = http
    match kind:
        case "openai-chat" | "openai-responses" | "ollama":
            from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel

            made = await OpenAIEmbeddingModel(model, provider=openai_provider(endpoint, key, http)).embed(
                texts, input_type="document"
            )
            return [list(vector) for vector in made.embeddings]
        case "google":
            from pydantic_ai.embeddings.google import GoogleEmbeddingModel
            from pydantic_ai.providers.google import GoogleProvider

            provider = GoogleProvider(api_key=key or NO_KEY, http_client=client, base_url=address_of(endpoint))
            made = await GoogleEmbeddingModel(model, provider=provider).embed(texts, input_type="document")
            return [list(vector) for vector in made.embeddings]
        case "mistral":
            from pydantic_ai.providers.mistral import MistralProvider

            provider = MistralProvider(api_key=key or NO_KEY, http_client=client, base_url=address_of(endpoint))
            response = await provider.client.embeddings.create_async(model=model, inputs=texts)
            return [list(one.embedding or ()) for one in response.data]
        case "anthropic" | "groq":
            raise UserError(
                f"{endpoint.name!r} makes no embeddings.",
                hint="Name a model of openai, google, mistral or ollama in the tier embed.",
            )
        case _:
            assert_never(kind)
