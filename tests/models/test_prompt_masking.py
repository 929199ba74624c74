"""What a model reads holds no secret; what belongs to its provider goes back untouched."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from pydantic_ai.messages import (
    BinaryContent,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from cellwright.models.calls import ModelAnswer, Request
from cellwright.models.client.gateway_client import Models
from cellwright.models.gateway.model_registry import masked_prompt
from cellwright.policy.masking.masker import Masker, Secret
from tests.models.testbed import KEY, ModelTestbed, Warm, a_call

SECRET = "correct-horse-battery-staple-42"
MASKER = Masker.of([Secret(name="door", value=SECRET)], salt=b"s" * 16)


def masked(request: Request) -> Request:
    return masked_prompt(request, lambda text: MASKER.mask(text).text)


def test_every_place_that_holds_words_is_masked() -> None:
    nested: dict[str, Any] = {"rows": [{"note": f"it is {SECRET}"}], "count": 3}
    request = Request(
        messages=[
            ModelRequest(
                parts=[
                    SystemPromptPart(f"never say {SECRET}"),
                    UserPromptPart(["look", f"here: {SECRET}", BinaryContent(b"\x89PNG", media_type="image/png")]),
                    ToolReturnPart("look", nested, tool_call_id="1"),
                ],
                instructions=f"use {SECRET}",
            ),
            ModelResponse(parts=[TextPart(f"I saw {SECRET}"), ToolCallPart("say", {"text": SECRET}, tool_call_id="2")]),
        ]
    )
    clean = masked(request)
    assert SECRET not in repr(clean.messages)
    assert SECRET in repr(request.messages)
    returned: Any = clean.messages[0].parts[2]
    assert returned.content["count"] == 3


def test_a_request_without_secrets_is_the_very_same() -> None:
    request = Request(messages=[ModelRequest(parts=[UserPromptPart("why did revenue fall?")])])
    assert masked(request) is request


def test_what_a_provider_signed_is_not_touched() -> None:
    thought = ThinkingPart("hm", signature=SECRET, id="a")
    request = Request(messages=[ModelResponse(parts=[thought, TextPart("plain")])])
    assert masked(request) is request


@pytest.fixture
async def testbed(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[ModelTestbed]:
    with ModelTestbed.open(tmp_path_factory.mktemp("masking") / "home", warm) as opened:
        yield opened


async def test_a_key_that_got_into_a_prompt_does_not_reach_the_provider(testbed: ModelTestbed) -> None:
    async with Models.open(testbed.home, launch=testbed.launch()) as models:
        answered = await models.ask(a_call(f"my key is {KEY}, is it good?", id="run/masked"))
    assert isinstance(answered, ModelAnswer)
    (received,) = testbed.provider.requests
    assert "is it good?" in json.dumps(received.body)
    assert KEY not in json.dumps(received.body)
