"""Responses made in the background: they are fetched by id, whatever became of who asked first."""

from __future__ import annotations

from collections.abc import Generator

import openai
import pytest
from pydantic_ai import ModelRequest

from cellwright.testing import Fault, ProviderServer, Say
from tests.testing.clients import KEY, Models, ask, parts_of


@pytest.fixture
def client(server: ProviderServer) -> Generator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.base_url("openai-responses"), api_key=KEY, max_retries=0) as client:
        yield client


def test_an_answer_is_fetched_by_its_id_when_it_is_made(server: ProviderServer, client: openai.OpenAI) -> None:
    server.script(Fault("slow-first-byte", answer=Say("Slowly made.")))
    begun = client.responses.create(model="any", input="x", background=True)
    assert begun.status == "queued"
    assert client.responses.retrieve(begun.id).status == "queued"
    server.release()
    server.wait_until(lambda server: server.charged[0].is_finished)
    ended = client.responses.retrieve(begun.id)
    assert (ended.status, ended.output_text, ended.background) == ("completed", "Slowly made.", True)
    assert [charge.tokens.output_tokens for charge in server.charged] == [5]


def test_who_lost_the_connection_reads_on_where_it_was(server: ProviderServer, client: openai.OpenAI) -> None:
    server.script(Fault("drop", after_chunks=2))
    seen: list[int] = []
    said = ""
    with (
        pytest.raises(openai.APIConnectionError),
        client.responses.create(model="any", input="x", background=True, stream=True) as stream,
    ):
        for event in stream:
            seen.append(event.sequence_number)
            said += event.delta if event.type == "response.output_text.delta" else ""
    id = f"resp_{server.requests[0].id}"
    assert said == "one two "
    with client.responses.retrieve(id, stream=True, starting_after=seen[-1]) as rest:
        for event in rest:
            said += event.delta if event.type == "response.output_text.delta" else ""
    assert said == "one two three four five"
    assert [charge.is_finished for charge in server.charged] == [True]


def test_a_cancelled_one_is_paid_as_far_as_it_came(server: ProviderServer, client: openai.OpenAI) -> None:
    server.script(Fault("stall", after_chunks=3))
    begun = client.responses.create(model="any", input="x", background=True)
    server.wait_until(lambda server: server.silent == 1)
    assert client.responses.cancel(begun.id).status == "cancelled"
    assert [(charge.tokens.output_tokens, charge.is_finished) for charge in server.charged] == [(3, False)]


def test_one_that_fails_says_so(server: ProviderServer, client: openai.OpenAI) -> None:
    server.script(Fault("error-event"))
    begun = client.responses.create(model="any", input="x", background=True)
    server.wait_until(lambda server: client.responses.retrieve(begun.id).status == "failed")
    error = client.responses.retrieve(begun.id).error
    assert error is not None
    assert (error.code, error.message) == ("server_error", "The server had an error.")


def test_an_unknown_one_is_not_found(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="resp_gone"):
        client.responses.retrieve("resp_gone")


async def test_pydantic_ai_fetches_what_it_was_waiting_for(server: ProviderServer, models: Models) -> None:
    from pydantic_ai.models import ModelRequestParameters

    server.script(Fault("slow-first-byte", answer=Say("Slowly made.")))
    model = models["openai-responses"]
    begun = await ask(model, stream=False, openai_background=True)
    assert (begun.state, begun.parts) == ("suspended", [])
    server.release()
    await server.until(lambda server: server.charged[0].is_finished)
    history = [ModelRequest.user_text_prompt("hi there"), begun]
    ended = await model.request(history, None, ModelRequestParameters())
    assert (ended.state, parts_of(ended)) == ("complete", ["Slowly made."])
    assert len(server.requests) == 1
