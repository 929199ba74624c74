"""What events add up to: pure folds, each from a view and one more event to the next view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from cellwright.journal.events import CostRecorded, Recorded, RoomEvent

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
    event = recorded.event
    workflow = "" if isinstance(event, RoomEvent) else getattr(event, "workflow", "")
    entry = TimelineEntry(sequence=recorded.sequence, at_ms=recorded.at_ms, workflow=workflow, text=event.line())
    return (*view, entry)


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
