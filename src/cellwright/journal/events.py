"""What can be told: the journal's own events, made of ids, text and numbers only, and the typed events of upper rooms.

An event is kept as JSON under its kind, the class name in kebab-case. Fields may be added with a default; a field that
is removed is ignored in what was written before. What a version before told as a `Fact` is read as the event it is
today; the stored bytes stay as they are.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, Self

import msgspec

from cellwright.errors import Defect
from cellwright.journal.values import adapter
from cellwright.remedies import remedy

Outcome = Literal["done", "failed", "cancelled", "dead"]
"""`dead`: given up after too many recoveries without progress; a person can resume it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What is told, and can be said in one line of a timeline."""

    LINE: ClassVar[str] = ""
    """`str.format` with the event as `{0}`."""

    def line(self) -> str:
        """The event in one line of a timeline."""
        return self.LINE.format(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class _WorkflowEvent(Event):
    workflow: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _StepEvent(_WorkflowEvent):
    step: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(_WorkflowEvent):
    """A run, or a workflow inside one, began."""

    LINE: ClassVar[str] = "{0.name} started"
    name: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecovered(_WorkflowEvent):
    """The worker that ran it is gone; it continues at the first step without a result."""

    LINE: ClassVar[str] = "taken over from {0.lost_worker}"
    lost_worker: str
    attempt: int
    """How often in a row without a new step having finished."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunForked(_WorkflowEvent):
    """This run goes on from another one's steps."""

    LINE: ClassVar[str] = "forked from {0.forked_from} at step {0.from_step}"
    forked_from: str
    from_step: int
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResumed(_WorkflowEvent):
    """A person, or a program for them, let it go on."""

    by: str

    def line(self) -> str:
        """With whoever did it, if that is known."""
        return f"resumed{f' by {self.by}' if self.by else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(_WorkflowEvent):
    """A run, or a workflow inside one, came to its end."""

    name: str
    outcome: Outcome
    error: str = ""

    def line(self) -> str:
        """With its error, if there is one."""
        return f"{self.name} {self.outcome}{f': {self.error}' if self.error else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted(_StepEvent):
    """A step is about to do its work. A second one for the same step means the first was cut off."""

    LINE: ClassVar[str] = "{0.name} …"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFinished(_StepEvent):
    """A step's result is recorded; told in the same transaction."""

    LINE: ClassVar[str] = "{0.name} done in {0.milliseconds} ms"
    milliseconds: int
    effect: str = ""
    """The idempotency key, if the step changed the world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepErred(_StepEvent):
    """A step's error is recorded; told in the same transaction."""

    LINE: ClassVar[str] = "{0.name} failed: {0.error}"
    milliseconds: int
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectInDoubt(_WorkflowEvent):
    """A change of the world was begun and never confirmed: it may or may not have happened."""

    LINE: ClassVar[str] = "{0.name} may or may not have happened"
    name: str
    effect: str
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked(_WorkflowEvent):
    """A run waits for a person."""

    LINE: ClassVar[str] = "asked: {0.text}"
    question: str
    topic: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswered(Event):
    """The person said."""

    LINE: ClassVar[str] = "{0.by} answered: {0.answer}"
    question: str
    answer: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionWithdrawn(Event):
    """Nobody needs to answer any more."""

    LINE: ClassVar[str] = "question withdrawn: {0.reason}"
    question: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskChanged(Event):
    """A task of a plan was planned, begun, or came to its end."""

    LINE: ClassVar[str] = "task {0.title}: {0.state}"
    task: str
    title: str
    state: Literal["planned", "running", "done", "failed", "dropped"]
    note: str = ""
    agent: str = ""
    """The workflow that begins it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRecorded(Event):
    """What something cost, as measured."""

    what: str
    """e.g. the model, or `kernel`."""
    microdollars: int
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    workflow: str = ""
    is_price_known: bool = True
    """If not, `microdollars` says nothing."""

    def line(self) -> str:
        """In dollars."""
        return f"{self.what} cost ${self.microdollars / 1e6:.4f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecorded(Event):
    """Who did what, under which rule, with which result."""

    LINE: ClassVar[str] = "{0.person}: {0.what} [{0.verdict}] {0.result}"
    run: str
    person: str
    action_kind: str
    what: str
    verdict: str
    basis: str
    """The rule, default, envelope or answer that decided."""
    result: str
    agent: str = ""
    role: str = ""
    action: str = ""
    """The action's fingerprint."""
    reason: str = ""
    detail: str = ""
    call: str = ""
    """Names the one judgement that several entries may tell of; the last of them says how it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact(Event):
    """Anything else somebody wants told, without a type of its own."""

    topic: str
    subject: str
    text: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict[str, float])

    def line(self) -> str:
        """With its text, if there is one."""
        return f"{self.topic}: {self.subject}{f' {self.text}' if self.text else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerFact:
    """How an event was told as a `Fact` until version 0.1: what of it stood where."""

    topic: str
    subject: str = ""
    """Which field the subject was; empty: none."""
    text: str = ""
    """Which field the text was; empty: none, or all of them, as JSON."""
    is_json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomEvent(Event):
    """An event of an upper room. Its fields may be any values pydantic can write as JSON and read again."""

    WAS: ClassVar[FormerFact | None] = None

    def line(self) -> str:
        """By its `LINE`; without one its kind and its texts."""
        return self.LINE.format(self) if self.LINE else " ".join([f"{kind_of(self)}:", *texts_of(self).values()])

    @classmethod
    def upcast(cls, fact: Fact, was: FormerFact) -> Self:
        """The event of what it was. Raises `ValueError` for what it cannot have been."""
        fields: dict[str, Any] = {**fact.numbers, was.subject: fact.subject}
        text = json.loads(fact.text) if was.is_json else fact.text
        fields |= text if was.is_json and not was.text and isinstance(text, dict) else {was.text: text}
        return adapter(cls).validate_python(fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownEvent(Event):
    """An event this version has no type for, or cannot read as the type it has."""

    LINE: ClassVar[str] = "{0.kind}: {0.body}"
    kind: str
    body: str
    """The JSON as it is stored."""


def _kebab(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


_NOT_OURS: Final = (Event, _WorkflowEvent, _StepEvent, RoomEvent, UnknownEvent)
EVENT_TYPES: Final[tuple[type[Event], ...]] = tuple(
    each
    for each in tuple(globals().values())
    if isinstance(each, type) and issubclass(each, Event) and each not in _NOT_OURS
)
"""The journal's own."""
_KINDS: Final[dict[type, str]] = {event: _kebab(event.__name__) for event in EVENT_TYPES}
# msgspec, not pydantic: a batch of events must cost little more than their bare INSERT (design 012).
_DECODERS: Final[dict[str, msgspec.json.Decoder[Any]]] = {
    kind: msgspec.json.Decoder(event) for event, kind in _KINDS.items()
}
_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An event where it stands: in a stream, under a number, at a time."""

    stream: str
    sequence: int
    """1, 2, 3 … in each stream, without a gap."""
    at_ms: int
    """When it was written, in milliseconds since 1970."""
    event: Event
    link: str
    """Its link of the hash chain, in hexadecimal."""
    key: str = ""

    def json(self) -> dict[str, Any]:
        """As plain JSON values, for an export."""
        event = self.event
        return {
            "stream": self.stream,
            "sequence": self.sequence,
            "at_ms": self.at_ms,
            "kind": kind_of(event),
            "key": self.key,
            "event": {"body": event.body} if isinstance(event, UnknownEvent) else json.loads(encode(event)),
            "link": self.link,
        }


def kind_of(event: Event) -> str:
    """Under which name an event is kept."""
    return event.kind if isinstance(event, UnknownEvent) else kind_of_type(type(event))


def kind_of_type(event_type: type[Event]) -> str:
    """Under which name its events are kept."""
    return _KINDS.get(event_type) or _kebab(event_type.__name__)


def encode(event: Event) -> bytes:
    """The event as it is kept, without its kind."""
    match event:
        case RoomEvent():
            return adapter(type(event)).dump_json(event)
        case UnknownEvent(body=body):
            return body.encode()
        case _:
            return _encode(event)


class EventTypes:
    """How stored events are read: as the journal's own, or as those of upper rooms."""

    def __init__(self, rooms: Iterable[type[RoomEvent]] = ()) -> None:
        self._rooms: dict[str, type[RoomEvent]] = {_kebab(each.__name__): each for each in rooms}
        self._former = {each.WAS.topic: each for each in self._rooms.values() if each.WAS is not None}

    def decode(self, kind: str, body: str) -> Event:
        """The event of what was kept. Raises `Defect` for one of the journal's own that no version has written."""
        if kind in self._rooms:
            try:
                return adapter(self._rooms[kind]).validate_json(body)
            except ValueError:
                return UnknownEvent(kind=kind, body=body)
        decoder = _DECODERS.get(kind)
        if decoder is None:
            return UnknownEvent(kind=kind, body=body)
        try:
            event: Event = decoder.decode(body)
        except msgspec.DecodeError as error:
            raise Defect(f"Unreadable event {kind!r}: {error}.", hint=remedy("verify_journal")) from error
        return self._upcast(event) if isinstance(event, Fact) else event

    def _upcast(self, fact: Fact) -> Event:
        known = self._former.get(fact.topic)
        if known is None or known.WAS is None:
            return fact
        try:
            return known.upcast(fact, known.WAS)
        except ValueError:
            return fact


def texts_of(event: Event) -> dict[str, str]:
    """Its texts by their fields, but for empty ones."""
    values = ((item.name, getattr(event, item.name)) for item in dataclasses.fields(event))
    return {name: value for name, value in values if isinstance(value, str) and value}
