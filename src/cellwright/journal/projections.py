"""What events add up to: pure folds, each from a view and one more event to the next view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, assert_never

from cellwright.journal.events import (
    AuditRecorded,
    CostRecorded,
    EffectInDoubt,
    Event,
    Fact,
    QuestionAnswered,
    QuestionAsked,
    QuestionWithdrawn,
    Recorded,
    RoomEvent,
    RunEnded,
    RunForked,
    RunRecovered,
    RunResumed,
    RunStarted,
    StepErred,
    StepFinished,
    StepStarted,
    TaskChanged,
    UnknownEvent,
)

V = TypeVar("V")


def fold(step: Callable[[V, Recorded], V], view: V, events: Iterable[Recorded]) -> V:
    """The view after all these events."""
    for event in events:
        view = step(view, event)
    return view


# ── timeline ──


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """One line of a timeline."""

    sequence: int
    at_ms: int
    workflow: str
    text: str


Timeline = tuple[TimelineEntry, ...]


def timeline(view: Timeline, recorded: Recorded) -> Timeline:
    """One more line."""
    workflow, text = _event_text(recorded.event)
    return (*view, TimelineEntry(sequence=recorded.sequence, at_ms=recorded.at_ms, workflow=workflow, text=text))


def _event_text(event: Event) -> tuple[str, str]:
    """Whose event it is, and the event in words."""
    match event:
        case RunStarted():
            return event.workflow, f"{event.name} started"
        case RunRecovered():
            return event.workflow, f"taken over from {event.lost_worker}"
        case RunForked():
            return event.workflow, f"forked from {event.forked_from} at step {event.from_step}"
        case RunResumed():
            return event.workflow, f"resumed{f' by {event.by}' if event.by else ''}"
        case RunEnded():
            return event.workflow, f"{event.name} {event.outcome}{f': {event.error}' if event.error else ''}"
        case StepStarted():
            return event.workflow, f"{event.name} …"
        case StepFinished():
            return event.workflow, f"{event.name} done in {event.milliseconds} ms"
        case StepErred():
            return event.workflow, f"{event.name} failed: {event.error}"
        case EffectInDoubt():
            return event.workflow, f"{event.name} may or may not have happened"
        case QuestionAsked():
            return event.workflow, f"asked: {event.text}"
        case QuestionAnswered():
            return "", f"{event.by} answered: {event.answer}"
        case QuestionWithdrawn():
            return "", f"question withdrawn: {event.reason}"
        case TaskChanged():
            return "", f"task {event.title}: {event.state}"
        case CostRecorded():
            return event.workflow, f"{event.what} cost ${event.microdollars / 1e6:.4f}"
        case AuditRecorded():
            return "", f"{event.person}: {event.what} [{event.verdict}] {event.result}"
        case Fact():
            return "", f"{event.topic}: {event.subject}{f' {event.text}' if event.text else ''}"
        case RoomEvent():
            return "", event.line()
        case UnknownEvent():
            return "", f"{event.kind}: {event.body}"
        case _:
            assert_never(event)


# ── cost ──


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What was spent."""

    microdollars: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    by_what: Mapping[str, int] = field(default_factory=dict[str, int])
    """Microdollars of each model, kernel …"""


def cost(view: Cost, recorded: Recorded) -> Cost:
    """One more expense."""
    event = recorded.event
    if not isinstance(event, CostRecorded):
        return view
    return Cost(
        microdollars=view.microdollars + event.microdollars,
        input_tokens=view.input_tokens + event.input_tokens,
        output_tokens=view.output_tokens + event.output_tokens,
        seconds=view.seconds + event.seconds,
        by_what={**view.by_what, event.what: view.by_what.get(event.what, 0) + event.microdollars},
    )


# ── audit ──


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """An audit entry where it stands."""

    stream: str
    sequence: int
    at_ms: int
    entry: AuditRecorded


Audit = tuple[AuditLine, ...]


def audit(view: Audit, recorded: Recorded) -> Audit:
    """One more entry."""
    event = recorded.event
    if not isinstance(event, AuditRecorded):
        return view
    line = AuditLine(stream=recorded.stream, sequence=recorded.sequence, at_ms=recorded.at_ms, entry=event)
    return (*view, line)
