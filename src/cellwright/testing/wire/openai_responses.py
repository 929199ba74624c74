"""OpenAI's responses, those made in the background included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from cellwright.testing.answers import Stop, Tokens
from cellwright.testing.wire.openai_chat import OpenAIChat
from cellwright.testing.wire.reply import Event, Json, Reply, ReplyToolCall, WireRequest, sse

Status = Literal["queued", "in_progress", "completed", "incomplete", "cancelled", "failed"]

_INCOMPLETE: Final[dict[Stop, str]] = {"length": "max_output_tokens", "refused": "content_filter"}


class OpenAIResponses(OpenAIChat):
    """`POST /responses`."""

    def asked(self, path: str, body: Json) -> WireRequest:
        """What a request asks for."""
        tools = (name for tool in body.get("tools") or () for name in _names(tool))
        form, is_background = (body.get("text") or {}).get("format"), bool(body.get("background"))
        return WireRequest.of(body, tools, form, messages=body.get("input"), is_background=is_background)

    def whole(self, reply: Reply) -> Json:
        """The body of an answer that is not streamed."""
        return response(reply, status="completed" if reply.stop == "end" else "incomplete")

    def events(self, reply: Reply, asked: WireRequest) -> Iterator[Event]:
        """A streamed answer; its events are numbered."""
        for number, (fields, is_piece) in enumerate(_events(reply, is_background=asked.is_background)):
            yield Event(sse(fields | {"sequence_number": number}, name=fields["type"]), is_piece)

    def error_event(self, message: str) -> bytes:
        """What is sent when things go wrong in the middle of a stream."""
        event = {"type": "error", "code": "server_error", "message": message, "param": None, "sequence_number": 99}
        return sse(event, name="error")


def _names(tool: Json) -> Iterator[str]:
    """Of a function; those of a namespace follow its name and a dot."""
    if tool.get("type") == "function":
        yield tool["name"]
    elif tool.get("type") == "namespace":
        yield from (f"{tool['name']}.{each['name']}" for each in tool["tools"])


def response(reply: Reply, *, status: Status, is_background: bool = False) -> Json:
    """A response in one of its states; only an ended one has output and usage."""
    is_ended = status in {"completed", "incomplete"}
    used = {"usage": _usage(reply.usage)} if is_ended and reply.usage is not None else {}
    reason = _INCOMPLETE.get(reply.stop)
    return {
        "id": response_id(reply.id),
        "object": "response",
        "created_at": reply.created,
        "status": status,
        "background": is_background,
        "error": {"code": "server_error", "message": "The server had an error."} if status == "failed" else None,
        "incomplete_details": {"reason": reason} if status == "incomplete" else None,
        "instructions": None,
        "metadata": {},
        "model": reply.model,
        "output": _output(reply) if is_ended else [],
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
    } | used


def response_id(id: str) -> str:
    """How a request's id looks here."""
    return f"resp_{id}"


def _events(reply: Reply, *, is_background: bool) -> Iterator[tuple[Json, bool]]:
    opened = response(reply, status="in_progress", is_background=is_background)
    yield {"type": "response.created", "response": opened}, False
    yield {"type": "response.in_progress", "response": opened}, False
    index = 0
    if reply.thinking:
        yield from _thinking_events(reply)
        index += 1
    if reply.pieces:
        yield from _text_events(reply, index)
        index += 1
    for number, call in enumerate(reply.calls, start=index):
        yield from _call_events(call, number)
    ended: Status = "completed" if reply.stop == "end" else "incomplete"
    yield {"type": f"response.{ended}", "response": response(reply, status=ended, is_background=is_background)}, False


def _thinking_events(reply: Reply) -> Iterator[tuple[Json, bool]]:
    item = _reasoning(reply)
    position = {"item_id": item["id"], "output_index": 0, "summary_index": 0}
    empty = {"type": "summary_text", "text": ""}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item | {"summary": []}}, False
    yield {"type": "response.reasoning_summary_part.added", "part": empty} | position, False
    yield {"type": "response.reasoning_summary_text.delta", "delta": reply.thinking} | position, False
    yield {"type": "response.reasoning_summary_text.done", "text": reply.thinking} | position, False
    yield {"type": "response.reasoning_summary_part.done", "part": item["summary"][0]} | position, False
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}, False


def _text_events(reply: Reply, index: int) -> Iterator[tuple[Json, bool]]:
    item = _message(reply)
    position = {"item_id": item["id"], "output_index": index, "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    begun = item | {"content": [], "status": "in_progress"}
    yield {"type": "response.output_item.added", "output_index": index, "item": begun}, False
    yield {"type": "response.content_part.added", "part": part} | position, False
    for piece in reply.pieces:
        yield {"type": "response.output_text.delta", "delta": piece, "logprobs": []} | position, True
    yield {"type": "response.output_text.done", "text": reply.text, "logprobs": []} | position, False
    yield {"type": "response.content_part.done", "part": item["content"][0]} | position, False
    yield {"type": "response.output_item.done", "output_index": index, "item": item}, False


def _call_events(call: ReplyToolCall, index: int) -> Iterator[tuple[Json, bool]]:
    item = _call(call)
    position = {"item_id": item["id"], "output_index": index}
    begun = item | {"arguments": "", "status": "in_progress"}
    yield {"type": "response.output_item.added", "output_index": index, "item": begun}, False
    for piece in call.pieces:
        yield {"type": "response.function_call_arguments.delta", "delta": piece} | position, True
    done = {
        "type": "response.function_call_arguments.done",
        "arguments": call.arguments,
        "name": call.name.rpartition(".")[2],
    }
    yield done | position, False
    yield {"type": "response.output_item.done", "output_index": index, "item": item}, False


def _output(reply: Reply) -> list[Json]:
    thought = [_reasoning(reply)] if reply.thinking else []
    said = [_message(reply)] if reply.pieces else []
    return [*thought, *said, *(_call(call) for call in reply.calls)]


def _reasoning(reply: Reply) -> Json:
    return {"id": f"rs_{reply.id}", "type": "reasoning", "summary": [{"type": "summary_text", "text": reply.thinking}]}


def _message(reply: Reply) -> Json:
    content = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
    status = "completed" if reply.stop == "end" else "incomplete"
    return {"id": f"msg_{reply.id}", "type": "message", "role": "assistant", "status": status, "content": [content]}


def _call(call: ReplyToolCall) -> Json:
    # No function has a dot in its name: what stands before one is its namespace.
    namespace, _, name = call.name.rpartition(".")
    item = {
        "id": f"fc_{call.id}",
        "type": "function_call",
        "call_id": f"call_{call.id}",
        "name": name,
        "arguments": call.arguments,
        "status": "completed",
    }
    return item | ({"namespace": namespace} if namespace else {})


def _usage(tokens: Tokens) -> Json:
    return {
        "input_tokens": tokens.input_tokens,
        "input_tokens_details": {
            "cached_tokens": tokens.cache_read_tokens,
            "cache_write_tokens": tokens.cache_write_tokens,
        },
        "output_tokens": tokens.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens.input_tokens + tokens.output_tokens,
    }
