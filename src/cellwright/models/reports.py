"""What the gateway can be asked about itself, and what it answers: no call of a model is in it, except a test."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

UsageBy = Literal["run", "model", "day", "role"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """What the gateway is asked about itself; `test` asks one model something trivial, and is paid."""

    kind: Literal["usage", "latency", "models", "providers", "test", "status"]
    by: UsageBy = "model"
    """What usage is summed by."""
    since: str = ""
    """Of usage and latency: a day or time, UTC, ISO 8601; everything if empty."""
    model: str = ""
    """Which one to test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow:
    """One sum. Money is known per currency; calls without a known price are counted apart, never as 0."""

    what: str
    """The run, model, day or role."""
    calls: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    paid: dict[str, Decimal] = field(default_factory=dict[str, Decimal])
    """By currency."""
    unpriced_calls: int = 0
    unknown_calls: int = 0
    """Sent, and nobody knows what came of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """What was used and paid."""

    rows: tuple[UsageRow, ...]
    kind: Literal["usage"] = "usage"


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyRow:
    """One model. Answers from the record or the cache are no answers of a model."""

    model: str
    calls: int
    """Answered by it."""
    failures: int
    """Attempts at it that gave no answer, also where another model answered in the end."""
    p50_ms: int = 0
    p95_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyReport:
    """How long models took to answer, and how often they did not; the most used first."""

    rows: tuple[LatencyRow, ...]
    kind: Literal["latency"] = "latency"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedModel:
    """One model we know of."""

    name: str
    tiers: tuple[str, ...]
    """The chains it stands in."""
    is_ready: bool
    needs: str
    """What is missing if it is not ready."""
    is_local: bool
    abilities: tuple[str, ...]
    context_tokens: int | None = None
    input_price_per_million: Decimal | None = None
    output_price_per_million: Decimal | None = None
    currency: str = "USD"
    health: Literal["closed", "open", "half-open"] = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsReport:
    """Which models there are, and which can be used now."""

    models: tuple[ListedModel, ...]
    kind: Literal["models"] = "models"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderState:
    """One provider or endpoint; never a key, never a header."""

    name: str
    kind: str
    is_ready: bool
    key_from: str
    """environment, keyring, file, or empty where there is none; `not needed` where none is."""
    needs: str
    """What to do if it is not ready."""
    is_local: bool
    base_url: str = ""
    health: Literal["closed", "open", "half-open"] = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvidersReport:
    """Which providers are ready, and what a missing one needs."""

    providers: tuple[ProviderState, ...]
    kind: Literal["providers"] = "providers"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestReport:
    """Whether a model answers, and whether it can call tools and keep to a schema."""

    __test__ = False  # pytest: not a test

    model: str
    is_answering: bool
    detail: str
    """Why not, or what it said."""
    milliseconds: int = 0
    tools: bool | None = None
    schema: bool | None = None
    kind: Literal["test"] = "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusReport:
    """How the gateway is doing."""

    pid: int
    version: str
    started_at: str
    """UTC, ISO 8601."""
    calls_in_flight: int
    connections: int
    idle_seconds: float
    """After how long without work it ends."""
    endpoint: dict[str, Any] = field(default_factory=dict[str, Any])
    """The OpenAI-compatible endpoint, if it is open: base_url; never its token."""
    kind: Literal["status"] = "status"


Report = UsageReport | LatencyReport | ModelsReport | ProvidersReport | TestReport | StatusReport
