"""Groq's chat completions: OpenAI's shape, with usage in a field of its own and errors in other words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cellwright.testing.answers import Tokens
from cellwright.testing.wire.openai_chat import (
    DONE,
    asked_in_chat,
    choice_of,
    chunk,
    completion,
    deltas,
    finish_of,
    whole_choice,
)
from cellwright.testing.wire.reply import Event, Json, Refusal, Reply, WireRefusal, WireRequest, sse

_REFUSALS: Final[dict[Refusal, tuple[int, str, str, str | None]]] = {
    "bad-request": (400, "'messages' : value must be an array", "invalid_request_error", None),
    "unauthorised": (401, "Invalid API Key", "invalid_request_error", "invalid_api_key"),
    "not-found": (404, "The model `{model}` does not exist.", "invalid_request_error", "model_not_found"),
    "context-too-long": (
        400,
        "Please reduce the length of the messages or completion.",
        "invalid_request_error",
        "context_length_exceeded",
    ),
    "rate-limited": (429, "Rate limit reached for model `{model}`.", "tokens", "rate_limit_exceeded"),
    "server-error": (500, "Internal Server Error", "internal_server_error", None),
    "overloaded": (503, "{model} is currently over capacity. Please try again.", "internal_server_error", None),
}


class Groq:
    """`POST /openai/v1/chat/completions`."""

    def asked(self, path: str, body: Json) -> WireRequest:
        """What a request asks for; Groq tells usage unasked."""
        return asked_in_chat(body, has_usage=True)

    def whole(self, reply: Reply) -> Json:
        """The body of an answer that is not streamed."""
        body = completion(reply, object="chat.completion", choices=[whole_choice(reply)])
        used = {} if reply.usage is None else {"usage": _usage(reply.usage)}
        return body | used | {"x_groq": {"id": f"req_{reply.id}"}}

    def events(self, reply: Reply, asked: WireRequest) -> Iterator[Event]:
        """A streamed answer; the first and the last chunk carry `x_groq`."""
        for number, (delta, is_piece) in enumerate(deltas(reply)):
            opening = {"x_groq": {"id": f"req_{reply.id}"}} if number == 0 else {}
            yield Event(sse(chunk(reply, [choice_of(delta)]) | opening), is_piece)
        told = {"id": f"req_{reply.id}"} | ({} if reply.usage is None else {"usage": _usage(reply.usage)})
        yield Event(sse(chunk(reply, [choice_of({}, finish=finish_of(reply))]) | {"x_groq": told}))
        yield DONE

    def refusal(
        self, refusal: Refusal, model: str, message: str | None, retry_after_seconds: float | None
    ) -> WireRefusal:
        """An error status and its body."""
        status, usual, type_, code = _REFUSALS[refusal]
        return WireRefusal(status=status, body=_error(message or usual.format(model=model), type_, code))

    def error_event(self, message: str) -> bytes:
        """What is sent when things go wrong in the middle of a stream."""
        return sse(_error(message, "internal_server_error", None), name="error")


def _usage(tokens: Tokens) -> Json:
    return {
        "queue_time": 0.001,
        "prompt_tokens": tokens.input_tokens,
        "prompt_time": 0.001,
        "completion_tokens": tokens.output_tokens,
        "completion_time": 0.001,
        "total_tokens": tokens.input_tokens + tokens.output_tokens,
        "total_time": 0.002,
        "prompt_tokens_details": {"cached_tokens": tokens.cache_read_tokens},
    }


def _error(message: str, type_: str, code: str | None) -> Json:
    return {"error": {"message": message, "type": type_} | ({} if code is None else {"code": code})}
