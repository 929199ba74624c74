"""An answer on its way to the wire: the same for every format, until a format writes it down."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Final, Literal, get_args

from cellwright.testing.answers import CallTool, CallTools, Say, SayJson, Spoken, Stop, Tokens

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    """What a request's body says, whatever the format."""

    model: str
    is_stream: bool
    prompt: str
    """The last text of the user."""
    tools: tuple[str, ...] = ()
    forced_tool: str | None = None
    """The tool that must be called, where the request forces one."""
    schema: Json | None = None
    """The shape the answer must have, where the request asks for JSON; empty for any."""
    has_usage: bool = True
    """Whether a stream tells what was used."""
    is_background: bool = False

    @classmethod
    def of(cls, body: Json, tools: Iterable[str], form: Any, *, messages: object = None, **more: bool) -> WireRequest:
        """By a body as most providers shape it: `form` is that of the answer, `messages` where they are elsewhere."""
        named = tuple(tools)
        match body.get("tool_choice"):
            case {"function": {"name": str(forced)}} | {"type": "tool" | "function", "name": str(forced)}:
                pass
            case "required" | "any" | {"type": "any"} if named:
                forced = named[0]
            case _:
                forced = None
        match form:
            case {"json_schema": {"schema": dict(schema)}} | {"schema": dict(schema)}:
                pass
            case {"type": "json_object"}:
                schema = {}
            case _:
                schema = None
        return cls(
            model=str(body.get("model")),
            is_stream=bool(body.get("stream")),
            prompt=last_of_user(messages or body.get("messages")),
            tools=named,
            forced_tool=forced,
            schema=schema,
            **more,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyToolCall:
    """A call of a tool, its arguments cut into the pieces a stream sends."""

    id: str
    name: str
    pieces: tuple[str, ...]

    @property
    def arguments(self) -> str:
        """All of them, as JSON text."""
        return "".join(self.pieces)

    @property
    def parsed(self) -> object:
        """As providers send them that parse arguments themselves: what is no JSON never reaches a client."""
        try:
            return json.loads(self.arguments)
        except ValueError:
            return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A whole answer, cut into the pieces a stream sends."""

    id: str
    """Bare; each format puts its own prefix before it."""
    model: str
    created: int
    pieces: tuple[str, ...]
    calls: tuple[ReplyToolCall, ...] = ()
    thinking: str = ""
    stop: Stop = "end"
    usage: Tokens | None
    """What is told; None tells nothing."""
    tokens: Tokens
    """What is charged."""
    chunk_seconds: float = 0

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self.pieces)


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream, as bytes."""

    data: bytes
    is_piece: bool = False
    """Whether it carries a piece of the answer; openings and endings do not."""


Refusal = Literal[
    "bad-request", "unauthorised", "not-found", "context-too-long", "rate-limited", "server-error", "overloaded"
]
REFUSALS: Final[frozenset[str]] = frozenset(get_args(Refusal))


class Wire(ABC):
    """How one provider writes its answers."""

    refusals: ClassVar[Mapping[Refusal, tuple[Any, ...]]]
    """Status, message with `{model}` for the model's name, and what else `error` is told."""

    @abstractmethod
    def asked(self, path: str, body: Json) -> WireRequest:
        """What a request asks for."""

    @abstractmethod
    def whole(self, reply: Reply) -> Json:
        """The body of an answer that is not streamed."""

    @abstractmethod
    def events(self, reply: Reply, asked: WireRequest) -> Iterator[Event]:
        """A streamed answer."""

    @abstractmethod
    def error(self, message: str, *more: Any) -> Json:
        """The body of an error."""

    @abstractmethod
    def error_event(self, message: str) -> bytes:
        """What is sent when things go wrong in the middle of a stream."""

    def refusal(
        self, refusal: Refusal, model: str, message: str | None, retry_after_seconds: float | None
    ) -> tuple[int, Json]:
        """An error status and its body."""
        status, usual, *more = self.refusals[refusal]
        return status, self.error(message or usual.format(model=model), *more)


def reply_to(spoken: Spoken, *, asked: WireRequest, id: str, created: int) -> Reply:
    """The answer as it will be written to one request."""
    text, calls, thinking, stop, chunks = "", (), "", "end", None
    match spoken:
        case Say(text=text, thinking=thinking, stop=stop, chunks=chunks):
            pass
        case CallTool(text=text):
            calls = (spoken,)
        case CallTools(calls=calls, text=text):
            pass
        case SayJson(value=value, chunks=pieces) if asked.forced_tool is not None and asked.schema is None:
            calls = (CallTool(asked.forced_tool, json.dumps(value, ensure_ascii=False), chunks=pieces),)
        case SayJson(value=value, chunks=chunks):
            text = json.dumps(value, ensure_ascii=False)
    return Reply(
        id=id,
        model=asked.model,
        created=created,
        pieces=cut(text, chunks),
        calls=tuple(tool_call(call, id=id, number=number) for number, call in enumerate(calls)),
        thinking=thinking,
        stop=stop,
        usage=spoken.tokens,
        tokens=spoken.tokens,
        chunk_seconds=spoken.chunk_seconds,
    )


def tool_call(call: CallTool, *, id: str, number: int) -> ReplyToolCall:
    """One call with its arguments as JSON text in pieces."""
    arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(dict(call.arguments))
    return ReplyToolCall(
        # Mistral takes only ids of nine letters and digits back.
        id=call.id or f"{id[-7:]}{number:02d}",
        name=call.name,
        pieces=cut(arguments, call.chunks or 3),
    )


def cut(text: str, chunks: int | None) -> tuple[str, ...]:
    """The text in so many pieces, or one per word; never an empty piece."""
    if chunks is None:
        words = text.split(" ")
        pieces = [*(f"{word} " for word in words[:-1]), words[-1]]
    else:
        chunks = max(1, min(chunks, len(text)))
        marks = [len(text) * number // chunks for number in range(chunks + 1)]
        pieces = [text[start:end] for start, end in pairwise(marks)]
    return tuple(piece for piece in pieces if piece)


def dump(value: Mapping[str, Any]) -> bytes:
    """JSON as providers send it: compact, characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def sse(value: Mapping[str, Any], *, name: str | None = None) -> bytes:
    """One server-sent event."""
    head = b"" if name is None else b"event: " + name.encode() + b"\n"
    return head + b"data: " + dump(value) + b"\n\n"


def text_of(content: object) -> str:
    """The text in a message's content: a string, or parts of which some have text."""
    match content:
        case str():
            return content
        case list():
            texts = [part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)]
            return "\n".join(texts)
        case _:
            return ""


def last_of_user(messages: object, *, content: str = "content") -> str:
    """The last text of the user in a list of messages, or the text they are."""
    if isinstance(messages, str):
        return messages
    for message in reversed(messages if isinstance(messages, list) else []):
        if isinstance(message, dict) and message.get("role") == "user" and (text := text_of(message.get(content))):
            return text
    return ""


def pieces_in(events: Iterable[Event]) -> int:
    """How many of the events carry a piece of the answer."""
    return sum(event.is_piece for event in events)
