"""Every kind of provider through its real SDK: the same question gets the same kind of answer."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolReturnPart,
    UserPromptPart,
)

from cellwright.errors import Unavailable, UserError
from cellwright.models.calls import Request
from cellwright.models.config.catalogue import ProbeResult
from cellwright.models.config.configuration import KINDS, Kind
from cellwright.models.config.names import ModelName
from cellwright.models.providers.failures import BrokenAnswer, failure_of
from cellwright.models.providers.providers import Providers
from cellwright.models.providers.request_adapter import SETTINGS, check_settings
from cellwright.testing import CallTool, Fault, ProviderServer, Say, SayJson, Tokens
from tests.models.asked import KEY, PERSON, WEATHER, configured, hear, model_of, put_together, saying

ANSWERS_BY_TOOL: tuple[Kind, ...] = ("google", "groq", "mistral")
"""Asked for a shape beside tools, these models must call a tool of ours."""


@pytest.fixture(scope="module")
async def one_server() -> AsyncGenerator[ProviderServer]:
    async with ProviderServer.open() as opened:
        yield opened


@pytest.fixture(scope="module")
async def providers(one_server: ProviderServer) -> AsyncGenerator[Providers]:
    opened = Providers(configured(one_server))
    yield opened
    await opened.aclose()


@pytest.fixture
def server(one_server: ProviderServer) -> ProviderServer:
    one_server.forget()
    return one_server


every_kind = pytest.mark.parametrize("kind", KINDS)
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@pytest.mark.sampled(12)
@every_kind
@both_ways
async def test_text_comes_whole_and_in_pieces_that_add_up(
    server: ProviderServer, providers: Providers, kind: Kind, stream: bool
) -> None:
    server.script(Say("It rains in Bergen.", tokens=Tokens(input_tokens=7, output_tokens=4)))

    pieces, response = await hear(providers, model_of(kind), saying(), stream=stream)

    assert response.text == "It rains in Bergen."
    assert (response.usage.input_tokens, response.usage.output_tokens) == (7, 4)
    assert (response.finish_reason, response.state) == ("stop", "complete")
    assert put_together(pieces) == (["It rains in Bergen."] if stream else [])
    assert (len(pieces) > 2) is stream


@pytest.mark.slow
@every_kind
@both_ways
async def test_tools_are_called(server: ProviderServer, providers: Providers, kind: Kind, stream: bool) -> None:
    server.script(CallTool("weather", {"city": "Bergen"}))

    pieces, response = await hear(providers, model_of(kind), saying(tools=[WEATHER]), stream=stream)

    assert [(call.tool_name, call.args_as_dict()) for call in response.tool_calls] == [("weather", {"city": "Bergen"})]
    assert response.finish_reason == "tool_call"
    assert server.requests[0].tools == ("weather",)
    if stream:
        assert put_together(pieces) == ['weather({"city": "Bergen"}']


@every_kind
@both_ways
async def test_a_shape_comes_as_one_text_of_json(
    server: ProviderServer, providers: Providers, kind: Kind, stream: bool
) -> None:
    server.script(SayJson({"name": "Ada", "age": 36}))

    pieces, response = await hear(providers, model_of(kind), saying(output=PERSON), stream=stream)

    assert [type(part) for part in response.parts] == [TextPart]
    assert json.loads(response.text or "") == {"name": "Ada", "age": 36}
    assert response.finish_reason == "stop"
    if stream:
        assert [json.loads(text) for text in put_together(pieces)] == [{"name": "Ada", "age": 36}]


@every_kind
@both_ways
async def test_a_shape_beside_tools_comes_as_one_text_of_json_too(
    server: ProviderServer, providers: Providers, kind: Kind, stream: bool
) -> None:
    value = {"name": "Ada", "age": 36}
    server.script(CallTool("give_answer", value) if kind in ANSWERS_BY_TOOL else SayJson(value))

    pieces, response = await hear(providers, model_of(kind), saying(tools=[WEATHER], output=PERSON), stream=stream)

    assert [type(part) for part in response.parts] == [TextPart]
    assert json.loads(response.text or "") == value
    if stream:
        assert [json.loads(text) for text in put_together(pieces)] == [value]


@every_kind
async def test_a_tool_may_still_be_called_before_the_shape_is_given(
    server: ProviderServer, providers: Providers, kind: Kind
) -> None:
    server.script(CallTool("weather", {"city": "Bergen"}))

    pieces, response = await hear(providers, model_of(kind), saying(tools=[WEATHER], output=PERSON), stream=True)

    assert [call.tool_name for call in response.tool_calls] == ["weather"]
    assert put_together(pieces) == ['weather({"city": "Bergen"}']


@every_kind
async def test_json_that_lacks_what_was_asked_for_is_broken_and_says_what_it_cost(
    server: ProviderServer, providers: Providers, kind: Kind
) -> None:
    server.script(SayJson({"name": "Ada"}, tokens=Tokens(input_tokens=9, output_tokens=3)))

    used = None
    with pytest.raises(BrokenAnswer, match="lacks 'age'"):
        async with providers.ask(model_of(kind), saying(output=PERSON), stream=False, key=KEY) as told:
            async for event in told:
                assert isinstance(event, ModelResponse)
                used = event.usage.output_tokens
    assert used == 3


@every_kind
@both_ways
async def test_the_key_goes_out_and_the_providers_id_comes_back_once(
    server: ProviderServer, providers: Providers, kind: Kind, stream: bool
) -> None:
    ids = list[str]()

    _, response = await hear(providers, model_of(kind), saying(), stream=stream, on_provider_id=ids.append)

    assert server.requests[0].credential == KEY
    assert ids == [response.provider_response_id]


@every_kind
async def test_an_idempotency_key_is_sent_where_the_sdk_lets_it_through(
    server: ProviderServer, providers: Providers, kind: Kind
) -> None:
    await hear(providers, model_of(kind), saying(), idempotency_key="run-1/step-2/abc")

    assert [request.idempotency_key for request in server.requests] == [
        None if kind in ("google", "mistral") else "run-1/step-2/abc"
    ]


@every_kind
async def test_nothing_is_retried_here(server: ProviderServer, providers: Providers, kind: Kind) -> None:
    server.always(Fault("server-error"))

    with pytest.raises(Exception, match="500") as caught:
        await hear(providers, model_of(kind), saying())

    assert failure_of(caught.value)[0] == "server-error"
    assert len(server.requests) == 1


@every_kind
async def test_leaving_a_stream_early_closes_its_connection(
    server: ProviderServer, providers: Providers, kind: Kind
) -> None:
    server.script(Fault("stall", after_chunks=2))

    with anyio.fail_after(120):
        async with providers.ask(model_of(kind), saying(), stream=True, key=KEY) as told:
            async for _ in told:
                break
            await server.until(lambda it: it.silent == 1)
        # Nobody released it: it is silent no more because whoever listened has gone.
        await server.until(lambda it: it.silent == 0)
    assert [charge.is_finished for charge in server.charged] == [False]


@every_kind
async def test_settings_reach_the_provider(server: ProviderServer, providers: Providers, kind: Kind) -> None:
    await hear(providers, model_of(kind), saying(settings={"max_tokens": 77, "temperature": None}))

    assert "77" in json.dumps(server.requests[0].body)


@every_kind
async def test_settings_a_model_does_not_take_are_left_out_in_silence(
    server: ProviderServer, providers: Providers, kind: Kind
) -> None:
    settings: dict[str, Any] = {
        "temperature": 0.1, "top_p": 0.9, "top_k": 5, "seed": 1, "presence_penalty": 0.1, "frequency_penalty": 0.1,
        "stop_sequences": ["END"], "parallel_tool_calls": False, "tool_choice": "auto", "thinking": "low",
        "cache": True, "service_tier": "default",
    }  # fmt: skip
    assert settings.keys() | {"max_tokens"} == set(SETTINGS)
    tools = [WEATHER] if kind != "ollama" else []

    _, response = await hear(providers, model_of(kind), saying(settings=settings, tools=tools))

    assert response.text == "hi there"


@pytest.mark.parametrize(
    "settings",
    [
        {"extra_headers": {"X": "y"}},
        {"extra_body": {"model": "dearer"}},
        {"timeout": 1},
        {"request_timeout": 1},
        {"max_retries": 9},
        {"base_url": "http://elsewhere.example"},
        {"openai_background": True},
        {"anthropic_metadata": {"user_id": "x"}},
        {"logit_bias": {"1": 5}},
        {"max_tokens": 0},
        {"max_tokens": True},
        {"max_tokens": 1.5},
        {"temperature": float("nan")},
        {"temperature": "hot"},
        {"thinking": "hard"},
        {"cache": {"retention": "1y"}},
        {"cache": {"key": "x"}},
        {"tool_choice": "never"},
        {"stop_sequences": "END"},
        {"service_tier": "free"},
    ],
)
async def test_other_settings_are_refused_before_anything_is_sent(
    server: ProviderServer, providers: Providers, settings: dict[str, Any]
) -> None:
    with pytest.raises(UserError):
        check_settings(settings)
    with pytest.raises(UserError) as caught:
        await hear(providers, model_of("openai-chat"), saying(settings=settings))

    assert failure_of(caught.value)[0] == "rejected"
    assert server.requests == ()


@pytest.mark.parametrize("kind", ["openai-chat", "openai-responses", "anthropic", "google"])
async def test_images_are_sent_as_bytes(server: ProviderServer, providers: Providers, kind: Kind) -> None:
    image = BinaryContent(data=b"\x89PNG....", media_type="image/png")
    request = Request(messages=[ModelRequest(parts=[UserPromptPart(["What is this?", image])])])

    _, response = await hear(providers, model_of(kind), request)

    assert response.text
    assert "iVBORy4uLi4" in json.dumps(server.requests[0].body).replace("-", "+").replace("_", "/")


async def test_an_address_of_a_file_is_not_fetched_for_a_local_model(server: ProviderServer) -> None:
    providers = Providers(configured(server, local=True))
    request = Request(messages=[ModelRequest(parts=[UserPromptPart([ImageUrl("http://elsewhere.example/image.png")])])])

    with pytest.raises(UserError, match="fetched over the network"):
        await hear(providers, model_of("ollama"), request)
    await providers.aclose()


@pytest.mark.parametrize("is_told_by_a_tool", [False, True], ids=["in a prompt", "in a tool's result"])
async def test_nobody_can_make_the_gateway_fetch_files_for_them(
    server: ProviderServer, providers: Providers, is_told_by_a_tool: bool
) -> None:
    url = ImageUrl(f"{server.address}/image.png", force_download="allow-local")
    part = ToolReturnPart("look", [url], tool_call_id="c1") if is_told_by_a_tool else UserPromptPart([url])
    request = Request(messages=[ModelRequest(parts=[part])])

    with pytest.raises(UserError, match="fetched over the network"):
        await hear(providers, model_of("openai-chat"), request)
    assert server.requests == ()


async def test_a_missing_key_is_told_before_anything_is_sent(server: ProviderServer, providers: Providers) -> None:
    with pytest.raises(Unavailable, match="There is no key for 'groq'") as caught:
        await hear(providers, model_of("groq"), saying(), key=None)

    assert failure_of(caught.value) == ("not-ready", "There is no key for 'groq'.", None)
    assert server.requests == ()


@every_kind
async def test_an_endpoint_without_a_key_gets_no_credential_at_all(server: ProviderServer, kind: Kind) -> None:
    providers = Providers(configured(server, key="none"))

    await hear(providers, model_of(kind), saying(), key=None)

    assert server.requests[0].credential is None
    await providers.aclose()


async def test_two_keys_of_one_endpoint_are_kept_apart(server: ProviderServer, providers: Providers) -> None:
    for key in ("sk-one-111111", "sk-two-222222", "sk-one-111111"):
        await hear(providers, model_of("openai-chat"), saying(), key=key)

    assert [request.credential for request in server.requests] == ["sk-one-111111", "sk-two-222222", "sk-one-111111"]


async def test_a_model_is_built_once_per_name_and_key(providers: Providers) -> None:
    name = model_of("openai-chat")

    one, same, other = [await providers.load(name, key) for key in ("a" * 9, "a" * 9, "b" * 9)]

    assert one is same
    assert one is not other


async def test_what_a_probe_taught_changes_how_a_model_is_asked(server: ProviderServer, providers: Providers) -> None:
    name = model_of("openai-chat")
    await hear(providers, name, saying(tools=[WEATHER]))
    providers.learn(name, ProbeResult(tools=False, schema=True, at="2026-11-15T00:00:00+00:00"))
    server.script(SayJson({"reply": {"answer": "ok"}}))

    await hear(providers, name, saying(tools=[WEATHER]))

    assert [request.tools for request in server.requests] == [("weather",), ()]


async def test_other_calls_go_on_while_an_sdk_loads(server: ProviderServer) -> None:
    providers = Providers(configured(server))
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        await providers.load(model_of("google"), KEY)
        tasks.cancel_scope.cancel()
    await providers.aclose()
    assert ticks > 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["openai-chat", "openai-responses", "ollama", "google", "mistral"])
async def test_texts_become_vectors_in_their_order(server: ProviderServer, providers: Providers, kind: Kind) -> None:
    texts = [f"text {number}" for number in range(120)]

    vectors = await providers.embed(ModelName(kind, "text-embedding-3-small"), texts, KEY)

    assert len(vectors) == 120
    assert all(isinstance(number, float) for number in vectors[0])
    assert await providers.embed(ModelName(kind, "text-embedding-3-small"), texts[7:8], KEY) == [vectors[7]]


async def test_endpoints_without_embeddings_say_so(providers: Providers) -> None:
    with pytest.raises(UserError, match="makes no embeddings"):
        await providers.embed(model_of("anthropic"), ["x"], KEY)
