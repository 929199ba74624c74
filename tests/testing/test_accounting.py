"""The server's own count: what was received, what was charged, and what was not."""

from __future__ import annotations

import anyio
import openai
import pytest
from inline_snapshot import snapshot
from pydantic_ai import ModelMessage, ModelRequest
from pydantic_ai.models import ModelRequestParameters

from cellwright.testing import WIRE_KINDS, Charge, Fault, ProviderServer, Say, Tokens, WireKind
from tests.testing.clients import KEY, Models, ask, parts_of


async def test_a_charge_says_for_what(server: ProviderServer, models: Models) -> None:
    used = Tokens(input_tokens=7, output_tokens=3, cache_read_tokens=2)
    server.script(Say("x", tokens=used))
    await ask(models["openai-chat"], stream=True, extra_headers={"Idempotency-Key": "run-1/step-2"})
    assert server.charged == (
        Charge(
            request_id=server.requests[0].id,
            kind="openai-chat",
            model="gpt-5.4-mini",
            idempotency_key="run-1/step-2",
            is_stream=True,
            tokens=used,
            is_finished=True,
        ),
    )


# Google's SDK leaves the connection open until the generator that reads it is collected.
@pytest.mark.parametrize("kind", [kind for kind in WIRE_KINDS if kind != "google"])
async def test_a_client_that_leaves_stops_the_stream_and_pays_for_what_was_made(
    server: ProviderServer, models: Models, kind: WireKind
) -> None:
    server.script(Fault("stall", answer=Say("x" * 100, chunks=100, tokens=Tokens(output_tokens=100)), after_chunks=30))
    asked: list[ModelMessage] = [ModelRequest.user_text_prompt("hi")]
    async with models[kind].request_stream(asked, None, ModelRequestParameters()) as response:
        async for _ in response:
            if parts_of(response.get()) == ["x" * 30]:
                break
        await response.cancel()
    await server.until(lambda server: server.silent == 0)
    assert [(charge.tokens.output_tokens, charge.is_finished) for charge in server.charged] == [(30, False)]


async def test_answers_go_to_the_requests_they_are_for_and_the_rest_in_line(
    server: ProviderServer, models: Models
) -> None:
    server.when(lambda request: "weather" in request.prompt, Say("Rain."), Say("Sun."))
    server.when(lambda request: request.kind == "anthropic", Say("I am Claude."), for_ever=True)
    server.script(Say("First."), Say("Second."))
    chat, claude = models["openai-chat"], models["anthropic"]
    said = [
        parts_of(await ask(model, prompt, stream=False))[0]
        for model, prompt in [
            (chat, "hello"),
            (chat, "weather?"),
            (claude, "who?"),
            (claude, "weather?"),
            (claude, "who?"),
            (chat, "x"),
            (chat, "echo"),
        ]
    ]
    assert said == snapshot(["First.", "Rain.", "I am Claude.", "Sun.", "I am Claude.", "Second.", "echo"])
    assert server.unasked == 0


async def test_what_is_always_said_comes_after_the_line(server: ProviderServer, models: Models) -> None:
    server.always(Say("tick"), Say("tock"))
    server.script(Say("Ready."))
    said = [parts_of(await ask(models["openai-chat"], stream=False))[0] for _ in range(4)]
    assert said == ["Ready.", "tick", "tock", "tick"]


async def test_a_repeated_key_is_answered_again_but_charged_once() -> None:
    async with ProviderServer.open(honours_idempotency_keys=True) as server:
        server.script(Fault("drop", answer=Say("Once.")), Say("Other."))
        async with openai.AsyncOpenAI(base_url=server.base_url("openai-chat"), api_key=KEY, max_retries=0) as client:

            async def ask_with(key: str) -> str | None:
                answer = await client.chat.completions.create(
                    model="any", messages=[{"role": "user", "content": "x"}], extra_headers={"Idempotency-Key": key}
                )
                return answer.choices[0].message.content

            with pytest.raises(openai.APIConnectionError):
                await ask_with("a")
            assert [await ask_with("a"), await ask_with("a"), await ask_with("b")] == ["Once.", "Once.", "Other."]
        assert len(server.requests) == 4
        assert [(charge.idempotency_key, charge.is_finished) for charge in server.charged] == [("a", True), ("b", True)]


async def test_many_clients_at_once_are_each_charged_once(server: ProviderServer, models: Models) -> None:
    said: list[str] = []

    async def ask_one(number: int) -> None:
        said.extend(parts_of(await ask(models["openai-chat"], f"question {number}", stream=True)))

    async with anyio.create_task_group() as asking:
        for number in range(30):
            asking.start_soon(ask_one, number)
    assert sorted(said) == sorted(f"question {number}" for number in range(30))
    assert len({charge.request_id for charge in server.charged if charge.is_finished}) == 30


async def test_waiting_for_what_does_not_come_ends(server: ProviderServer) -> None:
    with pytest.raises(TimeoutError, match=r"0\.05 s"):
        await server.until(lambda server: len(server.requests) == 1, timeout_seconds=0.05)


async def test_a_body_that_is_no_question_is_refused_as_the_provider_would(server: ProviderServer) -> None:
    async with openai.AsyncOpenAI(base_url=server.base_url("openai-chat"), api_key=KEY, max_retries=0) as client:
        for body in ([], {"tools": [{"function": {}}]}):
            with pytest.raises(openai.BadRequestError):
                await client.post("/chat/completions", cast_to=object, body=body)
    assert (server.requests, server.charged) == ((), ())
