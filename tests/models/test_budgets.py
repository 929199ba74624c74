"""Estimates: what a request may use, before anybody has counted."""

from __future__ import annotations

import pytest
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition

from cellwright.models.calls import OutputSchema, Request, TokenUsage
from cellwright.models.money.budgets import TOKENS_PER_IMAGE, estimate
from tests.models.accounts import asking


def test_text_is_taken_at_four_bytes_a_token_and_the_estimate_says_so() -> None:
    assert estimate(asking("x" * 400)) == TokenUsage(input_tokens=104, output_tokens=1_000, is_estimate=True)
    assert estimate(asking("漢" * 400)).input_tokens == 304
    assert estimate(asking("half \ud83d")).input_tokens == 6


def test_the_answer_is_taken_at_all_it_may_be() -> None:
    assert estimate(Request(messages=[], settings={"max_tokens": 50})).output_tokens == 50
    assert estimate(Request(messages=[], settings={"max_tokens": 50}), output_tokens=7).output_tokens == 7
    assert estimate(Request(messages=[], settings={"max_tokens": "many"})).output_tokens == 1_000


def test_images_have_a_flat_rate() -> None:
    image = BinaryContent(data=b"x" * 100_000, media_type="image/png")
    asked = Request(
        messages=[ModelRequest(parts=[UserPromptPart(["look", image, ImageUrl("https://example.com/a.png")])])]
    )
    assert estimate(asked).input_tokens == 2 * TOKENS_PER_IMAGE + 5


@pytest.mark.parametrize(
    "message",
    [
        ModelRequest(parts=[SystemPromptPart("x" * 4_000)]),
        ModelRequest(parts=[], instructions="x" * 4_000),
        ModelRequest(parts=[ToolReturnPart("run", {"rows": "x" * 4_000}, tool_call_id="1")]),
        ModelRequest(parts=[UserPromptPart([BinaryContent(data=b"x" * 4_000, media_type="text/csv")])]),
        ModelResponse(parts=[TextPart("x" * 4_000)]),
        ModelResponse(parts=[ThinkingPart("x" * 4_000)]),
        ModelResponse(parts=[ToolCallPart("run", {"code": "x" * 4_000}, tool_call_id="1")]),
    ],
)
def test_everything_a_model_reads_counts(message: ModelMessage) -> None:
    assert 1_000 <= estimate(Request(messages=[message])).input_tokens <= 1_020


def test_tools_and_shapes_count_too() -> None:
    tool = ToolDefinition(name="run", description="x" * 4_000)
    shape = OutputSchema(name="plan", schema={"description": "x" * 4_000})
    assert estimate(Request(messages=[], tools=[tool])).input_tokens >= 1_000
    assert estimate(Request(messages=[], output=shape)).input_tokens >= 1_000
