"""OpenAI's words become our request, and our answer becomes OpenAI's words; what we cannot honour is refused."""

from __future__ import annotations

import base64
import json
import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelRequest,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ToolCallPart,
    ToolCallPartDelta,
    ToolReturnPart,
    UserPromptPart,
)

from cellwright.errors import ModelUnavailable, RefusedByPolicy, UserError
from cellwright.models.calls import (
    BudgetReached,
    Choice,
    FailedAttempt,
    ModelAnswer,
    Piece,
    Restarted,
    Started,
    TokenUsage,
)
from cellwright.models.config.names import ModelName
from cellwright.models.gateway.openai_request import read_chat, read_embedding
from cellwright.models.gateway.openai_response import Chunks, completion, embeddings, failure_of, model_list
from cellwright.models.reports import ListedModel
from cellwright.policy.budgets import Limit
from cellwright.policy.money import Money, UnknownPrice

HELLO = {"role": "user", "content": "hello"}
PIXEL = "data:image/png;base64," + base64.b64encode(b"\x89PNG not really").decode()


def chat(**words: Any) -> bytes:
    return json.dumps({"model": "smart", "messages": [HELLO], **words}).encode()


# ── what is asked ──


def test_a_conversation_with_tools_is_read_whole() -> None:
    called = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    read = read_chat(
        chat(
            messages=[
                {"role": "system", "content": "Be brief."},
                {"role": "developer", "content": [{"type": "text", "text": "And kind."}]},
                HELLO,
                {"role": "assistant", "content": None, "tool_calls": [called]},
                {"role": "tool", "tool_call_id": "call_1", "content": "3"},
                {"role": "user", "content": "Thanks."},
            ],
            tools=[{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}],
        )
    )
    assert [
        [(type(part), getattr(part, "content", None) or getattr(part, "args", None)) for part in message.parts]
        for message in read.request.messages
    ] == [
        [(SystemPromptPart, "Be brief."), (SystemPromptPart, "And kind."), (UserPromptPart, "hello")],
        [(ToolCallPart, '{"a": 1}')],
        [(ToolReturnPart, "3"), (UserPromptPart, "Thanks.")],
    ]
    assert [tool.name for tool in read.request.tools] == ["add"]


def test_images_are_read_from_data_and_from_https() -> None:
    parts = [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}},
    ]
    [message] = read_chat(chat(messages=[{"role": "user", "content": parts}])).request.messages
    assert isinstance(message, ModelRequest)
    [part] = message.parts
    assert isinstance(part, UserPromptPart)
    text, data, link = part.content
    assert text == "What is it?"
    assert isinstance(data, BinaryContent)
    assert (data.data, data.media_type, data.vendor_metadata) == (b"\x89PNG not really", "image/png", {"detail": "low"})
    assert isinstance(link, ImageUrl)
    assert link.url == "https://example.com/cat.png"


@pytest.mark.parametrize(
    ("model", "choice"),
    [
        ("smart", Choice(tier="smart")),
        ("fast", Choice(tier="fast")),
        ("ollama:qwen3:8b", Choice(models=(ModelName("ollama", "qwen3:8b"),))),
    ],
)
def test_a_model_is_a_tier_or_a_name(model: str, choice: Choice) -> None:
    assert read_chat(chat(model=model)).choice == choice


def test_settings_that_change_the_answer_are_passed_on() -> None:
    tools = [{"type": "function", "function": {"name": "add"}}]
    asked = chat(
        max_completion_tokens=7, temperature=0, top_p=0.5, seed=1, stop="END", reasoning_effort="low", tools=tools,
        tool_choice={"type": "function", "function": {"name": "add"}}, parallel_tool_calls=False,
        stream=True, stream_options={"include_usage": True}, user="ada", metadata={"a": "b"}, store=False,
    )  # fmt: skip
    read = read_chat(asked)
    assert (read.stream, read.include_usage) == (True, True)
    assert read.request.settings == snapshot(
        {
            "max_tokens": 7,
            "temperature": 0.0,
            "top_p": 0.5,
            "seed": 1,
            "stop_sequences": ["END"],
            "parallel_tool_calls": False,
            "thinking": "low",
            "tool_choice": ["add"],
        }
    )


def test_a_shape_is_asked_for_by_its_schema() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    output = read_chat(
        chat(response_format={"type": "json_schema", "json_schema": {"name": "number", "schema": schema}})
    ).request.output
    assert output is not None
    assert (output.name, output.schema) == ("number", schema)
    anything = read_chat(chat(response_format={"type": "json_object"})).request.output
    assert anything is not None
    assert anything.schema["type"] == "object"
    assert read_chat(chat(response_format={"type": "text"})).request.output is None


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "not JSON"),
        (b"[" * 5000, "not JSON"),
        (b'{"model": NaN}', "not JSON"),
        (b"[]", "body"),
        (b"{}", "model"),
        (chat(messages=[]), "messages"),
        (chat(messages=[{"role": "robot", "content": "x"}]), "messages.0"),
        (chat(messages=[{"role": "user", "content": 1}]), "messages.0.user.content"),
        (chat(messages=[HELLO, {"role": "assistant", "content": "x"}]), "the last one"),
        (chat(messages=[{"role": "tool", "tool_call_id": "nobody", "content": "x"}]), "messages.0.tool_call_id"),
        (chat(messages=[{"role": "user", "content": [{"type": "input_audio"}]}]), "messages.0.user.content"),
        (
            chat(messages=[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///x"}}]}]),
            "messages.0.content: the image",
        ),
        (
            chat(messages=[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/x"}}]}]),
            "messages.0.content: the image",
        ),
        (chat(model="gpt-5"), "does not name a model"),
        (chat(model="embed"), "model"),
        (chat(n=2), "n:"),
        (chat(logprobs=True), "logprobs"),
        (chat(functions=[]), "functions"),
        (chat(modalities=["audio"]), "modalities"),
        (chat(stream="yes"), "stream"),
        (chat(temperature=99), "temperature"),
        (chat(temperature=True), "temperature"),
        (chat(tools=[{"type": "function", "function": {"name": "a b"}}]), "tools.0.function.name"),
        (chat(tools=[{"type": "web_search"}]), "tools.0.type"),
        (chat(tool_choice={"type": "function", "function": {"name": "add"}}), "tool_choice"),
        (chat(response_format={"type": "yaml"}), "response_format"),
        (
            b'{"model": "smart", "messages": [{"role": "user", "content": "x"}], "response_format": {"type": '
            b'"json_schema", "json_schema": {"name": "n", "schema": {"maximum": 1e999}}}}',
            "too large",
        ),
    ],
)
def test_what_cannot_be_honoured_is_refused_where_it_stands(body: bytes, words: str) -> None:
    with pytest.raises(UserError) as refused:
        read_chat(body)
    assert words in refused.value.message
    assert refused.value.hint


def test_a_refusal_does_not_repeat_what_was_sent() -> None:
    with pytest.raises(UserError) as refused:
        read_chat(chat(temperature="sk-very-secret"))
    assert "secret" not in refused.value.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=5,
)
FIELDS = ["model", "messages", "tools", "tool_choice", "response_format", "stream", "stop", "max_tokens", "n", "seed"]


@given(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4), st.binary(max_size=20))
def test_hostile_input_is_refused_or_read_and_nothing_else(words: dict[str, Any], tail: bytes) -> None:
    for body in (chat(**words), chat(**words) + tail, tail):
        try:
            assert read_chat(body).request.hash
        except UserError as refused:
            assert refused.hint


def test_texts_to_embed_are_one_or_many() -> None:
    one = read_embedding(json.dumps({"model": "embed", "input": "a", "encoding_format": "base64"}).encode())
    assert (one.texts, one.choice, one.encoding) == (["a"], Choice(tier="embed"), "base64")
    many = read_embedding(json.dumps({"model": "openai:text-embedding-3-small", "input": ["a", "b"]}).encode())
    assert (many.texts, many.encoding) == (["a", "b"], "float")
    for bad in ({"input": []}, {"input": [[1, 2]]}, {"input": ""}, {"model": "smart", "input": "a"}, {}):
        with pytest.raises(UserError):
            read_embedding(json.dumps({"model": "embed", **bad}).encode())


# ── what is answered ──


def answered(*parts: Any, price: Money | UnknownPrice | None = None, **more: Any) -> ModelAnswer:
    return ModelAnswer(
        response=ModelResponse(parts=list(parts), finish_reason=more.pop("finish_reason", "stop")),
        model="openai:gpt-5",
        usage=TokenUsage(input_tokens=10, output_tokens=5, cache_read_tokens=2),
        price=price or Money(amount=Decimal("0.0100")),
        reason="first of smart",
        **more,
    )


def test_a_whole_answer_looks_like_openais() -> None:
    tried = FailedAttempt(model="anthropic:claude", failing="overloaded", detail="busy")
    whole = answered(ThinkingPart("Hm."), TextPart("Hello!"), attempts=(tried,))
    assert completion(whole, identity="chatcmpl-1", created=7) == snapshot(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 7,
            "model": "openai:gpt-5",
            "choices": [
                {
                    "index": 0,
                    "message": {
                        "role": "assistant",
                        "content": "Hello!",
                        "refusal": None,
                        "reasoning_content": "Hm.",
                    },
                    "logprobs": None,
                    "finish_reason": "stop",
                }
            ],
            "usage": {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "total_tokens": 15,
                "prompt_tokens_details": {"cached_tokens": 2},
            },
            "cellwright": {
                "price": "0.0100",
                "currency": "USD",
                "source": "provider",
                "reason": "first of smart",
                "tried_before": ["anthropic:claude"],
            },
        }
    )


def test_an_unknown_price_is_null_and_never_nought() -> None:
    told = completion(answered(TextPart("x"), price=UnknownPrice(why="no list")), identity="i", created=0)
    assert (told["cellwright"]["price"], told["cellwright"]["currency"]) == (None, None)


def test_tool_calls_and_a_cut_answer_say_why_it_ended() -> None:
    called = completion(answered(ToolCallPart("add", {"a": 1}, "call_1")), identity="i", created=0)["choices"][0]
    assert called["finish_reason"] == "tool_calls"
    assert called["message"]["content"] is None
    assert called["message"]["tool_calls"] == [
        {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}
    ]
    cut = completion(answered(TextPart("x"), finish_reason="length"), identity="i", created=0)
    assert cut["choices"][0]["finish_reason"] == "length"


def streamed(chunks: Chunks, *events: ModelResponseStreamEvent) -> list[Any]:
    told = [chunk for event in events for chunk in chunks.add(Piece(event=event))]
    return [chunk["choices"][0]["delta"] for chunk in told]


def test_a_stream_tells_text_then_tool_calls_counted_among_themselves() -> None:
    chunks = Chunks(identity="i", created=0, include_usage=True)
    assert chunks.add(Started(model="openai:gpt-5", reason="first")) == []
    assert streamed(
        chunks,
        PartStartEvent(index=0, part=TextPart("")),
        PartDeltaEvent(index=0, delta=TextPartDelta("Let me ")),
        PartDeltaEvent(index=0, delta=TextPartDelta("add.")),
        PartStartEvent(index=1, part=ToolCallPart("add", "", "call_1")),
        PartDeltaEvent(index=1, delta=ToolCallPartDelta(args_delta='{"a"')),
        PartDeltaEvent(index=1, delta=ToolCallPartDelta(args_delta=": 1}")),
        PartStartEvent(index=2, part=ToolCallPart("add", {"a": 2}, "call_2")),
    ) == snapshot(
        [
            {"role": "assistant", "content": "Let me "},
            {"content": "add."},
            {
                "tool_calls": [
                    {"index": 0, "id": "call_1", "type": "function", "function": {"name": "add", "arguments": ""}}
                ]
            },
            {"tool_calls": [{"index": 0, "function": {"arguments": '{"a"'}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": ": 1}"}}]},
            {
                "tool_calls": [
                    {
                        "index": 1,
                        "id": "call_2",
                        "type": "function",
                        "function": {"name": "add", "arguments": '{"a":2}'},
                    }
                ]
            },
        ]
    )
    last, usage = chunks.finish(answered(ToolCallPart("add", "{}", "call_1")))
    assert last["choices"][0]["finish_reason"] == "tool_calls"
    assert (usage["choices"], usage["usage"]["total_tokens"]) == ([], 15)
    assert chunks.is_over


def test_an_answer_from_the_record_is_streamed_as_one_piece() -> None:
    chunks = Chunks(identity="i", created=0, include_usage=False)
    told = [chunk["choices"][0] for chunk in chunks.finish(answered(TextPart("Hello!"), source="record"))]
    assert [choice["delta"].get("content") for choice in told] == ["Hello!", None]
    assert told[-1]["finish_reason"] == "stop"


def test_a_restart_before_the_first_word_is_not_seen() -> None:
    chunks = Chunks(identity="i", created=0, include_usage=False)
    failed = FailedAttempt(model="openai:gpt-5", failing="overloaded", detail="busy")
    assert chunks.add(Restarted(failed=failed)) == []
    assert not chunks.is_over


def test_text_of_two_models_is_never_spliced() -> None:
    chunks = Chunks(identity="i", created=0, include_usage=False)
    chunks.add(Piece(event=PartStartEvent(index=0, part=TextPart("Once upon"))))
    failed = FailedAttempt(model="openai:gpt-5", failing="connection", detail="reset")
    [error] = chunks.add(Restarted(failed=failed))
    assert error["error"]["code"] == "cellwright_broke_off"
    assert chunks.is_over


def test_every_failure_has_a_status_of_its_own() -> None:
    reached = BudgetReached(
        limit=Limit(measure="money", per="person", at_most=Decimal(1), currency="USD"),
        party="ada",
        question="1 USD is reached. Go on?",
        estimate=TokenUsage(is_estimate=True),
        price=Money(amount=Decimal(2)),
    )
    problems = [reached, UserError("No.", hint="Try."), RefusedByPolicy("No."), ModelUnavailable("Gone.")]
    assert [failure_of(problem).status for problem in problems] == [402, 400, 403, 503]
    assert failure_of(reached).body["error"] == {
        "message": "1 USD is reached. Go on?",
        "type": "insufficient_quota",
        "param": None,
        "code": "cellwright_budget_reached",
    }


def test_models_that_are_not_ready_are_not_listed() -> None:
    def model(name: str, *tiers: str, is_ready: bool) -> ListedModel:
        return ListedModel(name=name, tiers=tiers, is_ready=is_ready, needs="", is_local=False, abilities=())

    listed = model_list([model("openai:gpt-5", "smart", is_ready=True), model("groq:x", "fast", is_ready=False)])
    assert [(entry["id"], entry["owned_by"]) for entry in listed["data"]] == [
        ("smart", "cellwright"),
        ("openai:gpt-5", "openai"),
    ]


def test_vectors_are_numbers_or_packed_floats() -> None:
    plain = embeddings([[0.5, 1.0]], model="embed", encoding="float")["data"][0]["embedding"]
    packed = embeddings([[0.5, 1.0]], model="embed", encoding="base64")["data"][0]["embedding"]
    assert plain == [0.5, 1.0]
    assert struct.unpack("<2f", base64.b64decode(packed)) == (0.5, 1.0)
