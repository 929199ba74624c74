"""What travels between the host and a worker: JSON in frames with a length; what arrives is checked, never believed."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from cellwright.framing import BadFrame, pack
from cellwright.journal.values import Json
from cellwright.tools.actions.steps import FailureKind, LimitName

MAX_FRAME_BYTES: Final = 96 << 20
_DEEPEST = 40


class CallMessage(msgspec.Struct, kw_only=True, frozen=True):
    """A tool call as the worker tells it."""

    id: int
    name: str
    arguments: msgspec.Raw


class ReadyMessage(msgspec.Struct, kw_only=True, frozen=True, tag="ready"):
    """The worker listens."""

    request: int
    version: str


class PausedMessage(msgspec.Struct, kw_only=True, frozen=True, tag="paused"):
    """The program waits."""

    request: int
    calls: list[CallMessage]
    state: bytes


class FinishedMessage(msgspec.Struct, kw_only=True, frozen=True, tag="finished"):
    """The program is done."""

    request: int
    value: msgspec.Raw
    output: str


class FailedMessage(msgspec.Struct, kw_only=True, frozen=True, tag="failed"):
    """The program stopped."""

    request: int
    kind: FailureKind
    error: str
    message: str
    line: int | None
    limit: LimitName | None
    output: str


class DroppedMessage(msgspec.Struct, kw_only=True, frozen=True, tag="dropped"):
    """The program is forgotten."""

    request: int


WorkerMessage = ReadyMessage | PausedMessage | FinishedMessage | FailedMessage | DroppedMessage
_decoder = msgspec.json.Decoder(WorkerMessage)
_any = msgspec.json.Decoder()


def encode(request: dict[str, Any]) -> bytes:
    """One request as a frame."""
    return pack(msgspec.json.encode(request), MAX_FRAME_BYTES)


def decode(body: bytes) -> WorkerMessage:
    """One answer; `BadFrame` for anything that is none."""
    return _decoded(body, _decoder)


def value_of(raw: msgspec.Raw, *, most_bytes: int) -> Json:
    """A program's value; `BadFrame` if it is larger or deeper than was agreed."""
    body = bytes(raw)
    if len(body) > most_bytes:
        raise BadFrame(f"{len(body):,} bytes of values, of at most {most_bytes:,}")
    value: Json = _decoded(body, _any)
    if _is_too_deep(value):
        raise BadFrame("values nested too deep")
    return value


def arguments_of(raw: msgspec.Raw, *, most_bytes: int) -> dict[str, Json]:
    """A call's arguments; `BadFrame` likewise."""
    arguments = value_of(raw, most_bytes=most_bytes)
    if not isinstance(arguments, dict):
        raise BadFrame("arguments that are no object")
    return arguments


def _decoded(body: bytes, decoder: msgspec.json.Decoder[Any]) -> Any:
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise BadFrame(f"a malformed answer ({str(error)[:200]})") from error


def _is_too_deep(value: Json, left: int = _DEEPEST) -> bool:
    """Whether something would trip over its nesting further on."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return left == 0 or any(_is_too_deep(each, left - 1) for each in inner if isinstance(each, (list, dict)))
