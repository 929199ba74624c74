"""A chat request written quickly is the one the SDK would have written."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from openai import AsyncOpenAI
from openai._types import NotGiven, omit
from openai._utils import async_maybe_transform
from openai.resources.chat.completions import completions
from openai.types.chat import completion_create_params
from pydantic import BaseModel

from cellwright.models.clients import BEFORE_SENDING, open_http
from cellwright.models.configuration import Endpoint
from cellwright.models.quick_writing import QuickWriting, write_quickly
from cellwright.testing import ProviderServer

_PARAMS = completion_create_params.CompletionCreateParamsNonStreaming
_MESSAGES = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": [{"type": "text", "text": "why?"}, {"type": "image_url", "image_url": {"url": "x"}}]},
    {
        "role": "assistant",
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "1", "content": "42"},
]


class Odd(BaseModel):
    """Something the SDK can write and we leave to it."""

    role: str = "user"
    content: str = "hello"


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"temperature": 0.5, "stop": ["a"], "seed": None, "parallel_tool_calls": True},
        {"temperature": omit, "stop": NotGiven()},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}},
        {"messages": [Odd()]},
    ],
)
async def test_it_is_what_the_sdk_would_write(more: dict[str, Any]) -> None:
    write_quickly()
    sdk: Any = completions
    data = {"model": "one", "messages": _MESSAGES, **more}
    assert await sdk.async_maybe_transform(data, _PARAMS) == await async_maybe_transform(data, _PARAMS)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"user": "zoë 🙂"},
        {"extra_headers": {"Idempotency-Key": "two", "User-Agent": "other"}},
        {"extra_headers": {"X-Team": "data"}},
        {"extra_body": {"seed": 1}},
        {"extra_query": {"a": "b"}},
        {"timeout": 7},
        {"timeout": None},
        {"messages": [Odd()]},
    ],
)
async def test_the_head_of_a_request_is_what_the_sdk_would_write(more: dict[str, Any]) -> None:
    plain: Any = AsyncOpenAI
    quick: Any = type("AsyncOpenAI", (QuickWriting, AsyncOpenAI), {})
    asked: dict[str, Any] = {
        "model": "one",
        "messages": _MESSAGES,
        "extra_headers": {"Idempotency-Key": "one", "User-Agent": "us"},
    }
    async with ProviderServer.open() as server:
        address = server.base_url("openai-chat")
        for kind in (plain, quick):
            async with kind(api_key="k", base_url=address, max_retries=0) as sdk:
                # The first head is the SDK's own; the second would be a copy of it.
                for given in (asked, {**asked, **more}, asked):
                    await sdk.chat.completions.create(**given)
        seen = [(request.path, request.body, sorted(request.headers.items())) for request in server.requests]
    assert seen[:3] == seen[3:]
    assert seen[0] == seen[2]


async def test_nothing_leaves_before_what_must_be_kept_is_kept() -> None:
    is_kept = anyio.Event()
    async with ProviderServer.open() as server:
        address = server.base_url("openai-chat")
        http: Any = open_http(Endpoint(name="near", kind="openai-chat", base_url=address, key="none"), has_key=True)
        async with http, AsyncOpenAI(api_key="k", base_url=address, http_client=http) as sdk:
            async with anyio.create_task_group() as tasks:

                async def ask() -> None:
                    BEFORE_SENDING.set(is_kept.wait)
                    await sdk.chat.completions.create(model="one", messages=[{"role": "user", "content": "why?"}])

                tasks.start_soon(ask)
                await anyio.wait_all_tasks_blocked()
                assert list(server.requests) == []
                is_kept.set()
            assert len(server.requests) == 1
