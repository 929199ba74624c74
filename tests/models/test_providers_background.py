"""Answers made in the background: paid once, fetched by whoever knows their id."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import anyio
import httpx2
import pytest

from cellwright.errors import UserError
from cellwright.models.config.configuration import Configuration, Endpoint
from cellwright.models.config.names import ModelName
from cellwright.models.providers.failures import failure_of
from cellwright.models.providers.providers import Providers
from cellwright.testing import ProviderServer, Say
from tests.models.asked import KEY, configured, hear, model_of, put_together, saying

SLOW = ModelName("slow", "gpt-5-mini")


@pytest.fixture
async def server() -> AsyncGenerator[ProviderServer]:
    async with ProviderServer.open() as opened:
        yield opened


@pytest.fixture
async def providers(server: ProviderServer) -> AsyncGenerator[Providers]:
    endpoint = Endpoint(
        name="slow", kind="openai-responses", base_url=server.base_url("openai-responses"), background=True
    )
    opened = Providers(Configuration(endpoints={"slow": endpoint}))
    yield opened
    await opened.aclose()


@pytest.mark.parametrize("stream", [False, True])
async def test_a_background_answer_is_asked_for_once_and_fetched(
    server: ProviderServer, providers: Providers, stream: bool
) -> None:
    server.script(Say("Slowly made."))
    ids = list[str]()

    pieces, response = await hear(providers, SLOW, saying(), stream=stream, on_provider_id=ids.append)
    again = await providers.resume(SLOW, saying(), ids[0], KEY)

    assert (response.text, again.text) == ("Slowly made.", "Slowly made.")
    assert put_together(pieces) == (["Slowly made."] if stream else [])
    assert server.requests[0].body["background"] is True
    assert [charge.tokens.output_tokens for charge in server.charged] == [5]


async def test_an_answer_asked_for_by_a_process_that_died_is_fetched(
    server: ProviderServer, providers: Providers
) -> None:
    server.script(Say("Kept for you.", chunk_seconds=0.05))
    async with httpx2.AsyncClient() as client:
        body = {"model": "gpt-5-mini", "input": "hi", "background": True}
        sent = await client.post(f"{server.base_url('openai-responses')}/responses", json=body)

    response = await providers.resume(SLOW, saying(), sent.json()["id"], KEY)

    assert response.text == "Kept for you."
    assert len(server.charged) == 1


async def test_cancelling_stops_the_answer_at_the_provider(server: ProviderServer, providers: Providers) -> None:
    server.script(Say("Never to be finished.", chunk_seconds=60))

    with anyio.fail_after(120), anyio.CancelScope() as scope:
        await hear(providers, SLOW, saying(), on_provider_id=lambda _: scope.cancel())

    assert scope.cancelled_caught
    assert not server.charged[0].is_finished


async def test_an_answer_nobody_keeps_any_more_is_not_found(providers: Providers) -> None:
    with pytest.raises(Exception, match="no longer available") as caught:
        await providers.resume(SLOW, saying(), "resp_of_last_year", KEY)

    assert failure_of(caught.value)[0] == "not-found"


async def test_only_background_endpoints_can_be_resumed(server: ProviderServer) -> None:
    providers = Providers(configured(server))

    with pytest.raises(UserError, match="not asked in the background"):
        await providers.resume(model_of("openai-chat"), saying(), "x", KEY)
    await providers.aclose()
