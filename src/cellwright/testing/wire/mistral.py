"""Mistral's chat completions: tool calls come whole, thinking is a part of the content, errors have no envelope."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cellwright.testing.answers import Stop, Tokens
from cellwright.testing.wire.openai_chat import DONE, OpenAIChat
from cellwright.testing.wire.reply import Event, Json, Reply, WireRequest, sse

_STOPS: Final[dict[Stop, str]] = {"end": "stop", "length": "length", "refused": "error"}


class Mistral(OpenAIChat):
    """`POST /v1/chat/completions`."""

    refusals = {  # noqa: RUF012 (a class variable by its base)
        "bad-request": (400, "Expected last role User or Tool for serving", "invalid_request_message_order", "3230"),
        "unauthorised": (401, "Unauthorized", "invalid_request_error", None),
        "not-found": (404, "Invalid model: {model}", "invalid_model", "1500"),
        "context-too-long": (
            400,
            "Prompt contains 200000 tokens, too large for model with 131072 maximum context length",
            "invalid_request_prompt",
            "3051",
        ),
        "rate-limited": (429, "Rate limit exceeded", "rate_limited", "1300"),
        "server-error": (500, "Internal server error", "internal_server_error", "1000"),
        "overloaded": (503, "Service tier capacity exceeded: overloaded.", "service_unavailable", "3505"),
    }

    def whole(self, reply: Reply) -> Json:
        """The body of an answer that is not streamed."""
        message: Json = {"role": "assistant", "content": _content(reply), "tool_calls": _calls(reply) or None}
        choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
        used = {} if reply.usage is None else {"usage": _usage(reply.usage)}
        return _outside(reply, "chat.completion") | {"choices": [choice]} | used

    def events(self, reply: Reply, asked: WireRequest) -> Iterator[Event]:
        """A streamed answer; usage comes with the end."""
        yield _chunk(reply, {"role": "assistant", "content": ""})
        if reply.thinking:
            yield _chunk(reply, {"content": [_thought(reply.thinking)]})
        for piece in reply.pieces:
            yield _chunk(reply, {"content": piece}, is_piece=True)
        if reply.calls:
            yield _chunk(reply, {"content": "", "tool_calls": _calls(reply)}, is_piece=True)
        yield _chunk(reply, {"content": ""}, finish=_finish(reply), usage=reply.usage)
        yield DONE

    def error(self, message: str, *more: str | None) -> Json:
        """The body of an error; `more` is its type and code."""
        type_, code = more
        return {"object": "error", "message": message, "type": type_, "param": None, "code": code}

    def error_event(self, message: str) -> bytes:
        """What is sent when things go wrong in the middle of a stream."""
        return sse(self.error(message, "internal_server_error", "1000"))


def _outside(reply: Reply, object: str) -> Json:
    return {"id": reply.id, "object": object, "created": reply.created, "model": reply.model}


def _chunk(
    reply: Reply, delta: Json, *, finish: str | None = None, usage: Tokens | None = None, is_piece: bool = False
) -> Event:
    body = _outside(reply, "chat.completion.chunk")
    body["choices"] = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return Event(sse(body if usage is None else body | {"usage": _usage(usage)}), is_piece)


def _content(reply: Reply) -> str | list[Json]:
    return [_thought(reply.thinking), {"type": "text", "text": reply.text}] if reply.thinking else reply.text


def _thought(text: str) -> Json:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def _calls(reply: Reply) -> list[Json]:
    return [
        {"id": call.id, "index": index, "function": {"name": call.name, "arguments": call.arguments}}
        for index, call in enumerate(reply.calls)
    ]


def _finish(reply: Reply) -> str:
    return "tool_calls" if reply.calls else _STOPS[reply.stop]


def _usage(tokens: Tokens) -> Json:
    cached = {"prompt_tokens_details": {"cached_tokens": tokens.cache_read_tokens}} if tokens.cache_read_tokens else {}
    return {
        "prompt_tokens": tokens.input_tokens,
        "completion_tokens": tokens.output_tokens,
        "total_tokens": tokens.input_tokens + tokens.output_tokens,
    } | cached
