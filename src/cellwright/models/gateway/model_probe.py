"""Probing one model: does it answer, can it call a tool and keep to a schema? Every try is paid and counted."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Final, Protocol, cast

import anyio
from pydantic_ai.messages import ModelRequest, ModelResponse, ModelResponseStreamEvent, ToolCallPart
from pydantic_ai.tools import ToolDefinition

from cellwright.models.calls import FailureKind, OutputSchema, Payer, Request, TokenUsage
from cellwright.models.config.catalogue import ProbeResult
from cellwright.models.config.names import ModelName
from cellwright.models.gateway.model_registry import ModelRegistry
from cellwright.models.money import Ledger
from cellwright.models.providers.failures import failure_of
from cellwright.models.reports import TestReport
from cellwright.models.routing.attempt import usage_of

__all__ = ["AskAs", "ProbeResult", "probe"]

_NUMBER: Final = 42
_SHAPE: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"number": {"type": "integer"}},
    "required": ["number"],
    "additionalProperties": False,
}
_TOOL: Final = ToolDefinition(name="note_number", description="Notes a number.", parameters_json_schema=_SHAPE)
_SETTINGS: Final[dict[str, Any]] = {"max_tokens": 512, "temperature": 0}
_TELLING: Final[frozenset[FailureKind]] = frozenset({"rejected", "broken-answer", "not-found"})
"""Failures that say something about the model rather than about its endpoint."""

CALL: Final = Request(
    messages=[ModelRequest.user_text_prompt(f"Call the tool note_number with the number {_NUMBER}.")],
    tools=[_TOOL],
    settings=_SETTINGS,
)
SHAPE: Final = Request(
    messages=[ModelRequest.user_text_prompt(f'Answer with the JSON {{"number": {_NUMBER}}} and nothing else.')],
    output=OutputSchema(name="number", schema=_SHAPE),
    settings=_SETTINGS,
)


class AskAs(Protocol):
    """Asks one model as if it could do this: `Providers.ask_as`, bound to a model and its key."""

    def __call__(
        self, request: Request, *, tools: bool, schema: bool
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelResponseStreamEvent | ModelResponse]]:
        """The answer."""
        ...


async def probe(ask: AskAs, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> ProbeResult:
    """What the model did. Raises whatever kept it from doing anything at all: that says nothing about it."""
    return ProbeResult(tools=await _calls(ask), schema=await _keeps_to(ask), at=now().isoformat(timespec="seconds"))


async def _calls(ask: AskAs) -> bool:
    response = await _answer(ask, CALL, tools=True, schema=False)
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)] if response else []
    return len(calls) == 1 and calls[0].tool_name == _TOOL.name and _is_right(calls[0].args)


async def _keeps_to(ask: AskAs) -> bool:
    response = await _answer(ask, SHAPE, tools=False, schema=True)
    return response is not None and _is_right(response.text)


async def _answer(ask: AskAs, request: Request, *, tools: bool, schema: bool) -> ModelResponse | None:
    response: ModelResponse | None = None
    try:
        async with ask(request, tools=tools, schema=schema) as told:
            async for event in told:
                if isinstance(event, ModelResponse):
                    response = event
    except Exception as error:
        if failure_of(error)[0] not in _TELLING:
            raise
        return None
    return response


def _is_right(told: object) -> bool:
    """Whether it is the number; models also write it as 42.0 or as text, which the shape forbids."""
    try:
        value: object = json.loads(told) if isinstance(told, str) else told
    except ValueError:
        return False
    number = cast("dict[str, object]", value).get("number") if isinstance(value, dict) else None
    return number == _NUMBER and isinstance(number, int)


_PROBE_TIMEOUT_SECONDS = 120


async def check_model(desk: ModelRegistry, ledger: Ledger, name: ModelName) -> TestReport:
    """How it did. What it showed is remembered. Raises `UserError` if nobody knows its endpoint."""
    endpoint, began = desk.configuration().endpoint(name), time.monotonic()
    key = await desk.key_of(endpoint.name)
    if key is None and endpoint.key == "required":
        return TestReport(model=str(name), is_answering=False, detail=f"There is no key for {endpoint.name!r}.")
    try:
        with anyio.fail_after(_PROBE_TIMEOUT_SECONDS):
            probed = await probe_model(desk, ledger, name)
    except Exception as error:  # noqa: BLE001 - SDKs raise whatever they like; `failure_of` knows what it means
        failing, detail, _ = failure_of(error)
        return TestReport(model=str(name), is_answering=False, detail=desk.mask(f"{failing}: {detail}"))
    shown = [word for word, can in (("calls tools", probed.tools), ("keeps to a schema", probed.schema)) if can]
    return TestReport(
        model=str(name),
        is_answering=True,
        detail=f"It answers; it {' and '.join(shown)}." if shown else "It answers, but only in words.",
        milliseconds=round(1000 * (time.monotonic() - began)),
        tools=probed.tools,
        schema=probed.schema,
    )


async def probe_model(desk: ModelRegistry, ledger: Ledger, name: ModelName) -> ProbeResult:
    """What the model can do, found by trying and remembered. Raises whatever kept it from answering."""
    key = await desk.key_of(name.provider)

    @asynccontextmanager
    async def ask(
        request: Request, *, tools: bool, schema: bool
    ) -> AsyncGenerator[AsyncIterator[ModelResponseStreamEvent | ModelResponse]]:
        value = None if key is None else key.value
        async with desk.providers.ask_as(name, request, tools=tools, schema=schema, key=value) as told:
            yield _counted(desk, ledger, name, told)

    probed = await probe(ask)
    ledger.keep_probe(name, probed)
    desk.learn(name, probed)
    return probed


async def _counted(
    desk: ModelRegistry, ledger: Ledger, name: ModelName, told: AsyncIterator[ModelResponseStreamEvent | ModelResponse]
) -> AsyncIterator[ModelResponseStreamEvent | ModelResponse]:
    async for event in told:
        if isinstance(event, ModelResponse):
            usage = usage_of(event) or TokenUsage()
            ledger.charge(model=str(name), usage=usage, price=desk.price_of(name, usage), payer=Payer())
        yield event
