"""Probing one model: does it answer, can it call a tool and keep to a schema? Every try is paid and counted."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any, Final, cast

import anyio
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart
from pydantic_ai.tools import ToolDefinition

from cellwright.models.calls import FailureKind, OutputSchema, Payer, Request, TokenUsage
from cellwright.models.config.catalogue import ProbeResult
from cellwright.models.config.names import ModelName
from cellwright.models.gateway.model_registry import ModelRegistry
from cellwright.models.money.ledger import Ledger
from cellwright.models.money.usage_book import utc_now
from cellwright.models.providers.failures import failure_of
from cellwright.models.reports import TestReport
from cellwright.models.routing.fallback import AnswerStream, usage_of

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


AskAs = Callable[..., AnswerStream]
"""Asks one model as if it could do this and nothing else: `Providers.ask_as`, bound to a model and its key."""


async def probe(
    ask: AskAs,
    count: Callable[[ModelResponse], None] = lambda response: None,
    now: Callable[[], datetime] = utc_now,
) -> ProbeResult:
    """What the model did. Raises whatever kept it from doing anything at all: that says nothing about it."""
    called = await _answer(ask(CALL, tools=True, schema=False), count)
    calls = [part for part in called.parts if isinstance(part, ToolCallPart)] if called else []
    tools = len(calls) == 1 and calls[0].tool_name == _TOOL.name and _is_right(calls[0].args)
    shaped = await _answer(ask(SHAPE, tools=False, schema=True), count)
    schema = shaped is not None and _is_right(shaped.text)
    return ProbeResult(tools=tools, schema=schema, at=now().isoformat(timespec="seconds"))


async def _answer(answer: AnswerStream, count: Callable[[ModelResponse], None]) -> ModelResponse | None:
    response: ModelResponse | None = None
    try:
        async with answer as events:
            async for event in events:
                if isinstance(event, ModelResponse):
                    response = event
                    count(event)
    except Exception as error:
        if failure_of(error)[0] not in _TELLING:
            raise
        return None
    return response


def _is_right(answer: object) -> bool:
    """Whether it is the number; models also write it as 42.0 or as text, which the shape forbids."""
    try:
        value: object = json.loads(answer) if isinstance(answer, str) else answer
    except ValueError:
        return False
    number = cast("dict[str, object]", value).get("number") if isinstance(value, dict) else None
    return number == _NUMBER and isinstance(number, int)


_PROBE_TIMEOUT_SECONDS = 120


async def check_model(registry: ModelRegistry, ledger: Ledger, name: ModelName) -> TestReport:
    """How it did. What it showed is remembered. Raises `UserError` if nobody knows its endpoint."""
    endpoint, began = registry.configuration().endpoint(name), time.monotonic()
    if await registry.key_of(endpoint.name) is None and endpoint.key == "required":
        return TestReport(model=str(name), is_answering=False, detail=f"There is no key for {endpoint.name!r}.")
    try:
        with anyio.fail_after(_PROBE_TIMEOUT_SECONDS):
            probed = await probe_model(registry, ledger, name)
    except Exception as error:  # noqa: BLE001 - SDKs raise whatever they like; `failure_of` knows what it means
        failing, detail, _ = failure_of(error)
        return TestReport(model=str(name), is_answering=False, detail=registry.mask(f"{failing}: {detail}"))
    shown = [word for word, can in (("calls tools", probed.tools), ("keeps to a schema", probed.schema)) if can]
    return TestReport(
        model=str(name),
        is_answering=True,
        detail=f"It answers; it {' and '.join(shown)}." if shown else "It answers, but only in words.",
        milliseconds=round(1000 * (time.monotonic() - began)),
        tools=probed.tools,
        schema=probed.schema,
    )


async def probe_model(registry: ModelRegistry, ledger: Ledger, name: ModelName) -> ProbeResult:
    """What the model can do, found by trying and remembered. Raises whatever kept it from answering."""
    ask = partial(registry.providers.ask_as, name, key=await registry.key_value(name.provider))

    def count(response: ModelResponse) -> None:
        usage = usage_of(response) or TokenUsage()
        ledger.charge(model=str(name), usage=usage, price=registry.price_of(name, usage), payer=Payer())

    probed = await probe(ask, count)
    ledger.keep_probe(name, probed)
    registry.learn(name, probed)
    return probed
