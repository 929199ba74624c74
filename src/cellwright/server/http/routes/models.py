"""`/models`: which there are, what they cost, whether they are ready; keys go in and never come out."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import anyio.to_thread
from fastapi import Path
from pydantic import BeforeValidator, SecretStr

from cellwright.errors import UserError
from cellwright.models.client.gateway_client import Models
from cellwright.models.config import keys
from cellwright.models.config.configuration import configuration_at
from cellwright.models.config.names import TIERS
from cellwright.secrets import SecretPlace, forget_secret
from cellwright.server.http.auth.dependencies import Admin, Reader
from cellwright.server.http.errors import ResourceNotFound
from cellwright.server.http.resources import ApiRouter, Resources, open_models
from cellwright.server.http.schemas.model import RequestModel, ResponseModel

router = ApiRouter(tags=["models"])
Health = Literal["closed", "open", "half-open"]
ProviderName = Annotated[str, Path(min_length=1, max_length=100)]
Price = Annotated[str | None, BeforeValidator(lambda amount: None if amount is None else f"{amount:f}")]
_LONGEST_KEY: Final = 10_000


class ModelShape(ResponseModel):
    """One model we know of."""

    name: str
    tiers: list[str]
    is_ready: bool
    needs: str
    """What is missing if it is not ready."""
    is_local: bool
    abilities: list[str]
    context_tokens: int | None
    input_price_per_million: Price
    """Nobody knows it: null, never 0."""
    output_price_per_million: Price
    currency: str
    health: Health
    """open: it failed so often that it is left alone for a while."""


class ProviderShape(ResponseModel):
    """One provider; never its key."""

    name: str
    kind: str
    is_ready: bool
    key_from: str
    needs: str
    is_local: bool
    base_url: str
    health: Health


class ModelsList(ResponseModel):
    """Chains of models by tier, models, and whose they are."""

    tiers: dict[str, list[str]]
    models: list[ModelShape]
    providers: list[ProviderShape]


class NewKey(RequestModel):
    """A provider's API key."""

    key: SecretStr


class KeptKey(ResponseModel):
    """Where a key is kept now."""

    provider: str
    kept_in: SecretPlace


class RemovedKey(ResponseModel):
    """Where a key was kept."""

    provider: str
    removed_from: list[SecretPlace]


@router.get("/models")
async def list_models(_: Reader, resources: Resources) -> ModelsList:
    """Models, their prices, and which are ready."""
    configuration = await anyio.to_thread.run_sync(configuration_at, resources.settings.home)
    async with open_models(resources) as models:
        listed, providers = await models.listed(), await models.providers()
    ready = frozenset(provider.name for provider in providers.providers if provider.is_ready)
    return ModelsList(
        tiers={tier: [str(name) for name in configuration.chain(tier, ready)] for tier in TIERS},
        models=[ModelShape.model_validate(model) for model in listed.models],
        providers=[ProviderShape.model_validate(provider) for provider in providers.providers],
    )


@router.put("/models/keys/{provider}")
async def set_key(_: Admin, resources: Resources, provider: ProviderName, body: NewKey) -> KeptKey:
    """Keep a provider's API key; it is never shown."""
    value = body.key.get_secret_value()
    if len(value) > _LONGEST_KEY:
        raise UserError("That is too long for a key.", hint="Send the key and nothing else.")
    async with open_models(resources) as models:
        await _check_provider(models, provider)
        kept = await anyio.to_thread.run_sync(keys.set_key, resources.settings.ready_home(), provider, value)
        await models.keys_changed(forget=[provider])
    return KeptKey(provider=provider, kept_in=kept)


@router.delete("/models/keys/{provider}")
async def remove_key(_: Admin, resources: Resources, provider: ProviderName) -> RemovedKey:
    """Forget a provider's API key."""
    async with open_models(resources) as models:
        await _check_provider(models, provider)
        removed = await anyio.to_thread.run_sync(forget_secret, resources.settings.home, provider)
        await models.keys_changed(forget=[provider])
    return RemovedKey(provider=provider, removed_from=[*removed])


async def _check_provider(models: Models, name: str) -> None:
    known = sorted(provider.name for provider in (await models.providers()).providers)
    if name not in known:
        raise ResourceNotFound(f"No provider is called {name!r}.", hint=f"Known: {', '.join(known)}.")
