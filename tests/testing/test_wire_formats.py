"""Each provider's own SDK, through pydantic-ai, reads what the server writes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic_ai import BinaryContent, ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.messages import PartDeltaEvent, PartStartEvent
from pydantic_ai.models import ModelRequestParameters

from cellwright.testing import (
    WIRE_KINDS,
    CallTool,
    CallTools,
    ProviderServer,
    Say,
    SayJson,
    Tokens,
    WireKind,
)
from tests.testing.clients import CITY, KEY, SEARCH, Models, ask, parts_of

streamed_or_not = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
every_format = pytest.mark.parametrize("kind", WIRE_KINDS)
# pydantic-ai puts no schema to Mistral; its SDK does, see test_sdks.py.
every_format_with_schemas = pytest.mark.parametrize("kind", [kind for kind in WIRE_KINDS if kind != "mistral"])


@every_format
@streamed_or_not
async def test_text_and_thinking_and_usage_are_read(
    server: ProviderServer, models: Models, kind: WireKind, stream: bool
) -> None:
    used = Tokens(input_tokens=200, output_tokens=17, cache_read_tokens=40)
    server.script(Say("Grüße aus Köln.", thinking="Where from?", tokens=used))
    response = await ask(models[kind], stream=stream)
    assert parts_of(response) == [("thought", "Where from?"), "Grüße aus Köln."]
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.cache_read_tokens) == (
        200,
        17,
        40,
    )
    assert (response.finish_reason, response.state) == ("stop", "complete")
    assert server.charged[0].request_id in str(response.provider_response_id)


@streamed_or_not
async def test_tokens_written_to_a_cache_are_told_where_the_provider_tells_them(
    server: ProviderServer, models: Models, stream: bool
) -> None:
    server.script(Say("x", tokens=Tokens(input_tokens=90, cache_read_tokens=20, cache_write_tokens=30)))
    usage = (await ask(models["anthropic"], stream=stream)).usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (90, 20, 30)


@pytest.mark.slow
@every_format
@streamed_or_not
async def test_calls_of_tools_are_read(server: ProviderServer, models: Models, kind: WireKind, stream: bool) -> None:
    calls = CallTools(
        (CallTool("search", {"query": "one"}), CallTool("search", {"query": "zwei ü", "limit": 2})), text="I look."
    )
    server.script(calls)
    response = await ask(models[kind], stream=stream, tools=[SEARCH])
    assert parts_of(response) == ["I look.", ("search", {"query": "one"}), ("search", {"query": "zwei ü", "limit": 2})]
    assert len({call.tool_call_id for call in response.tool_calls}) == 2
    assert server.requests[0].tools == ("search",)


@every_format_with_schemas
@streamed_or_not
async def test_json_of_a_schema_is_text(server: ProviderServer, models: Models, kind: WireKind, stream: bool) -> None:
    server.script(SayJson({"city": "Köln", "people": 1_084_000}))
    response = await ask(models[kind], stream=stream, schema=CITY)
    assert json.loads(parts_of(response)[0]) == {"city": "Köln", "people": 1_084_000}


@every_format
@streamed_or_not
async def test_json_goes_into_the_tool_that_must_be_called(
    server: ProviderServer, models: Models, kind: WireKind, stream: bool
) -> None:
    server.script(SayJson({"query": "x"}))
    response = await ask(models[kind], stream=stream, output_tool=True)
    assert parts_of(response) == [("search", {"query": "x"})]


@every_format
@streamed_or_not
async def test_an_unscripted_request_is_answered_with_its_last_words(
    server: ProviderServer, models: Models, kind: WireKind, stream: bool
) -> None:
    said = await ask(models[kind], "Sind Sie da?", stream=stream)
    assert parts_of(said) == ["Sind Sie da?"]
    assert (said.usage.input_tokens, said.usage.output_tokens) == (10, 5)


@every_format_with_schemas
async def test_an_unscripted_request_for_a_shape_gets_that_shape(
    server: ProviderServer, models: Models, kind: WireKind
) -> None:
    response = await ask(models[kind], stream=False, schema=CITY)
    assert json.loads(parts_of(response)[0]) == {"city": "x", "people": 0}


@every_format
@streamed_or_not
@pytest.mark.parametrize(("stop", "reason"), [("length", "length"), ("refused", {"content_filter", "error"})])
async def test_an_answer_cut_short_says_why(
    server: ProviderServer, models: Models, kind: WireKind, stream: bool, stop: Any, reason: str | set[str]
) -> None:
    server.script(Say("too long", stop=stop))
    response = await ask(models[kind], stream=stream)
    assert response.finish_reason in ({reason} if isinstance(reason, str) else reason)


@every_format
async def test_a_stream_comes_in_the_pieces_asked_for(server: ProviderServer, models: Models, kind: WireKind) -> None:
    server.script(Say("abcdefgh", chunks=4))
    asked: list[ModelMessage] = [ModelRequest.user_text_prompt("hi")]
    async with models[kind].request_stream(asked, None, ModelRequestParameters()) as response:
        events = [event async for event in response]
    pieces = [event for event in events if isinstance(event, PartStartEvent | PartDeltaEvent)]
    assert parts_of(response.get()) == ["abcdefgh"]
    assert len(pieces) >= 4


@every_format
async def test_the_server_sees_what_the_client_sent(server: ProviderServer, models: Models, kind: WireKind) -> None:
    await ask(models[kind], "Was kostet das?", stream=False)
    (received,) = server.requests
    assert (received.kind, received.model, received.is_stream) == (kind, models[kind].model_name, False)
    assert (received.prompt, received.credential) == ("Was kostet das?", KEY)
    assert KEY not in repr(received)


@every_format
async def test_an_image_does_not_hide_the_text_beside_it(
    server: ProviderServer, models: Models, kind: WireKind
) -> None:
    content = ["What is this?", BinaryContent(b"\x89PNG", media_type="image/png")]
    asked: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart(content=content)])]
    response = await models[kind].request(asked, {"max_tokens": 100}, ModelRequestParameters())
    assert parts_of(response) == ["What is this?"]
