"""What the gateway tells about itself: models, providers, usage, how it is doing."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from cellwright.idle import IdleTimer
from cellwright.models import reports
from cellwright.models.config.configuration import Endpoint
from cellwright.models.config.keys import variable_of
from cellwright.models.config.names import ABILITIES, TIERS, ModelName
from cellwright.models.gateway.model_probe import check_model
from cellwright.models.gateway.model_registry import ModelRegistry
from cellwright.models.money.ledger import Ledger
from cellwright.models.money.usage_book import utc_now
from cellwright.models.reports import ListedModel, ModelsReport, ProvidersReport, ProviderState, Report, ReportRequest
from cellwright.models.routing.route import can


@dataclass(eq=False, kw_only=True)
class GatewayReports:
    """Answers every question but those about single calls."""

    registry: ModelRegistry
    ledger: Ledger
    idle: IdleTimer
    version: str
    endpoint: dict[str, Any] = field(default_factory=dict[str, Any], init=False)
    """Where the OpenAI-compatible endpoint is, once it is open."""
    _started_at: str = field(default_factory=lambda: utc_now().isoformat(timespec="seconds"), init=False)

    async def report(self, question: ReportRequest, *, calls_in_flight: int) -> Report:
        """The answer to one question. Raises `UserError` while `models.toml` is broken."""
        match question.kind:
            case "usage":
                return reports.UsageReport(rows=self.ledger.usage(by=question.by, since=question.since))
            case "latency":
                return reports.LatencyReport(rows=self.ledger.latency(since=question.since))
            case "models":
                return await self.models()
            case "providers":
                await self.registry.ready()
                endpoints = sorted(self.registry.configuration().endpoints.values(), key=lambda endpoint: endpoint.name)
                return ProvidersReport(providers=tuple([await self._state(endpoint) for endpoint in endpoints]))
            case "test":
                return await check_model(self.registry, self.ledger, ModelName.parse(question.model))
            case "status":
                return reports.StatusReport(
                    pid=os.getpid(),
                    version=self.version,
                    started_at=self._started_at,
                    calls_in_flight=calls_in_flight,
                    connections=self.idle.users - calls_in_flight,
                    idle_seconds=self.idle.seconds,
                    endpoint=self.endpoint,
                )

    async def models(self) -> ModelsReport:
        """Which models there are, and which can be used now."""
        configuration, ready = self.registry.configuration(), await self.registry.ready()
        chains = {tier: configuration.chain(tier, ready) for tier in TIERS}
        listed: list[ListedModel] = []
        for name in configuration.offered():
            candidate, endpoint = self.registry.candidate(name, 0, ready), configuration.endpoint(name)
            rates = candidate.rates
            listed.append(
                ListedModel(
                    name=str(name),
                    tiers=tuple(tier for tier in TIERS if name in chains[tier]),
                    is_ready=candidate.is_ready,
                    needs="" if candidate.is_ready else _needs(endpoint),
                    is_local=candidate.traits.local,
                    abilities=tuple(ability for ability in ABILITIES if can(candidate.traits, ability)),
                    context_tokens=candidate.traits.context_tokens,
                    input_price_per_million=None if rates is None else rates.input_per_million,
                    output_price_per_million=None if rates is None else rates.output_per_million,
                    currency=rates.currency if rates else "USD",
                    health=candidate.health,
                )
            )
        return ModelsReport(models=tuple(listed))

    async def _state(self, endpoint: Endpoint) -> ProviderState:
        key = await self.registry.key_of(endpoint.name)
        is_ready = endpoint.key == "none" or key is not None
        return ProviderState(
            name=endpoint.name,
            kind=endpoint.kind,
            is_ready=is_ready,
            key_from="not needed" if endpoint.key == "none" else "" if key is None else key.source,
            needs="" if is_ready else _needs(endpoint),
            is_local=endpoint.local,
            base_url=endpoint.base_url or "",
            health=self.registry.breakers.health(endpoint.name),
        )


def _needs(endpoint: Endpoint) -> str:
    return f"a key, or to start with {variable_of(endpoint.name)} set"
