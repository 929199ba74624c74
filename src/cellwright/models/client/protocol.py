"""What a door and the gateway say to each other: typed messages, pydantic-ai's own messages whole inside them.

Pieces of text, which are nearly everything, travel as `[index, text, text, …]` and are neither validated nor built by
pydantic; every other update goes through its type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, TypeGuard, assert_never

from pydantic import Discriminator, TypeAdapter, ValidationError
from pydantic_ai.messages import ModelResponseStreamEvent, PartDeltaEvent, TextPartDelta
from pydantic_core import PydanticSerializationError, from_json, to_json

from cellwright.errors import (
    CellwrightError,
    Defect,
    ModelUnavailable,
    RefusedByPolicy,
    Unavailable,
    UserError,
)
from cellwright.framing import BadFrame, pack
from cellwright.models.calls import (
    AnswerUnknown,
    BudgetReached,
    Cancelled,
    Choice,
    ModelAnswer,
    ModelCall,
    Outcome,
    Piece,
    Restarted,
    Started,
    Update,
)
from cellwright.models.client.gateway_process import VERSION
from cellwright.models.config.names import CallId
from cellwright.models.reports import Question, Report
from cellwright.remedies import parse_remedy, remedy_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """The first word of a door."""

    version: int = VERSION
    kind: Literal["hello"] = "hello"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitCall:
    """Begin this call, or join it, or answer it from the record."""

    number: int
    """The door's own number for what it asks; answers carry it."""
    call: ModelCall
    connection: dict[str, str] | None = field(default=None, repr=False)
    """Proxies and certificates in force where it is asked; None: the gateway's own. In no record."""
    kind: Literal["ask"] = "ask"


@dataclass(frozen=True, slots=True, kw_only=True)
class Detach:
    """Tell me no more of this. The call itself goes on."""

    number: int
    kind: Literal["leave"] = "leave"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Stop this call and stop paying for it."""

    number: int
    call: CallId
    kind: Literal["cancel"] = "cancel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Keys for the gateway to hold from now on, and those to forget. What is stored is read anew."""

    number: int
    keys: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """By provider."""
    forget: tuple[str, ...] = ()
    kind: Literal["keys"] = "keys"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question about the gateway itself."""

    number: int
    question: Annotated[Question, Discriminator("kind")]
    kind: Literal["query"] = "query"


@dataclass(frozen=True, slots=True, kw_only=True)
class Embed:
    """Texts to turn into vectors."""

    number: int
    texts: tuple[str, ...]
    choice: Choice
    connection: dict[str, str] | None = field(default=None, repr=False)
    kind: Literal["embed"] = "embed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """End when nothing is in flight any more, or at once."""

    number: int
    at_once: bool = False
    kind: Literal["stop"] = "stop"


ToGateway = Hello | SubmitCall | Detach | Cancel | Keys | Query | Embed | Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """The gateway's answer to `Hello`."""

    pid: int
    version: int = VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class CallUpdates:
    """What a call told since the last time."""

    number: int
    updates: tuple[Update, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnd:
    """How a call ended."""

    number: int
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFailure:
    """What was asked ended in an error. Number 0: the connection as a whole."""

    number: int
    error: CellwrightError


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryReply:
    """The answer to a `Query`."""

    number: int
    report: Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """The answer to `Embed`."""

    number: int
    vectors: list[list[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """It was done; for `Cancel`, whether there was something to cancel."""

    number: int
    happened: bool = True


FromGateway = Welcome | CallUpdates | CallEnd | RequestFailure | QueryReply | Vectors | Acknowledgement

_TO_GATEWAY: Final = TypeAdapter[ToGateway](Annotated[ToGateway, Discriminator("kind")])
_EVENT: Final = TypeAdapter[ModelResponseStreamEvent](ModelResponseStreamEvent)
_STARTED: Final = TypeAdapter(Started)
_RESTARTED: Final = TypeAdapter(Restarted)
_REPORT: Final = TypeAdapter[Report](Annotated[Report, Discriminator("kind")])
_VECTORS: Final = TypeAdapter(list[list[float]])
_OUTCOMES: Final[Mapping[str, TypeAdapter[Any]]] = {
    "answered": TypeAdapter(ModelAnswer),
    "budget": TypeAdapter(BudgetReached),
    "unknown": TypeAdapter(AnswerUnknown),
    "cancelled": TypeAdapter(Cancelled),
}
_ERRORS: Final[Mapping[str, type[CellwrightError]]] = {
    "user": UserError,
    "refused": RefusedByPolicy,
    "model": ModelUnavailable,
    "unavailable": Unavailable,
    "defect": Defect,
}


def pack_request(message: ToGateway) -> bytes:
    """A door's message as a frame. Raises `UserError` for what cannot be written as JSON, or is too much."""
    try:
        return pack(_TO_GATEWAY.dump_json(message))
    except PydanticSerializationError as error:
        hint = "Half a character, or a value that is no data, stands somewhere in it."
        raise UserError("The request cannot be written down.", hint=hint) from error
    except BadFrame as problem:
        raise UserError(f"The request is {problem}.", hint="Send smaller images, or fewer.") from problem


def read_request(payload: bytes) -> ToGateway:
    """What a door said. Raises `BadFrame`, which repeats nothing of it: there may be a key in it."""
    try:
        return _TO_GATEWAY.validate_json(payload)
    except (ValidationError, RecursionError) as error:
        raise BadFrame(_where(error)) from None


def pack_updates(number: int, updates: Iterable[Update]) -> bytes:
    """Updates as one frame."""
    return pack(to_json({"kind": "told", "number": number, "updates": list(_compact(updates))}))


def pack_end(number: int, outcome: Outcome) -> bytes:
    """An outcome as a frame."""
    match outcome:
        case ModelAnswer():
            name = "answered"
        case BudgetReached():
            name = "budget"
        case AnswerUnknown():
            name = "unknown"
        case Cancelled():
            name = "cancelled"
        case _:
            assert_never(outcome)
    return pack(b'{"kind":"ended","number":%d,"%s":%s}' % (number, name.encode(), _OUTCOMES[name].dump_json(outcome)))


def pack_reply(message: Welcome | RequestFailure | QueryReply | Vectors | Acknowledgement) -> bytes:
    """Any other message of the gateway as a frame."""
    match message:
        case Welcome():
            plain: dict[str, Any] = {"kind": "welcome", "pid": message.pid, "version": message.version}
        case RequestFailure():
            # The most particular first: `ModelUnavailable` is also an `Unavailable`.
            kind = next((name for name, cls in _ERRORS.items() if isinstance(message.error, cls)), "defect")
            plain = {"kind": "failed", "number": message.number, "error": kind}
            plain |= {"message": message.error.message, "hint": message.error.hint}
            if message.error.remedy is not None:
                plain["remedy"] = remedy_json(message.error.remedy)
        case QueryReply():
            plain = {"kind": "answer", "number": message.number, "report": _REPORT.dump_python(message.report)}
        case Vectors():
            plain = {"kind": "vectors", "number": message.number, "vectors": message.vectors}
        case Acknowledgement():
            plain = {"kind": "done", "number": message.number, "happened": message.happened}
        case _:
            assert_never(message)
    return pack(to_json(plain))


def read_reply(payload: bytes) -> FromGateway:
    """What the gateway said. Raises `BadFrame`."""
    try:
        plain: Any = from_json(payload)
        if type(plain) is dict and plain.get("kind") == "told":
            return CallUpdates(number=int(plain["number"]), updates=tuple(_expand(plain["updates"])))
        match plain:
            case {"kind": "ended", "number": int(number), **rest} if len(rest) == 1:
                ((name, outcome),) = rest.items()
                return CallEnd(number=number, outcome=_OUTCOMES[name].validate_python(outcome))
            case {"kind": "failed", "number": int(number), "error": str(kind), "message": str(said), "hint": str(hint)}:
                return RequestFailure(
                    number=number, error=_ERRORS[kind](said, hint=parse_remedy(plain.get("remedy")) or hint)
                )
            case {"kind": "welcome", "pid": int(pid), "version": int(version)}:
                return Welcome(pid=pid, version=version)
            case {"kind": "answer", "number": int(number), "report": report}:
                return QueryReply(number=number, report=_REPORT.validate_python(report))
            case {"kind": "vectors", "number": int(number), "vectors": vectors}:
                return Vectors(number=number, vectors=_VECTORS.validate_python(vectors))
            case {"kind": "done", "number": int(number), "happened": bool(happened)}:
                return Acknowledgement(number=number, happened=happened)
            case _:
                raise BadFrame("a message of no known kind")
    except (ValueError, TypeError, RecursionError, KeyError) as error:
        raise BadFrame(_where(error)) from None


def _compact(updates: Iterable[Update]) -> Iterator[Any]:
    """Updates as JSON values; neighbouring pieces of one text part become one list."""
    run: list[Any] | None = None
    for update in updates:
        if type(update) is Piece:
            event = update.event
            if type(event) is PartDeltaEvent and _is_plain_text(event.delta):
                if run is not None and run[0] == event.index:
                    run.append(event.delta.content_delta)
                    continue
                if run is not None:
                    yield run
                run = [event.index, event.delta.content_delta]
                continue
        if run is not None:
            yield run
            run = None
        yield _compact_one(update)
    if run is not None:
        yield run


def _compact_one(update: Update) -> Any:
    match update:
        case Piece(event=event):
            return {"piece": _EVENT.dump_python(event, mode="json")}
        case Started():
            return {"started": _STARTED.dump_python(update, mode="json")}
        case Restarted():
            return {"restarted": _RESTARTED.dump_python(update, mode="json")}
        case _:
            assert_never(update)


def _expand(updates: Iterable[Any]) -> Iterator[Update]:
    for update in updates:
        if type(update) is list:
            index, *texts = update
            if type(index) is not int or not all(type(text) is str for text in texts):
                raise BadFrame("a piece that is no text")
            for text in texts:
                yield Piece(event=PartDeltaEvent(index=index, delta=TextPartDelta(content_delta=text)))
            continue
        match update:
            case {"piece": event}:
                yield Piece(event=_EVENT.validate_python(event))
            case {"started": started}:
                yield _STARTED.validate_python(started)
            case {"restarted": restarted}:
                yield _RESTARTED.validate_python(restarted)
            case _:
                raise BadFrame("an update of no known kind")


def _is_plain_text(delta: object) -> TypeGuard[TextPartDelta]:
    return (
        type(delta) is TextPartDelta
        and delta.provider_name is None
        and delta.provider_details is None
        and delta.citations_delta is None
    )


def _where(error: Exception) -> str:
    """Which part of a message is wrong, without what stands in it."""
    if not isinstance(error, ValidationError):
        return "not JSON of a known kind"
    places = error.errors(include_input=False, include_url=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, place['loc'][:2]))}: {place['type']}" for place in places[:3])


__all__ = [
    "Acknowledgement",
    "CallEnd",
    "CallUpdates",
    "Cancel",
    "Detach",
    "Embed",
    "FromGateway",
    "Hello",
    "Keys",
    "Query",
    "QueryReply",
    "RequestFailure",
    "Stop",
    "SubmitCall",
    "ToGateway",
    "Vectors",
    "Welcome",
    "pack_end",
    "pack_reply",
    "pack_request",
    "pack_updates",
    "read_reply",
    "read_request",
]  # fmt: skip
