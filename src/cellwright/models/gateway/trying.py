"""Trying one model: does it answer, and what can it do? Every try is paid and counted."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import anyio
from pydantic_ai.messages import ModelResponse, ModelResponseStreamEvent

from cellwright.models.calls import Payer, Request, Usage
from cellwright.models.catalogue import Probed
from cellwright.models.failing import failure_of
from cellwright.models.gateway.desk import Desk
from cellwright.models.hearing import usage_of
from cellwright.models.ledger import Ledger
from cellwright.models.names import ModelName
from cellwright.models.probing import probe
from cellwright.models.reports import TestReport

_AT_MOST_SECONDS = 120


async def try_model(desk: Desk, ledger: Ledger, name: ModelName) -> TestReport:
    """How it did. What it showed is remembered. Raises `UserError` if nobody knows its endpoint."""
    endpoint, began = desk.configuration().endpoint(name), time.monotonic()
    key = await desk.key_of(endpoint.name)
    if key is None and endpoint.key == "required":
        return TestReport(model=str(name), is_answering=False, detail=f"There is no key for {endpoint.name!r}.")
    try:
        with anyio.fail_after(_AT_MOST_SECONDS):
            probed = await learn(desk, ledger, name)
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


async def learn(desk: Desk, ledger: Ledger, name: ModelName) -> Probed:
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
    desk: Desk, ledger: Ledger, name: ModelName, told: AsyncIterator[ModelResponseStreamEvent | ModelResponse]
) -> AsyncIterator[ModelResponseStreamEvent | ModelResponse]:
    async for event in told:
        if isinstance(event, ModelResponse):
            usage = usage_of(event) or Usage()
            ledger.charge(model=str(name), usage=usage, price=desk.price_of(name, usage), payer=Payer())
        yield event
