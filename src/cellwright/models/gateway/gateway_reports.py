"""What the gateway tells about itself: models, providers, usage, how it is doing."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any, assert_never

from cellwright.models.config.configuration import Endpoint
from cellwright.models.config.keys import variable_of
from cellwright.models.config.names import ABILITIES, TIERS, ModelName
from cellwright.models.gateway.lifetime import IdleTimer
from cellwright.models.gateway.model_probe import check_model
from cellwright.models.gateway.model_registry import ModelRegistry
from cellwright.models.money import Ledger
from cellwright.models.reports import (
    AskLatency,
    AskModels,
    AskProviders,
    AskStatus,
    AskTest,
    AskUsage,
    LatencyReport,
    ListedModel,
    ModelsReport,
    ProvidersReport,
    ProviderState,
    Question,
    Report,
    StatusReport,
    UsageReport,
)
from cellwright.models.routing.route import Candidate, can


class GatewayReports:
    """Answers every question but those about single calls."""

    def __init__(self, *, desk: ModelRegistry, ledger: Ledger, idle: IdleTimer, version: str) -> None:
        self._desk = desk
        self._ledger = ledger
        self._idle = idle
        self._version = version
        self._started_at = datetime.now(UTC).isoformat(timespec="seconds")
        self.endpoint: dict[str, Any] = {}
        """Where the OpenAI-compatible endpoint is, once it is open."""

    async def report(self, question: Question, *, calls_in_flight: int) -> Report:
        """The answer to one question. Raises `UserError` while `models.toml` is broken."""
        match question:
            case AskUsage(by=by, since=since):
                return UsageReport(rows=self._ledger.usage(by=by, since=since))
            case AskLatency(since=since):
                return LatencyReport(rows=self._ledger.latency(since=since))
            case AskModels():
                return await self._models()
            case AskProviders():
                await self._desk.ready()
                endpoints = sorted(self._desk.configuration().endpoints.values(), key=lambda endpoint: endpoint.name)
                return ProvidersReport(providers=tuple([await self._state(endpoint) for endpoint in endpoints]))
            case AskTest(model=model):
                return await check_model(self._desk, self._ledger, ModelName.parse(model))
            case AskStatus():
                return StatusReport(
                    pid=os.getpid(),
                    version=self._version,
                    started_at=self._started_at,
                    calls_in_flight=calls_in_flight,
                    connections=self._idle.users - calls_in_flight,
                    idle_seconds=self._idle.seconds,
                    endpoint=self.endpoint,
                )
            case _:
                assert_never(question)

    async def _models(self) -> ModelsReport:
        configuration, ready = self._desk.configuration(), await self._desk.ready()
        chains = {tier: configuration.chain(tier, ready) for tier in TIERS}
        listed: list[ListedModel] = []
        for name in configuration.offered():
            candidate = self._desk.candidate(name, 0, ready)
            tiers = tuple(tier for tier in TIERS if name in chains[tier])
            listed.append(self._listed(candidate, tiers, configuration.endpoint(name)))
        return ModelsReport(models=tuple(listed))

    def _listed(self, candidate: Candidate, tiers: tuple[str, ...], endpoint: Endpoint) -> ListedModel:
        return ListedModel(
            name=str(candidate.name),
            tiers=tiers,
            is_ready=candidate.is_ready,
            needs="" if candidate.is_ready else _needs(endpoint),
            is_local=candidate.traits.local,
            abilities=tuple(ability for ability in ABILITIES if can(candidate.traits, ability)),
            context_tokens=candidate.traits.context_tokens,
            input_price_per_million=candidate.price_per_million_in,
            output_price_per_million=candidate.price_per_million_out,
            currency=candidate.currency,
            health=candidate.health,
        )

    async def _state(self, endpoint: Endpoint) -> ProviderState:
        key = await self._desk.key_of(endpoint.name)
        is_ready = endpoint.key == "none" or key is not None
        return ProviderState(
            name=endpoint.name,
            kind=endpoint.kind,
            is_ready=is_ready,
            key_from="not needed" if endpoint.key == "none" else "" if key is None else key.source,
            needs="" if is_ready else _needs(endpoint),
            is_local=endpoint.local,
            base_url=endpoint.base_url or "",
            health=self._desk.breakers.health(endpoint.name),
        )


def _needs(endpoint: Endpoint) -> str:
    return f"a key, or to start with {variable_of(endpoint.name)} set"
