"""Google's generateContent: what is asked stands in the path, tool calls come whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from cellwright.testing.answers import Stop, Tokens
from cellwright.testing.wire.reply import Event, Json, Refusal, Reply, Wire, WireRequest, last_of_user, sse

_STOPS: Final[dict[Stop, str]] = {"end": "STOP", "length": "MAX_TOKENS", "refused": "SAFETY"}


class Google(Wire):
    """`POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent`."""

    refusals = {  # noqa: RUF012 (a class variable by its base)
        "bad-request": (400, "Invalid JSON payload received.", "INVALID_ARGUMENT"),
        "unauthorised": (400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT"),
        "not-found": (404, "models/{model} is not found for API version v1beta.", "NOT_FOUND"),
        "context-too-long": (
            400,
            "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).",
            "INVALID_ARGUMENT",
        ),
        "rate-limited": (429, "Resource has been exhausted (e.g. check quota).", "RESOURCE_EXHAUSTED"),
        "server-error": (500, "An internal error has occurred.", "INTERNAL"),
        "overloaded": (503, "The model is overloaded. Please try again later.", "UNAVAILABLE"),
    }

    def asked(self, path: str, body: Json) -> WireRequest:
        """What a request asks for."""
        model, _, verb = path.rpartition("/")[2].partition(":")
        declared = [function for tool in body.get("tools") or () for function in tool.get("functionDeclarations") or ()]
        tools = tuple(function["name"] for function in declared)
        choosing: Json = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
        forced = (
            next(iter(choosing.get("allowedFunctionNames") or tools), None) if choosing.get("mode") == "ANY" else None
        )
        return WireRequest(
            model=model,
            is_stream=verb == "streamGenerateContent",
            prompt=last_of_user(body.get("contents"), content="parts"),
            tools=tools,
            forced_tool=forced,
            schema=_schema(body.get("generationConfig") or {}),
        )

    def whole(self, reply: Reply) -> Json:
        """The body of an answer that is not streamed."""
        parts = [*_thought(reply), *([{"text": reply.text}] if reply.pieces else []), *_calls(reply)]
        return _response(reply, parts, finish=_STOPS[reply.stop])

    def events(self, reply: Reply, asked: WireRequest) -> Iterator[Event]:
        """A streamed answer: responses that each hold a part of it."""
        if reply.thinking:
            yield Event(sse(_response(reply, _thought(reply))))
        for piece in reply.pieces:
            yield Event(sse(_response(reply, [{"text": piece}])), True)
        for call in _calls(reply):
            yield Event(sse(_response(reply, [call])), True)
        yield Event(sse(_response(reply, [{"text": ""}], finish=_STOPS[reply.stop])))

    def refusal(
        self, refusal: Refusal, model: str, message: str | None, retry_after_seconds: float | None
    ) -> tuple[int, Json]:
        """An error status and its body; a wrong key is a bad request here, told by its reason."""
        status, body = super().refusal(refusal, model, message, retry_after_seconds)
        details: list[Json] = []
        if refusal == "unauthorised":
            reason = {"reason": "API_KEY_INVALID", "domain": "googleapis.com"}
            details.append({"@type": "type.googleapis.com/google.rpc.ErrorInfo"} | reason)
        if retry_after_seconds is not None:
            delay = {"retryDelay": f"{retry_after_seconds:g}s"}
            details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo"} | delay)
        body["error"] |= {"code": status} | ({"details": details} if details else {})
        return status, body

    def error(self, message: str, *more: str) -> Json:
        """The body of an error; `more` is its name."""
        return {"error": {"code": 500, "message": message, "status": more[0]}}

    def error_event(self, message: str) -> bytes:
        """What is sent when things go wrong in the middle of a stream."""
        return sse(self.error(message, "INTERNAL"))


def _schema(generation: Json) -> Json | None:
    schema: Any = generation.get("responseJsonSchema") or generation.get("responseSchema")
    if isinstance(schema, dict):
        return schema
    return {} if generation.get("responseMimeType") == "application/json" else None


def _response(reply: Reply, parts: list[Json], *, finish: str | None = None) -> Json:
    candidate: Json = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    body = {"candidates": [candidate], "modelVersion": reply.model, "responseId": reply.id}
    if reply.usage is None:
        return body
    # A stream counts up: only its last response knows how much was said.
    return body | {"usageMetadata": _usage(reply.usage, is_last=finish is not None)}


def _thought(reply: Reply) -> list[Json]:
    return [{"text": reply.thinking, "thought": True}] if reply.thinking else []


def _calls(reply: Reply) -> list[Json]:
    return [{"functionCall": {"id": call.id, "name": call.name, "args": call.parsed}} for call in reply.calls]


def _usage(tokens: Tokens, *, is_last: bool) -> Json:
    said = tokens.output_tokens if is_last else 0
    cached = {"cachedContentTokenCount": tokens.cache_read_tokens} if tokens.cache_read_tokens else {}
    return {
        "promptTokenCount": tokens.input_tokens,
        "candidatesTokenCount": said,
        "totalTokenCount": tokens.input_tokens + said,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens.input_tokens}],
    } | cached
