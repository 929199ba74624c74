"""What a client and the gateway say to each other: typed messages, pydantic-ai's own messages whole inside them.

Pieces of text, which are nearly everything, travel as `[index, text, text, …]` and are neither validated nor built by
pydantic; every other update goes through its type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Annotated, Any, Final, Literal

from pydantic import Discriminator, TypeAdapter, ValidationError
from pydantic_ai.messages import ModelResponseStreamEvent, PartDeltaEvent, TextPartDelta
from pydantic_core import PydanticSerializationError, from_json, to_json

from cellwright.errors import CellwrightError, Defect, ModelUnavailable, RefusedByPolicy, Unavailable, UserError
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
from cellwright.models.reports import Report, ReportRequest
from cellwright.remedies import parse_remedy, remedy_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """The first word of a client."""

    version: int = VERSION
    kind: Literal["hello"] = "hello"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numbered:
    """Of one request."""

    number: int
    """The client's own number for what it asks; answers carry it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitCall(_Numbered):
    """Begin this call, or join it, or answer it from the record."""

    call: ModelCall
    connection: dict[str, str] | None = field(default=None, repr=False)
    """Proxies and certificates in force where it is asked; None: the gateway's own. In no record."""
    kind: Literal["ask"] = "ask"


@dataclass(frozen=True, slots=True, kw_only=True)
class Detach(_Numbered):
    """Tell me no more of this. The call itself goes on."""

    kind: Literal["leave"] = "leave"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel(_Numbered):
    """Stop this call and stop paying for it."""

    call: CallId
    kind: Literal["cancel"] = "cancel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys(_Numbered):
    """Keys for the gateway to hold from now on, and those to forget. What is stored is read anew."""

    keys: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """By provider."""
    forget: tuple[str, ...] = ()
    kind: Literal["keys"] = "keys"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(_Numbered):
    """A question about the gateway itself."""

    question: ReportRequest
    kind: Literal["query"] = "query"


@dataclass(frozen=True, slots=True, kw_only=True)
class Embed(_Numbered):
    """Texts to turn into vectors."""

    texts: tuple[str, ...]
    choice: Choice
    connection: dict[str, str] | None = field(default=None, repr=False)
    kind: Literal["embed"] = "embed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop(_Numbered):
    """End when nothing is in flight any more, or at once."""

    at_once: bool = False
    kind: Literal["stop"] = "stop"


Immediate = Cancel | Keys | Query | Embed | Stop
"""What is answered with one reply."""
ToGateway = Hello | SubmitCall | Detach | Immediate


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """The gateway's answer to `Hello`."""

    pid: int
    version: int = VERSION
    kind: Literal["welcome"] = "welcome"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallUpdates(_Numbered):
    """What a call told since the last time."""

    updates: tuple[Update, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnd(_Numbered):
    """How a call ended."""

    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFailure(_Numbered):
    """What was asked ended in an error. Number 0: the connection as a whole."""

    error: CellwrightError


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryReply(_Numbered):
    """The answer to a `Query`."""

    report: Annotated[Report, Discriminator("kind")]
    kind: Literal["answer"] = "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors(_Numbered):
    """The answer to `Embed`."""

    vectors: list[list[float]]
    kind: Literal["vectors"] = "vectors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement(_Numbered):
    """It was done; for `Cancel`, whether there was something to cancel."""

    happened: bool = True
    kind: Literal["done"] = "done"


PlainReply = Welcome | QueryReply | Vectors | Acknowledgement
FromGateway = PlainReply | CallUpdates | CallEnd | RequestFailure

_TO_GATEWAY: Final = TypeAdapter[ToGateway](Annotated[ToGateway, Discriminator("kind")])
_EVENT: Final = TypeAdapter[ModelResponseStreamEvent](ModelResponseStreamEvent)
_STARTED: Final = TypeAdapter(Started)
_RESTARTED: Final = TypeAdapter(Restarted)
_PLAIN_REPLY: Final = TypeAdapter[PlainReply](Annotated[PlainReply, Discriminator("kind")])
_OUTCOMES: Final[Mapping[type[Outcome], str]] = {
    ModelAnswer: "answered",
    BudgetReached: "budget",
    AnswerUnknown: "unknown",
    Cancelled: "cancelled",
}
_OUTCOME_ADAPTERS: Final[Mapping[str, TypeAdapter[Any]]] = {
    name: TypeAdapter(outcome) for outcome, name in _OUTCOMES.items()
}
_ERRORS: Final[Mapping[str, type[CellwrightError]]] = {
    "user": UserError,
    "refused": RefusedByPolicy,
    "model": ModelUnavailable,
    "unavailable": Unavailable,
    "defect": Defect,
}


def pack_request(message: ToGateway) -> bytes:
    """A client's message as a frame. Raises `UserError` for what cannot be written as JSON, or is too much."""
    try:
        return pack(_TO_GATEWAY.dump_json(message))
    except PydanticSerializationError as error:
        hint = "Half a character, or a value that is no data, stands somewhere in it."
        raise UserError("The request cannot be written down.", hint=hint) from error
    except BadFrame as problem:
        raise UserError(f"The request is {problem}.", hint="Send smaller images, or fewer.") from problem


def read_request(payload: bytes) -> ToGateway:
    """What a client said. Raises `BadFrame`, which repeats nothing of it: there may be a key in it."""
    try:
        return _TO_GATEWAY.validate_json(payload)
    except (ValidationError, RecursionError) as error:
        raise BadFrame(_where(error)) from None


def pack_updates(number: int, updates: Iterable[Update]) -> bytes:
    """Updates as one frame."""
    return pack(to_json({"kind": "told", "number": number, "updates": list(_compact(updates))}))


def pack_end(number: int, outcome: Outcome) -> bytes:
    """An outcome as a frame."""
    name = _OUTCOMES[type(outcome)]
    written = _OUTCOME_ADAPTERS[name].dump_json(outcome)
    return pack(b'{"kind":"ended","number":%d,"%s":%s}' % (number, name.encode(), written))


def pack_reply(message: PlainReply | RequestFailure) -> bytes:
    """Any other message of the gateway as a frame."""
    if not isinstance(message, RequestFailure):
        return pack(to_json(message))
    error = message.error
    # The most particular first: `ModelUnavailable` is also an `Unavailable`.
    kind = next((name for name, cls in _ERRORS.items() if isinstance(error, cls)), "defect")
    plain: dict[str, Any] = {"kind": "failed", "number": message.number, "error": kind}
    plain |= {"message": error.message, "hint": error.hint}
    if error.remedy is not None:
        plain["remedy"] = remedy_json(error.remedy)
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
                return CallEnd(number=number, outcome=_OUTCOME_ADAPTERS[name].validate_python(outcome))
            case {"kind": "failed", "number": int(number), "error": str(kind), "message": str(said), "hint": str(hint)}:
                advice = parse_remedy(plain.get("remedy")) or hint
                return RequestFailure(number=number, error=_ERRORS[kind](said, hint=advice))
            case _:
                return _PLAIN_REPLY.validate_python(plain)
    except (ValueError, TypeError, RecursionError, KeyError) as error:
        raise BadFrame(_where(error)) from None


def _compact(updates: Iterable[Update]) -> Iterator[Any]:
    """Updates as JSON values; neighbouring pieces of one text part become one list."""
    for index, group in groupby(updates, _text_index):
        if index is not None:
            pieces: Any = group
            yield [index, *(piece.event.delta.content_delta for piece in pieces)]
            continue
        for update in group:
            match update:
                case Piece(event=event):
                    yield {"piece": _EVENT.dump_python(event, mode="json")}
                case Started():
                    yield {"started": update}
                case Restarted():
                    yield {"restarted": update}


def _text_index(update: Update) -> int | None:
    """Of which part it is a piece of text and nothing more; None for any other update."""
    event = update.event if type(update) is Piece else None
    if type(event) is not PartDeltaEvent or type(delta := event.delta) is not TextPartDelta:
        return None
    is_plain = delta.provider_name is None and delta.provider_details is None and delta.citations_delta is None
    return event.index if is_plain else None


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


def _where(error: Exception) -> str:
    """Which part of a message is wrong, without what stands in it."""
    if not isinstance(error, ValidationError):
        return "not JSON of a known kind"
    found = error.errors(include_input=False, include_url=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, one['loc'][:2]))}: {one['type']}" for one in found[:3])
