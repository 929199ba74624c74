"""Groq's chat completions: OpenAI's shape, with usage in a field of its own and errors in other words."""

from __future__ import annotations

from collections.abc import Iterator

from cellwright.testing.answers import Tokens
from cellwright.testing.wire.openai_chat import DONE, OpenAIChat, choice_of, chunk, deltas, finish_of
from cellwright.testing.wire.reply import Event, Json, Reply, WireRequest, sse


class Groq(OpenAIChat):
    """`POST /openai/v1/chat/completions`."""

    refusals = {  # noqa: RUF012 (a class variable by its base)
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

    def whole(self, reply: Reply) -> Json:
        """The body of an answer that is not streamed."""
        return super().whole(reply) | {"x_groq": {"id": f"req_{reply.id}"}}

    def events(self, reply: Reply, asked: WireRequest) -> Iterator[Event]:
        """A streamed answer; the first and the last chunk carry `x_groq`."""
        for number, (delta, is_piece) in enumerate(deltas(reply)):
            opening = {"x_groq": {"id": f"req_{reply.id}"}} if number == 0 else {}
            yield Event(sse(chunk(reply, [choice_of(delta)]) | opening), is_piece)
        ending = {"id": f"req_{reply.id}"} | ({} if reply.usage is None else {"usage": self.usage(reply.usage)})
        yield Event(sse(chunk(reply, [choice_of({}, finish=finish_of(reply))]) | {"x_groq": ending}))
        yield DONE

    def usage(self, tokens: Tokens) -> Json:
        """What was used, and how long it took."""
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

    def error(self, message: str, *more: str | None) -> Json:
        """The body of an error; `more` is its type and code."""
        type_, code = more
        return {"error": {"message": message, "type": type_} | ({} if code is None else {"code": code})}

    def error_event(self, message: str) -> bytes:
        """What is sent when things go wrong in the middle of a stream."""
        return sse(self.error(message, "internal_server_error", None), name="error")
