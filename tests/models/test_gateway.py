"""Other programs through our gateway: OpenAI's own client, real HTTP, a real gateway process, our budgets."""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Generator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import openai
import pytest
from inline_snapshot import snapshot
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam

from cellwright.errors import UserError
from cellwright.models.client.gateway_client import Models
from cellwright.models.gateway.openai_access import ADDRESS_FILE, bind_endpoint, read_address
from cellwright.testing import CallTool, Fault, Say, SayJson
from tests.models.running_gateway import KEY, RunningGateway, launch

HELLO: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Say hello."}]
ADD: ChatCompletionToolParam = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Add numbers.",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    },
}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[RunningGateway]:
    with RunningGateway.open(tmp_path_factory.mktemp("home") / "state") as opened:
        yield opened


async def words(stream: openai.AsyncStream[Any]) -> list[str]:
    """What a stream said, piece by piece."""
    return [
        chunk.choices[0].delta.content async for chunk in stream if chunk.choices and chunk.choices[0].delta.content
    ]


@pytest.mark.slow
async def test_openais_client_gets_an_answer_and_what_it_cost(gateway: RunningGateway) -> None:
    gateway.provider.script(Say("Hello there."))
    async with gateway.client() as client:
        answer = await client.chat.completions.create(model="smart", messages=HELLO, max_tokens=100)
    assert answer.choices[0].message.content == "Hello there."
    assert (answer.model, answer.choices[0].finish_reason) == ("near:one", "stop")
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (10, 5)
    assert answer.model_extra is not None
    assert answer.model_extra["cellwright"] == snapshot(
        {
            "price": "0.000015",
            "currency": "USD",
            "source": "provider",
            "reason": "number 1 of the chain",
            "tried_before": [],
        }
    )
    received = gateway.provider.requests[-1]
    assert (received.credential, received.body["model"]) == (KEY, "one")


@pytest.mark.slow
async def test_openais_client_streams_an_answer_word_by_word(gateway: RunningGateway) -> None:
    gateway.provider.script(Say("one two three"))
    async with gateway.client() as client:
        stream = await client.chat.completions.create(
            model="near:two", messages=HELLO, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "one two three"
    assert len(chunks) > 3
    assert chunks[0].choices[0].delta.role == "assistant"
    assert {chunk.model for chunk in chunks} == {"near:two"}
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 15


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "streamed"])
async def test_a_tool_is_called_and_its_result_told(gateway: RunningGateway, is_stream: bool) -> None:
    gateway.provider.script(CallTool("add", {"a": 2}), Say("Two."))
    async with gateway.client() as client:
        if is_stream:
            async with client.chat.completions.stream(model="smart", messages=HELLO, tools=[ADD]) as stream:
                message = (await stream.get_final_completion()).choices[0].message
        else:
            message = (
                (await client.chat.completions.create(model="smart", messages=HELLO, tools=[ADD])).choices[0].message
            )
        assert message.tool_calls is not None
        [call] = message.tool_calls
        assert call.type == "function"
        assert (call.function.name, json.loads(call.function.arguments)) == ("add", {"a": 2})
        told: list[ChatCompletionMessageParam] = [
            *HELLO,
            {
                "role": "assistant",
                "tool_calls": [
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {"name": "add", "arguments": call.function.arguments},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": call.id, "content": "2"},
        ]
        answer = await client.chat.completions.create(model="smart", messages=told, tools=[ADD])
    assert answer.choices[0].message.content == "Two."
    assert [message["role"] for message in gateway.provider.requests[-1].body["messages"]] == [
        "user",
        "assistant",
        "tool",
    ]


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "streamed"])
async def test_an_answer_keeps_to_a_json_schema(gateway: RunningGateway, is_stream: bool) -> None:
    gateway.provider.script(SayJson({"n": 7}))
    asked: Any = {
        "type": "json_schema",
        "json_schema": {
            "name": "number",
            "strict": True,
            "schema": {
                "type": "object",
                "properties": {"n": {"type": "integer"}},
                "required": ["n"],
                "additionalProperties": False,
            },
        },
    }
    async with gateway.client() as client:
        answer: Any = await client.chat.completions.create(
            model="smart",
            messages=HELLO,
            response_format=asked,
            stream=is_stream,
        )
        text = "".join(await words(answer)) if is_stream else answer.choices[0].message.content
    assert json.loads(text) == {"n": 7}
    assert gateway.provider.requests[-1].body["response_format"]["json_schema"]["schema"]["required"] == ["n"]


@pytest.mark.slow
async def test_texts_are_embedded_and_models_are_listed(gateway: RunningGateway) -> None:
    async with gateway.client() as client:
        vectors = (await client.embeddings.create(model="embed", input=["a", "b"])).data
        plain = (await client.embeddings.create(model="embed", input="a", encoding_format="float")).data
        models = [model.id async for model in client.models.list()]
    assert len(vectors) == 2
    assert vectors[0].embedding == pytest.approx(plain[0].embedding, rel=1e-6)
    assert [name for name in models if name in {"smart", "embed", "near:one", "near:two"}] == snapshot(
        ["smart", "embed", "near:one", "near:two"]
    )


async def test_another_model_answers_when_the_first_fails(gateway: RunningGateway) -> None:
    gateway.provider.when(lambda request: request.model == "one", Fault("bad-request"))
    gateway.provider.script(Say("From the second."))
    async with gateway.client() as client:
        answer = await client.chat.completions.create(model="smart", messages=HELLO)
    assert (answer.model, answer.choices[0].message.content) == ("near:two", "From the second.")
    assert answer.model_extra is not None
    assert answer.model_extra["cellwright"]["tried_before"] == ["near:one"]


async def test_a_stream_that_breaks_off_is_an_error_and_never_spliced(gateway: RunningGateway) -> None:
    gateway.provider.when(
        lambda request: request.model == "one", Fault("drop", answer=Say("a b c d e f"), after_chunks=3)
    )
    heard: list[str] = []
    async with gateway.client() as client:
        stream = await client.chat.completions.create(model="smart", messages=HELLO, stream=True)
        with pytest.raises(openai.APIError, match="broke off"):
            async for chunk in stream:
                heard.append(chunk.choices[0].delta.content or "")
    assert "".join(heard).split() == ["a", "b", "c"]


async def test_when_every_model_fails_the_client_is_told_once_and_does_not_try_again(gateway: RunningGateway) -> None:
    gateway.provider.when(lambda request: True, Fault("bad-request"), Fault("bad-request"))
    before = len(gateway.provider.requests)
    async with gateway.client() as client:
        with pytest.raises(openai.APIStatusError) as refused:
            await client.chat.completions.create(model="smart", messages=HELLO)
    assert refused.value.status_code == 503
    assert "near:one" in refused.value.message
    assert "near:two" in refused.value.message
    assert KEY not in refused.value.message
    assert len(gateway.provider.requests) - before == 2


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "streamed"])
async def test_the_same_idempotency_key_is_paid_once(gateway: RunningGateway, is_stream: bool) -> None:
    gateway.provider.script(Say("Paid once."))
    before, headers = len(gateway.provider.charged), {"Idempotency-Key": f"order-66-{is_stream}"}
    said: list[str] = []
    async with gateway.client() as client:
        for _ in range(3):
            answer: Any = await client.chat.completions.create(
                model="smart", messages=HELLO, extra_headers=headers, stream=is_stream
            )
            said.append("".join(await words(answer)) if is_stream else answer.choices[0].message.content)
        with pytest.raises(openai.BadRequestError):
            await client.chat.completions.create(
                model="smart", messages=[{"role": "user", "content": "Else."}], extra_headers=headers
            )
    assert said == ["Paid once."] * 3
    assert len(gateway.provider.charged) - before == 1


async def left_alone(gateway: RunningGateway, key: str | None) -> None:
    """A program that hangs up after the first word."""
    before = len(gateway.provider.charged)
    gateway.provider.script(Fault("stall", answer=Say("one two three four"), after_chunks=1))
    headers = {"idempotency-key": key} if key else {}
    async with gateway.http(**headers) as client:
        body = {"model": "smart", "messages": HELLO, "stream": True}
        async with client.stream("POST", "/chat/completions", json=body) as response:
            async for line in response.aiter_lines():
                if "one" in line:
                    break
    await gateway.provider.until(lambda server: len(server.charged) == before + 1)


async def test_a_program_that_goes_away_stops_its_call_and_the_paying(gateway: RunningGateway) -> None:
    await left_alone(gateway, None)
    async with Models.open(gateway.home, launch=launch(gateway.home)) as models:
        with anyio.fail_after(120):
            while (await models.status()).calls_in_flight:  # noqa: ASYNC110 (the gateway is another process)
                await anyio.sleep(0.02)
    gateway.provider.release()
    assert gateway.provider.charged[-1].is_finished is False


async def test_a_call_with_a_name_goes_on_without_its_caller_and_is_there_for_it(gateway: RunningGateway) -> None:
    await left_alone(gateway, "named")
    charged = len(gateway.provider.charged)
    gateway.provider.release()
    async with gateway.client() as client:
        stream = await client.chat.completions.create(
            model="smart", messages=HELLO, stream=True, extra_headers={"Idempotency-Key": "named"}
        )
        assert "".join(await words(stream)) == "one two three four"
    assert len(gateway.provider.charged) == charged


async def test_a_reached_budget_is_a_402_and_nothing_is_sent(gateway: RunningGateway) -> None:
    rules, before = gateway.home / "rules.toml", len(gateway.provider.requests)
    rules.write_text('[[limit]]\nof = "money"\nper = "person"\nat_most = "0.0000000001 USD"\n')
    try:
        async with gateway.client() as client:
            for is_stream in (False, True):
                with pytest.raises(openai.APIStatusError) as refused:
                    await client.chat.completions.create(model="smart", messages=HELLO, stream=is_stream)
                assert refused.value.status_code == 402
                assert refused.value.code == "cellwright_budget_reached"
                assert "0.0000000001 USD per person" in refused.value.message
            rules.write_text("[[limit]]\nof = ")
            with pytest.raises(openai.BadRequestError):
                await client.chat.completions.create(model="smart", messages=HELLO)
    finally:
        rules.unlink()
    assert len(gateway.provider.requests) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"authorization": ""}, 401, "invalid_api_key"),
        ({"authorization": "Bearer cellwright-guess"}, 401, "invalid_api_key"),
        ({"authorization": f"Bearer {KEY}"}, 401, "invalid_api_key"),
        ({"host": "evil.example"}, 403, "cellwright_wrong_host"),
        ({"origin": "http://127.0.0.1:2718"}, 403, "cellwright_browser"),
        ({"origin": "null"}, 403, "cellwright_browser"),
    ],
)
async def test_whoever_has_no_token_or_is_a_page_is_not_heard(
    gateway: RunningGateway, headers: dict[str, str], status: int, code: str
) -> None:
    before = len(gateway.provider.requests)
    async with gateway.http(**headers) as client:
        for refused in (
            await client.post("/chat/completions", json={"model": "smart", "messages": HELLO}),
            await client.get("/models"),
            await client.options("/chat/completions"),
        ):
            assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)
            assert "access-control-allow-origin" not in refused.headers
    assert len(gateway.provider.requests) == before


async def test_what_makes_no_sense_is_answered_in_openais_shape(gateway: RunningGateway) -> None:
    async with gateway.http() as client:
        assert [
            (answer.status_code, answer.json()["error"]["type"])
            for answer in (
                await client.post("/chat/completions", content=b"{"),
                await client.post("/chat/completions", json={"model": "nowhere:x", "messages": HELLO}),
                await client.post("/embeddings", json={"model": "embed"}),
                await client.get("/chat/completions"),
                await client.get("/files"),
                await client.post("/chat/completions", content=b"x" * (33 * 1024 * 1024)),
            )
        ] == snapshot(
            [
                (400, "invalid_request_error"),
                (400, "invalid_request_error"),
                (400, "invalid_request_error"),
                (405, "invalid_request_error"),
                (404, "invalid_request_error"),
                (413, "invalid_request_error"),
            ]
        )


async def test_the_gateway_serves_on_loopback_only(gateway: RunningGateway) -> None:
    hosts = {address[4][0] for address in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for host in hosts - {"127.0.0.1"}:
        with pytest.raises(httpx2.ConnectError):
            async with httpx2.AsyncClient(trust_env=False) as client:
                await client.get(f"http://{host}:{gateway.address.port}/v1/models")


# ── its address ──


def test_the_token_is_kept_where_only_its_owner_can_read_it(tmp_path: Path) -> None:
    listener, address = bind_endpoint(tmp_path)
    with listener:
        assert stat.S_IMODE((tmp_path / ADDRESS_FILE).stat().st_mode) == 0o600
        assert address.token not in repr(address)
        assert read_address(tmp_path) == address
    (tmp_path / ADDRESS_FILE).chmod(0o640)
    with pytest.raises(UserError, match="Others can read"):
        read_address(tmp_path)


def test_the_address_outlives_its_gateway(tmp_path: Path) -> None:
    listener, before = bind_endpoint(tmp_path)
    listener.close()
    listener, after = bind_endpoint(tmp_path)
    listener.close()
    assert before == after


def test_a_port_somebody_else_took_gives_a_new_address_and_a_new_token(tmp_path: Path) -> None:
    taken, before = bind_endpoint(tmp_path)
    with taken:
        listener, after = bind_endpoint(tmp_path)
        listener.close()
    assert after.port != before.port
    assert after.token != before.token
    assert read_address(tmp_path) == after


@pytest.mark.parametrize("content", ["", "{", "[]", '{"port": 1}', '{"port": 99999, "token": "' + "x" * 40 + '"}'])
def test_a_file_that_is_no_address_is_written_anew(tmp_path: Path, content: str) -> None:
    path = tmp_path / ADDRESS_FILE
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    path.write_text(content)
    listener, address = bind_endpoint(tmp_path)
    listener.close()
    assert read_address(tmp_path) == address
