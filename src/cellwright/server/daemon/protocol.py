"""What a door and the daemon say to each other: frames of JSON, each checked before it means anything.

`DaemonHello`, `DaemonWelcome`, `StatusRequest` and `StopRequest` stay as they are in every version: that is how a
newer one takes over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, assert_never

from pydantic import Discriminator, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from cellwright.errors import (
    CellwrightError,
    Defect,
    KernelLost,
    ModelUnavailable,
    RefusedByPolicy,
    Unavailable,
    UserError,
)
from cellwright.framing import BadFrame, pack
from cellwright.runs import Goal
from cellwright.server.http.addresses import WebOptions

PROTOCOL: Final = 4
"""Counted up when what is said besides the lasting words changes."""
MAX_REQUEST: Final = 1 << 20
"""A goal with its plan; data travels by path."""
MAX_ANSWER: Final = 64 << 10
_LONGEST_TEXT: Final = 8_000

Number = Annotated[int, Field(ge=0, le=2**53)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
When = Literal["now", "idle"]
"""now: what is in flight goes on at the next start. idle: as soon as no run is at work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonHello:
    """The first word of a door."""

    protocol: int
    version: Name
    """Of its package."""
    kind: Literal["hello"] = "hello"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """Begin this run; one that has begun is not begun again."""

    number: Number
    goal: Goal
    run: Name
    """Chosen by the door, so that what is said twice is done once."""
    connection: dict[Name, Annotated[str, Field(max_length=_LONGEST_TEXT)]] = field(
        default_factory=dict[str, str], repr=False
    )
    """Proxies, certificates and indexes in force where the run was started; they hold for it and go into no journal."""
    kind: Literal["start"] = "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequest:
    """Stop this run for good."""

    number: Number
    run: Name
    reason: Annotated[str, Field(max_length=_LONGEST_TEXT)] = "cancelled"
    kind: Literal["cancel"] = "cancel"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRequest:
    """Do a task of this run again."""

    number: Number
    run: Name
    task: Name
    person: Name
    kind: Literal["retry"] = "retry"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkRequest:
    """A new run with this one's steps."""

    number: Number
    run: Name
    from_step: Annotated[int, Field(ge=0, le=2**31)] | None = None
    kind: Literal["fork"] = "fork"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeRequest:
    """Let a cancelled or dead run go on."""

    number: Number
    run: Name
    person: Name
    kind: Literal["resume"] = "resume"


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoRequest:
    """Take back what this run, which is at work, did to its notebook."""

    number: Number
    run: Name
    person: Name
    step: Annotated[int, Field(ge=1, le=2**31)] | None = None
    """Only this change."""
    before: Name | None = None
    """Instead of changes: all as it was right before this cell last ran."""
    kind: Literal["undo"] = "undo"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedoRequest:
    """Take back the last undo of this run, which is at work."""

    number: Number
    run: Name
    person: Name
    kind: Literal["redo"] = "redo"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRequest:
    """How are you?"""

    number: Number
    kind: Literal["status"] = "status"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRequest:
    """End."""

    number: Number
    when: When = "now"
    why: Annotated[str, Field(max_length=200)] = ""
    kind: Literal["stop"] = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebRequest:
    """A fresh address of the web door."""

    number: Number
    wish: WebOptions | None = None
    """How to open it if it is not open; None: it is not opened."""
    kind: Literal["web"] = "web"


DaemonRequest = (
    StartRequest
    | CancelRequest
    | RetryRequest
    | ForkRequest
    | ResumeRequest
    | UndoRequest
    | RedoRequest
    | StatusRequest
    | StopRequest
    | WebRequest
)
ToDaemon = DaemonHello | DaemonRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonWelcome:
    """The daemon's answer to `DaemonHello`."""

    protocol: int
    version: Name
    pid: Annotated[int, Field(ge=1)]
    kind: Literal["welcome"] = "welcome"


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneAnswer:
    """It was done; `run` is which run it came to, where that is the question."""

    number: Number
    run: str = ""
    kind: Literal["done"] = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionAnswer:
    """What came of an undo or a redo."""

    number: Number
    turns: tuple[int, ...] = ()
    cells: tuple[str, ...] = ()
    """In words."""
    kept: tuple[str, ...] = ()
    by: Literal["checkpoint", "replay", "cells", "file"] | None = None
    """How; None: nothing was done."""
    why: str = ""
    """Why nothing was done."""
    is_refused: bool = False
    kind: Literal["taken_back"] = "taken_back"


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonStatus:
    """How the daemon is doing."""

    number: Number
    pid: int
    version: str
    since: str
    runs_at_work: int
    connections: int
    idle_seconds: float | None
    """It ends after so long without a run at work and without a connection; None: only when told."""
    web: str = ""
    """Where its web door is, without a code; empty: not open. Daemons of protocol 1 do not say it."""
    kind: Literal["standing"] = "standing"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebAddress:
    """The web door is open."""

    number: Number
    origin: str
    url: str = field(repr=False)
    """Lets a browser in, once."""
    folder: str
    kind: Literal["web_open"] = "web_open"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorAnswer:
    """What was asked ended in an error. Number 0: the connection as a whole."""

    number: int
    error: CellwrightError


DaemonAnswer = DoneAnswer | RevisionAnswer | DaemonStatus | WebAddress | ErrorAnswer
FromDaemon = DaemonWelcome | DaemonAnswer

_TO_DAEMON: Final = TypeAdapter[ToDaemon](Annotated[ToDaemon, Discriminator("kind")])
_Plain = DaemonWelcome | DoneAnswer | RevisionAnswer | DaemonStatus | WebAddress
_PLAIN: Final = TypeAdapter[_Plain](Annotated[_Plain, Discriminator("kind")])
_ERRORS: Final[Mapping[str, type[CellwrightError]]] = {
    "user": UserError,
    "refused": RefusedByPolicy,
    "kernel": KernelLost,
    "model": ModelUnavailable,
    "unavailable": Unavailable,
    "defect": Defect,
}
"""The most particular first: `KernelLost` is also an `Unavailable`."""


def pack_request(message: ToDaemon) -> bytes:
    """A door's message as a frame. Raises `UserError` for what cannot be written as JSON, or is too much."""
    try:
        payload = _TO_DAEMON.dump_json(message)
    except PydanticSerializationError as error:
        raise UserError(
            "The request cannot be written down.", hint="Half a character stands somewhere in it."
        ) from error
    if len(payload) > MAX_REQUEST:
        raise UserError(f"The request has {len(payload):,} bytes.", hint="Put long texts in a file and name it.")
    return pack(payload)


def read_request(payload: bytes) -> ToDaemon:
    """What a door said. Raises `BadFrame`, which repeats nothing of it."""
    try:
        return _TO_DAEMON.validate_json(payload)
    except (ValidationError, RecursionError) as error:
        raise BadFrame(_invalid_fields(error)) from None


def pack_answer(message: FromDaemon) -> bytes:
    """The daemon's message as a frame."""
    match message:
        case ErrorAnswer(number=number, error=error):
            return pack(to_json({"kind": "failed", "number": number, **_error_as_json(error)}))
        case DaemonWelcome() | DoneAnswer() | RevisionAnswer() | DaemonStatus() | WebAddress():
            return pack(_PLAIN.dump_json(message))
        case _:
            assert_never(message)


def read_answer(payload: bytes) -> FromDaemon:
    """What the daemon said. Raises `BadFrame`."""
    try:
        plain: Any = from_json(payload)
        match plain:
            case {"kind": "failed", "number": int(number), "error": str(kind), "message": str(said), "hint": str(hint)}:
                return ErrorAnswer(number=number, error=_error(kind, said, hint, plain.get("report_id")))
            case _:
                return _PLAIN.validate_python(plain)
    except (ValueError, RecursionError) as error:
        raise BadFrame(_invalid_fields(error)) from None


def _error_as_json(error: CellwrightError) -> dict[str, str]:
    kind = next((name for name, cls in _ERRORS.items() if isinstance(error, cls)), "defect")
    report = {"report_id": error.report_id} if isinstance(error, Defect) else {}
    return {"error": kind, "message": _bounded_text(error.message), "hint": _bounded_text(error.hint), **report}


def _error(kind: str, message: str, hint: str, report_id: object) -> CellwrightError:
    error = _ERRORS.get(kind, Defect)(message, hint=hint)
    if isinstance(error, Defect) and isinstance(report_id, str):
        error.report_id = report_id
    return error


def _bounded_text(text: str) -> str:
    """The text with nothing in it that JSON cannot carry, not endless."""
    return text[:_LONGEST_TEXT].encode(errors="replace").decode()


def _invalid_fields(error: Exception) -> str:
    """Which part of a message is wrong, without what stands in it."""
    if not isinstance(error, ValidationError):
        return "not JSON of a known kind"
    places = error.errors(include_input=False, include_url=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, place['loc'][:3]))}: {place['type']}" for place in places[:3])


__all__ = [
    "MAX_ANSWER",
    "MAX_REQUEST",
    "PROTOCOL",
    "CancelRequest",
    "DaemonAnswer",
    "DaemonHello",
    "DaemonRequest",
    "DaemonStatus",
    "DaemonWelcome",
    "DoneAnswer",
    "ErrorAnswer",
    "ForkRequest",
    "FromDaemon",
    "RedoRequest",
    "ResumeRequest",
    "RetryRequest",
    "RevisionAnswer",
    "StartRequest",
    "StatusRequest",
    "StopRequest",
    "ToDaemon",
    "UndoRequest",
    "WebAddress",
    "WebRequest",
    "When",
    "pack_answer",
    "pack_request",
    "read_answer",
    "read_request",
]  # fmt: skip
