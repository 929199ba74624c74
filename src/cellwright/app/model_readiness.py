"""Whether any model would answer: one that has its key, or one on this machine where somebody listens."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final
from urllib.parse import urlsplit

import anyio

from cellwright.agents import Role
from cellwright.models.client.gateway_client import Models
from cellwright.models.config.names import ModelName
from cellwright.models.reports import ListedModel

_CONNECT_TIMEOUT_SECONDS: Final = 2.0
_PORTS: Final = {"http": 80, "https": 443}


async def has_model(models: Models, roles: Mapping[str, Role], *, is_private: bool) -> bool:
    """Whether one of these roles would find a model. One that needs no key is looked for at its address."""
    tiers = {role.tier for role in roles.values()}
    ready = [
        model
        for model in (await models.listed()).models
        if model.is_ready and tiers & set(model.tiers) and (model.is_local or not is_private)
    ]
    if any(not model.is_local for model in ready):
        return True
    return await _any_listens(models, _providers_of(ready))


def _providers_of(ready: Collection[ListedModel]) -> set[str]:
    return {ModelName.parse(model.name).provider for model in ready}


async def _any_listens(models: Models, names: Collection[str]) -> bool:
    if not names:
        return False
    providers = (await models.providers()).providers
    return any([await _listens(each.base_url) for each in providers if each.name in names])


async def _listens(address: str) -> bool:
    """Whether a connection can be made; where there is no address to try, it is taken for there."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return False
    if not host or not port:
        return not address
    with anyio.move_on_after(_CONNECT_TIMEOUT_SECONDS):
        try:
            stream = await anyio.connect_tcp(host, port)
        except OSError:
            return False
        await stream.aclose()
        return True
    return False
