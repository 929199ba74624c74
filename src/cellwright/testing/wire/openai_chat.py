"""OpenAI's chat completions; Groq and Mistral say most of it alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from cellwright.testing.answers import Stop, Tokens
from cellwright.testing.wire.reply import Event, Json, Refusal, Reply, Wire, WireRequest, sse

_STOPS: Final[dict[Stop, str]] = {"end": "stop", "length": "length", "refused": "content_filter"}

DONE: Final = Event(b"data: [DONE]\n\n")


class OpenAIChat(Wire):
    """`POST /chat/completions`."""

    refusals: ClassVar[Mapping[Refusal, tuple[Any, ...]]] = {
        "bad-request": (400, "Invalid value for 'messages'.", "invalid_request_error", "invalid_value"),
        "unauthorised": (401, "Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
        "not-found": (404, "The model `{model}` does not exist.", "invalid_request_error", "model_not_found"),
        "context-too-long": (
            400,
            "This model's maximum context length is 128000 tokens. Please reduce the length of the messages.",
            "invalid_request_error",
            "context_length_exceeded",
        ),
        "rate-limited": (429, "Rate limit reached for {model}.", "requests", "rate_limit_exceeded"),
        "server-error": (500, "The server had an error while processing your request.", "server_error", None),
        "overloaded": (503, "The engine is currently overloaded, please try again later.", "server_error", None),
    }

    def asked(self, path: str, body: Json) -> WireRequest:
        """What a request asks for."""
        tools = (tool["function"]["name"] for tool in body.get("tools") or () if "function" in tool)
        has_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        return WireRequest.of(body, tools, body.get("response_format"), has_usage=has_usage)

    def whole(self, reply: Reply) -> Json:
        """The body of an answer that is not streamed."""
        body = completion(reply, object="chat.completion", choices=[whole_choice(reply)])
        return body | ({} if reply.usage is None else {"usage": self.usage(reply.usage)})

    def events(self, reply: Reply, asked: WireRequest) -> Iterator[Event]:
        """A streamed answer."""
        for delta, is_piece in deltas(reply):
            yield Event(sse(chunk(reply, [choice_of(delta)])), is_piece)
        yield Event(sse(chunk(reply, [choice_of({}, finish=finish_of(reply))])))
        if asked.has_usage and reply.usage is not None:
            yield Event(sse(chunk(reply, []) | {"usage": self.usage(reply.usage)}))
        yield DONE

    def usage(self, tokens: Tokens) -> Json:
        """What was used; cached tokens are part of the prompt."""
        return {
            "prompt_tokens": tokens.input_tokens,
            "completion_tokens": tokens.output_tokens,
            "total_tokens": tokens.input_tokens + tokens.output_tokens,
            "prompt_tokens_details": {"cached_tokens": tokens.cache_read_tokens, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        }

    def error(self, message: str, *more: str | None) -> Json:
        """The body of an error; `more` is its type and code."""
        return error_body(message, *more)

    def error_event(self, message: str) -> bytes:
        """What is sent when things go wrong in the middle of a stream."""
        return sse(self.error(message, "server_error"))


def completion(reply: Reply, *, object: str, choices: list[Json]) -> Json:
    """The outside of an answer or of a chunk."""
    return {
        "id": f"chatcmpl-{reply.id}",
        "object": object,
        "created": reply.created,
        "model": reply.model,
        "choices": choices,
        "service_tier": "default",
        "system_fingerprint": "fp_cellwright",
    }


def chunk(reply: Reply, choices: list[Json]) -> Json:
    """One chunk of a stream."""
    return completion(reply, object="chat.completion.chunk", choices=choices)


def whole_choice(reply: Reply) -> Json:
    """The one choice of an answer that is not streamed."""
    message: Json = {"role": "assistant", "content": reply.text or None, "refusal": None}
    if reply.thinking:
        message["reasoning"] = reply.thinking
    if reply.calls:
        message["tool_calls"] = [
            {"id": f"call_{call.id}", "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in reply.calls
        ]
    return {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_of(reply)}


def deltas(reply: Reply) -> Iterator[tuple[Json, bool]]:
    """What each chunk adds, and whether it is a piece of the answer."""
    yield {"role": "assistant", "content": "", "refusal": None}, False
    if reply.thinking:
        yield {"reasoning": reply.thinking}, False
    for piece in reply.pieces:
        yield {"content": piece}, True
    for index, call in enumerate(reply.calls):
        named = {"index": index, "id": f"call_{call.id}", "type": "function"}
        yield {"tool_calls": [named | {"function": {"name": call.name, "arguments": ""}}]}, False
        for piece in call.pieces:
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, True


def choice_of(delta: Json, *, finish: str | None = None) -> Json:
    """The one choice of a chunk."""
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def finish_of(reply: Reply) -> str:
    """Why the answer ended."""
    return "tool_calls" if reply.calls else _STOPS[reply.stop]


def error_body(message: str, type_: str | None = "invalid_request_error", code: str | None = None) -> Json:
    """An error as OpenAI writes it."""
    return {"error": {"message": message, "type": type_, "param": None, "code": code}}
