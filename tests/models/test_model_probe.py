"""Trying a model shows how it wants to be asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from functools import partial

import pytest

from cellwright.models.config.catalogue import ProbeResult
from cellwright.models.config.configuration import Configuration, Endpoint
from cellwright.models.config.names import ModelName
from cellwright.models.gateway.model_probe import probe
from cellwright.models.providers.failures import failure_of
from cellwright.models.providers.providers import Providers
from cellwright.testing import Answer, CallTool, Fault, ProviderServer, Say, SayJson

NAME = ModelName("local", "unheard-of")
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.fixture
async def server() -> AsyncGenerator[ProviderServer]:
    async with ProviderServer.open() as opened:
        yield opened


@pytest.fixture
async def providers(server: ProviderServer) -> AsyncGenerator[Providers]:
    endpoint = Endpoint(
        name="local", kind="openai-chat", base_url=server.base_url("openai-chat"), local=True, key="none"
    )
    opened = Providers(Configuration(endpoints={"local": endpoint}))
    yield opened
    await opened.aclose()


CALLS = CallTool("note_number", {"number": 42})
KEEPS = SayJson({"number": 42})


@pytest.mark.parametrize(
    ("to_call", "to_shape", "tools", "schema"),
    [
        (CALLS, KEEPS, True, True),
        (Say('```json\n{"name": "note_number", "arguments": {"number": 42}}\n```'), KEEPS, False, True),
        (CALLS, Say("Sure! The number is 42."), True, False),
        (CallTool("note_number", {"number": "42"}), SayJson({"number": 42.0}), False, False),
        (CallTool("another", {"number": 42}), SayJson({"number": 41}), False, False),
        (CallTool("note_number", '{"number": 42'), SayJson([42]), False, False),
        (Fault("bad-request"), Fault("bad-request"), False, False),
    ],
)
async def test_a_probe_tells_what_the_model_did(
    server: ProviderServer, providers: Providers, to_call: Answer, to_shape: Answer, tools: bool, schema: bool
) -> None:
    server.script(to_call, to_shape)

    found = await probe(partial(providers.ask_as, NAME, key=None), now=lambda: NOW)

    assert found == ProbeResult(tools=tools, schema=schema, at="2026-11-15T12:00:00+00:00")
    assert [bool(request.tools) for request in server.requests] == [True, False]
    assert "response_format" in server.requests[1].body


@pytest.mark.parametrize("fault", [Fault("server-error"), Fault("drop"), Fault("unauthorised"), Fault("rate-limited")])
async def test_an_endpoint_that_fails_says_nothing_about_the_model(
    server: ProviderServer, providers: Providers, fault: Fault
) -> None:
    server.script(fault)

    with pytest.raises(Exception) as caught:
        await probe(partial(providers.ask_as, NAME, key=None))

    assert failure_of(caught.value)[0] in ("server-error", "connection", "unauthorised", "rate-limited")
