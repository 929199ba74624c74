"""What can be told: one closed set of events, made of ids, text and numbers only.

An event is kept as JSON under its kind, the class name in kebab-case. Fields may be added with a default; a field that
is removed is ignored in what was written before.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

import msgspec

from cellwright.errors import Defect
from cellwright.remedies import remedy

Outcome = Literal["done", "failed", "cancelled", "dead"]
"""`dead`: given up after too many recoveries without progress; a person can resume it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """A run, or a workflow inside one, began."""

    workflow: str
    name: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecovered:
    """The worker that ran it is gone; it continues at the first step without a result."""

    workflow: str
    lost_worker: str
    attempt: int
    """How often in a row without a new step having finished."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunForked:
    """This run goes on from another one's steps."""

    workflow: str
    forked_from: str
    from_step: int
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResumed:
    """A person, or a program for them, let it go on."""

    workflow: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """A run, or a workflow inside one, came to its end."""

    workflow: str
    name: str
    outcome: Outcome
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted:
    """A step is about to do its work. A second one for the same step means the first was cut off."""

    workflow: str
    step: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFinished:
    """A step's result is recorded; told in the same transaction."""

    workflow: str
    step: int
    name: str
    milliseconds: int
    effect: str = ""
    """The idempotency key, if the step changed the world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepErred:
    """A step's error is recorded; told in the same transaction."""

    workflow: str
    step: int
    name: str
    milliseconds: int
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectInDoubt:
    """A change of the world was begun and never confirmed: it may or may not have happened."""

    workflow: str
    name: str
    effect: str
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked:
    """A run waits for a person."""

    workflow: str
    question: str
    topic: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswered:
    """The person said."""

    question: str
    answer: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionWithdrawn:
    """Nobody needs to answer any more."""

    question: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskChanged:
    """A task of a plan was planned, begun, or came to its end."""

    task: str
    title: str
    state: Literal["planned", "running", "done", "failed", "dropped"]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRecorded:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecorded:
    """Who did what, under which rule, with which result."""

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
class Fact:
    """Anything else a room wants told, e.g. a cell that finished."""

    topic: str
    subject: str
    text: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict[str, float])


Event = (
    RunStarted
    | RunRecovered
    | RunForked
    | RunResumed
    | RunEnded
    | StepStarted
    | StepFinished
    | StepErred
    | EffectInDoubt
    | QuestionAsked
    | QuestionAnswered
    | QuestionWithdrawn
    | TaskChanged
    | CostRecorded
    | AuditRecorded
    | Fact
)


def _kebab(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


EVENT_TYPES: Final[tuple[type[Event], ...]] = get_args(Event)
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
        return {
            "stream": self.stream,
            "sequence": self.sequence,
            "at_ms": self.at_ms,
            "kind": kind_of(self.event),
            "key": self.key,
            "event": dataclasses.asdict(self.event),
            "link": self.link,
        }


def kind_of(event: Event) -> str:
    """Under which name an event is kept."""
    return _KINDS[type(event)]


def encode(event: Event) -> bytes:
    """The event as it is kept, without its kind."""
    return _encode(event)


def decode(kind: str, body: str) -> Event:
    """The event of what was kept. Raises `Defect` for what no version of ours has written."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        raise Defect(f"Unknown event {kind!r}.", hint="Was it written by a newer Cellwright? Then upgrade this one.")
    try:
        return decoder.decode(body)
    except msgspec.DecodeError as error:
        raise Defect(f"Unreadable event {kind!r}: {error}.", hint=remedy("verify_journal")) from error


def with_text(event: Event, change: Callable[[str], str]) -> Event:
    """The event with every text changed, e.g. masked; ids and names are texts too."""
    changed: dict[str, Any] = {name: change(value) for name, value in _texts(event).items()}
    if isinstance(event, Fact) and event.numbers:
        changed["numbers"] = {change(name): number for name, number in event.numbers.items()}
    return dataclasses.replace(event, **changed)


def _texts(event: Event) -> dict[str, str]:
    values = ((item.name, getattr(event, item.name)) for item in dataclasses.fields(event))
    return {name: value for name, value in values if isinstance(value, str) and value}
