"""Models without dependable tool calls look like models that have them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartStartEvent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition

from cellwright.models.calls import Request
from cellwright.models.config.configuration import Configuration, Endpoint, ModelOverrides
from cellwright.models.config.names import ModelName
from cellwright.models.providers.constrained_output import (
    LONGEST_STRING,
    TEXT,
    Options,
    options,
    parts_of,
    rewrite_history,
)
from cellwright.models.providers.constrained_pieces import AnswerText, CallText
from cellwright.models.providers.failures import BrokenAnswer
from cellwright.models.providers.providers import Providers
from cellwright.testing import CallTool, ProviderServer, Received, Say, SayJson
from tests.models.asked import PERSON, WEATHER, hear, put_together, saying

SMALL = ModelName("local", "small")
GREAT = ModelName("local", "great")


@pytest.fixture
async def server() -> AsyncGenerator[ProviderServer]:
    async with ProviderServer.open() as opened:
        yield opened


@pytest.fixture
async def providers(server: ProviderServer) -> AsyncGenerator[Providers]:
    endpoint = Endpoint(
        name="local", kind="openai-chat", base_url=server.base_url("openai-chat"), local=True, key="none"
    )
    opened = Providers(
        Configuration(endpoints={"local": endpoint}, models={GREAT: ModelOverrides(tools=True, schema=True)})
    )
    yield opened
    await opened.aclose()


def ignores_tools(request: Received) -> bool:
    return request.model == "small"


def calls_as_both_models_make_them(server: ProviderServer) -> None:
    """One server: `great` calls tools, `small` takes no notice of them and keeps to schemas."""
    reply = {"reply": {"tool": "weather", "arguments": {"city": "Bergen"}}}
    server.when(ignores_tools, SayJson(reply))
    server.when(lambda request: request.model == "great", CallTool("weather", {"city": "Bergen"}))


@pytest.mark.parametrize("stream", [False, True])
async def test_a_tool_call_looks_the_same_from_a_model_that_has_none(
    server: ProviderServer, providers: Providers, stream: bool
) -> None:
    calls_as_both_models_make_them(server)
    request = saying(tools=[WEATHER])

    told = [await hear(providers, name, request, stream=stream, key=None) for name in (GREAT, SMALL)]

    calls = [[(part.tool_name, part.args_as_dict()) for part in response.tool_calls] for _, response in told]
    assert calls == [[("weather", {"city": "Bergen"})]] * 2
    assert [response.finish_reason for _, response in told] == ["tool_call", "tool_call"]
    assert [response.usage.output_tokens for _, response in told] == [5, 5]
    if stream:
        assert [put_together(pieces) for pieces, _ in told] == [['weather({"city": "Bergen"}']] * 2


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_looks_the_same_though_tools_were_offered(
    server: ProviderServer, providers: Providers, stream: bool
) -> None:
    server.when(ignores_tools, SayJson({"reply": {"answer": 'It rains in "Bergen" ☔.'}}, chunks=20))
    server.when(lambda request: request.model == "great", Say('It rains in "Bergen" ☔.', chunks=20))

    told = [await hear(providers, name, saying(tools=[WEATHER]), stream=stream, key=None) for name in (GREAT, SMALL)]

    assert [response.parts for _, response in told] == [[TextPart('It rains in "Bergen" ☔.')]] * 2
    if stream:
        assert [put_together(pieces) for pieces, _ in told] == [['It rains in "Bergen" ☔.']] * 2
        assert min(len(pieces) for pieces, _ in told) > 5, "a text is told while it is being written"


async def test_the_arguments_of_a_call_are_told_while_they_are_written(
    server: ProviderServer, providers: Providers
) -> None:
    said = SayJson({"reply": {"tool": "weather", "arguments": {"city": 'Bergen, "the {wet} one" ☔' * 3}}}, chunks=30)
    server.when(ignores_tools, said)

    pieces, response = await hear(providers, SMALL, saying(tools=[WEATHER]), stream=True, key=None)

    [call] = response.tool_calls
    [told] = put_together(pieces)
    assert json.loads(told.removeprefix("weather(")) == call.args_as_dict()
    assert len(pieces) > 5
    [begun] = [each.part for each in pieces if isinstance(each, PartStartEvent)]
    assert isinstance(begun, ToolCallPart)
    assert begun.tool_call_id == call.tool_call_id


async def test_a_call_that_does_not_look_like_one_at_first_is_told_once_it_is_whole(
    server: ProviderServer, providers: Providers
) -> None:
    said = 'I ask for it: {"reply": {"arguments": {"city": "Bergen"}, "tool": "weather"}}'
    server.when(ignores_tools, Say(said, chunks=30))

    pieces, response = await hear(providers, SMALL, saying(tools=[WEATHER]), stream=True, key=None)

    assert [(call.tool_name, call.args_as_dict()) for call in response.tool_calls] == [("weather", {"city": "Bergen"})]
    assert put_together(pieces) == ['weather({"city": "Bergen"}']
    assert len(pieces) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_a_shape_is_one_text_of_json_though_tools_were_offered(
    server: ProviderServer, providers: Providers, stream: bool
) -> None:
    server.script(SayJson({"reply": {"answer": {"name": "Ada", "age": 36}}}))

    _, response = await hear(providers, SMALL, saying(tools=[WEATHER], output=PERSON), stream=stream, key=None)

    assert json.loads(response.text or "") == {"name": "Ada", "age": 36}


async def test_the_model_gets_a_schema_and_no_tools(server: ProviderServer, providers: Providers) -> None:
    calls_as_both_models_make_them(server)

    await hear(providers, SMALL, saying(tools=[WEATHER], settings={"parallel_tool_calls": False}), key=None)

    (received,) = server.requests
    assert received.tools == ()
    assert "parallel_tool_calls" not in received.body
    assert received.body["response_format"] == snapshot(
        {
            "type": "json_schema",
            "json_schema": {
                "name": "reply",
                "schema": {
                    "type": "object",
                    "properties": {
                        "reply": {
                            "anyOf": [
                                {
                                    "type": "object",
                                    "properties": {
                                        "tool": {"type": "string", "enum": ["weather"]},
                                        "arguments": {
                                            "type": "object",
                                            "properties": {"city": {"type": "string", "maxLength": 2000}},
                                            "required": ["city"],
                                            "additionalProperties": False,
                                        },
                                    },
                                    "required": ["tool", "arguments"],
                                    "additionalProperties": False,
                                },
                                {
                                    "type": "object",
                                    "properties": {"answer": {"type": "string"}},
                                    "required": ["answer"],
                                    "additionalProperties": False,
                                },
                            ]
                        }
                    },
                    "required": ["reply"],
                    "additionalProperties": False,
                },
            },
        }
    )
    assert "weather: The weather of a city." in received.body["messages"][0]["content"]


async def test_a_conversation_with_tools_is_retold_without_them(server: ProviderServer, providers: Providers) -> None:
    server.script(SayJson({"reply": {"answer": "Wet."}}))
    messages: list[ModelMessage] = [
        ModelRequest.user_text_prompt("Weather in Bergen?", instructions="Be short."),
        ModelResponse(parts=[ToolCallPart("weather", {"city": "Bergen"}, tool_call_id="a")]),
        ModelRequest(parts=[ToolReturnPart("weather", {"rain": True}, tool_call_id="a")], instructions="Be short."),
    ]

    _, response = await hear(providers, SMALL, Request(messages=messages, tools=[WEATHER]), key=None)

    assert response.text == "Wet."
    system, *rest = server.requests[0].body["messages"]
    assert system["role"] == "system"
    assert system["content"].startswith("Be short.\n\nReply with one JSON object")
    assert rest == snapshot(
        [
            {"role": "user", "content": "Weather in Bergen?"},
            {"role": "assistant", "content": '{"reply": {"tool": "weather", "arguments": {"city": "Bergen"}}}'},
            {"role": "user", "content": 'Result of weather:\n{"rain":true}'},
        ]
    )


@pytest.mark.parametrize("stream", [False, True])
async def test_a_reply_that_is_neither_is_broken(server: ProviderServer, providers: Providers, stream: bool) -> None:
    server.script(SayJson({"reply": {"tool": "unheard-of", "arguments": {}}}))

    with pytest.raises(BrokenAnswer, match="was to use a tool or answer"):
        await hear(providers, SMALL, saying(tools=[WEATHER]), stream=stream, key=None)


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_cut_off_by_its_limit_is_told_as_far_as_it_came(
    server: ProviderServer, providers: Providers, stream: bool
) -> None:
    server.script(Say('{"reply": {"answer": "It was a dark and stor', stop="length"))

    _, response = await hear(providers, SMALL, saying(tools=[WEATHER]), stream=stream, key=None)

    assert (response.text, response.finish_reason) == ("It was a dark and stor", "length")


async def test_a_call_cut_off_by_its_limit_is_broken(server: ProviderServer, providers: Providers) -> None:
    server.script(Say('{"reply": {"tool": "weather", "arguments": {"city": "Ber', stop="length"))

    with pytest.raises(BrokenAnswer, match="max_tokens"):
        await hear(providers, SMALL, saying(tools=[WEATHER]), key=None)


def spoken(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)], finish_reason="stop")


def test_an_argument_as_long_as_it_may_be_was_cut_and_is_not_passed_on() -> None:
    text = json.dumps({"reply": {"tool": "weather", "arguments": {"city": "x" * LONGEST_STRING}}})

    with pytest.raises(BrokenAnswer, match="longer than"):
        parts_of(spoken(text), Options(tools=(WEATHER,), answer=TEXT))


def test_json_in_a_fence_or_without_its_wrapper_is_understood() -> None:
    asked = Options(tools=(WEATHER,), answer=TEXT)

    assert parts_of(spoken('```json\n{"reply": {"answer": "a"}}\n```'), asked) == [TextPart("a")]
    assert parts_of(spoken('{"answer": "a"}'), asked) == [TextPart("a")]


def test_prose_around_json_half_json_and_plain_words_are_understood() -> None:
    asked = Options(tools=(WEATHER,), answer=TEXT)
    call = '{"reply": {"tool": "weather", "arguments": {"city": "Bern"}}}'
    around = f"I will look at {{the}} weather.\n```json\n{call}\n```\nThen I answer."
    for text in (around, call.removesuffix("}"), call.removesuffix("}}}"), call[:-1] + "\n"):
        [part] = parts_of(spoken(text), asked)
        assert isinstance(part, ToolCallPart)
        assert (part.tool_name, part.args_as_dict()) == ("weather", {"city": "Bern"})
    assert parts_of(spoken("Sure!"), asked) == [TextPart("Sure!")]
    code = "Like this:\n```python\nrain = {'Bern': [1]}\n```"
    assert parts_of(spoken(code), asked) == [TextPart(code)]
    # Of a text that is cut nothing is done.
    for text in ('{"reply": {"tool": "weather", "arguments": {"city": "Be', '{"reply": {"answer": 12'):
        with pytest.raises(BrokenAnswer):
            parts_of(spoken(text), asked)
    with pytest.raises(BrokenAnswer):
        parts_of(spoken("Sure!"), Options(tools=(WEATHER,), answer=None))


@pytest.mark.parametrize("text", ["", "[]", '{"reply": 3}', '{"reply": {"answer": 1', "{}"])
def test_whatever_else_a_model_says_is_broken(text: str) -> None:
    with pytest.raises(BrokenAnswer):
        parts_of(spoken(text), Options(tools=(WEATHER,), answer=TEXT))


@pytest.mark.parametrize(
    ("choice", "tools", "may_answer"),
    [
        (None, ["weather"], True),
        ("auto", ["weather"], True),
        ("none", [], True),
        ("required", ["weather"], False),
        (["weather"], ["weather"], False),
        ([], [], True),
    ],
)
def test_a_tool_choice_narrows_what_may_be_replied(choice: object, tools: list[str], may_answer: bool) -> None:
    asked = options([WEATHER], None, choice)

    assert [tool.name for tool in asked.tools] == tools
    assert (asked.answer is not None) is may_answer


def test_definitions_of_two_tools_with_one_name_do_not_mix() -> None:
    def tool(name: str, kind: str) -> ToolDefinition:
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {"x": {"$ref": "#/$defs/X"}},
            "$defs": {"X": {"type": kind}},
        }
        return ToolDefinition(name=name, parameters_json_schema=schema)

    schema = Options(tools=(tool("a", "integer"), tool("b", "boolean")), answer=None).schema

    assert schema["$defs"] == {"a.X": {"type": "integer"}, "b.X": {"type": "boolean"}}
    choices = schema["properties"]["reply"]["anyOf"]
    references = [choice["properties"]["arguments"]["properties"]["x"] for choice in choices]
    assert references == [{"$ref": "#/$defs/a.X"}, {"$ref": "#/$defs/b.X"}]


def test_retelling_leaves_the_persons_own_words_alone() -> None:
    request = ModelRequest(parts=[UserPromptPart("Hello")])

    assert rewrite_history([request]) == [request]


@given(text=st.text(st.characters(codec="utf-8")), ascii_only=st.booleans(), data=st.data())
def test_an_answer_is_readable_however_it_is_cut_into_pieces(text: str, ascii_only: bool, data: st.DataObject) -> None:
    whole = json.dumps({"reply": {"answer": text}}, ensure_ascii=ascii_only)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    answer = AnswerText()

    said = [answer.feed(whole[start:end]) for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    assert "".join(said) == text


@given(text=st.text())
def test_nothing_is_readable_before_there_is_an_answer(text: str) -> None:
    answer = AnswerText()

    assert answer.feed('{"reply": {"tool": "x", "arguments": {"answer": "' + text.replace('"', "")) == ""


@pytest.mark.slow
@given(
    arguments=st.dictionaries(st.text(), st.recursive(st.text() | st.integers(), st.lists)),
    ascii_only=st.booleans(),
    data=st.data(),
)
def test_arguments_are_readable_however_they_are_cut_into_pieces(
    arguments: dict[str, Any], ascii_only: bool, data: st.DataObject
) -> None:
    whole = json.dumps({"reply": {"tool": "weather", "arguments": arguments}}, ensure_ascii=ascii_only)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    call = CallText()

    said = [call.feed(whole[start:end]) for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    assert call.tool == "weather"
    assert "".join(said) == json.dumps(arguments, ensure_ascii=ascii_only)


@given(text=st.text())
def test_no_arguments_are_readable_before_there_is_a_call(text: str) -> None:
    call = CallText()

    assert call.feed('{"reply": {"answer": "{' + text) == ""
    assert call.tool == ""
