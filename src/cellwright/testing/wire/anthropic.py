"""Anthropic's messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cellwright.testing.answers import Stop, Tokens
from cellwright.testing.wire.reply import Event, Json, Reply, Wire, WireRequest, sse

_STOPS: Final[dict[Stop, str]] = {"end": "end_turn", "length": "max_tokens", "refused": "refusal"}


class Anthropic(Wire):
    """`POST /v1/messages`."""

    refusals = {  # noqa: RUF012 (a class variable by its base)
        "bad-request": (400, "messages: at least one message is required", "invalid_request_error"),
        "unauthorised": (401, "invalid x-api-key", "authentication_error"),
        "not-found": (404, "model: {model}", "not_found_error"),
        "context-too-long": (400, "prompt is too long: 250000 tokens > 200000 maximum", "invalid_request_error"),
        "rate-limited": (429, "This request would exceed your rate limit.", "rate_limit_error"),
        "server-error": (500, "Internal server error", "api_error"),
        "overloaded": (529, "Overloaded", "overloaded_error"),
    }

    def asked(self, path: str, body: Json) -> WireRequest:
        """What a request asks for."""
        tools = (tool["name"] for tool in body.get("tools") or () if "name" in tool)
        form = body.get("output_format") or (body.get("output_config") or {}).get("format")
        return WireRequest.of(body, tools, form)

    def whole(self, reply: Reply) -> Json:
        """The body of an answer that is not streamed."""
        content: list[Json] = []
        if reply.thinking:
            content.append({"type": "thinking", "thinking": reply.thinking, "signature": "c2lnbmVk"})
        if reply.text:
            content.append({"type": "text", "text": reply.text, "citations": None})
        for call in reply.calls:
            # Anthropic parses arguments itself: what is no JSON reaches a client only in a stream.
            content.append({"type": "tool_use", "id": f"toolu_{call.id}", "name": call.name, "input": call.parsed})
        return _message(reply, content) | {"stop_reason": _stop(reply), "usage": _usage(reply.usage)}

    def events(self, reply: Reply, asked: WireRequest) -> Iterator[Event]:
        """A streamed answer."""
        opening = _message(reply, []) | {"usage": _usage(reply.usage) | {"output_tokens": 1 if reply.usage else 0}}
        yield _event("message_start", message=opening)
        yield _event("ping")
        yield from _block_events(reply)
        used = {} if reply.usage is None else {"usage": _usage(reply.usage)}
        yield _event(
            "message_delta",
            delta={"stop_reason": _stop(reply), "stop_sequence": None},
            **({"usage": {"output_tokens": 0}} | used),
        )
        yield _event("message_stop")

    def error(self, message: str, *more: str) -> Json:
        """The body of an error; `more` is its type."""
        return {"type": "error", "error": {"type": more[0], "message": message}, "request_id": "req_cellwright"}

    def error_event(self, message: str) -> bytes:
        """What is sent when things go wrong in the middle of a stream."""
        return sse(self.error(message, "overloaded_error"), name="error")


def _block_events(reply: Reply) -> Iterator[Event]:
    index = 0
    if reply.thinking:
        yield _event(
            "content_block_start", index=index, content_block={"type": "thinking", "thinking": "", "signature": ""}
        )
        yield _delta(index, {"type": "thinking_delta", "thinking": reply.thinking}, is_piece=False)
        yield _delta(index, {"type": "signature_delta", "signature": "c2lnbmVk"}, is_piece=False)
        yield _event("content_block_stop", index=index)
        index += 1
    if reply.pieces:
        yield _event("content_block_start", index=index, content_block={"type": "text", "text": ""})
        for piece in reply.pieces:
            yield _delta(index, {"type": "text_delta", "text": piece})
        yield _event("content_block_stop", index=index)
        index += 1
    for number, call in enumerate(reply.calls, start=index):
        block = {"type": "tool_use", "id": f"toolu_{call.id}", "name": call.name, "input": {}}
        yield _event("content_block_start", index=number, content_block=block)
        for piece in call.pieces:
            yield _delta(number, {"type": "input_json_delta", "partial_json": piece})
        yield _event("content_block_stop", index=number)


def _event(name: str, **fields: object) -> Event:
    return Event(sse({"type": name} | fields, name=name))


def _delta(index: int, delta: Json, *, is_piece: bool = True) -> Event:
    name = "content_block_delta"
    return Event(sse({"type": name, "index": index, "delta": delta}, name=name), is_piece)


def _message(reply: Reply, content: list[Json]) -> Json:
    return {
        "id": f"msg_{reply.id}",
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": None,
        "stop_sequence": None,
    }


def _stop(reply: Reply) -> str:
    return "tool_use" if reply.calls else _STOPS[reply.stop]


def _usage(tokens: Tokens | None) -> Json:
    """Anthropic does not count cached tokens as input."""
    if tokens is None:
        return {"input_tokens": 0, "output_tokens": 0}
    return {
        "input_tokens": tokens.input_tokens - tokens.cache_read_tokens - tokens.cache_write_tokens,
        "output_tokens": tokens.output_tokens,
        "cache_read_input_tokens": tokens.cache_read_tokens,
        "cache_creation_input_tokens": tokens.cache_write_tokens,
    }
