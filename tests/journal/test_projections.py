"""What events add up to."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from inline_snapshot import snapshot

from cellwright.journal.events import (
    EVENT_TYPES,
    AuditRecorded,
    CostRecorded,
    Event,
    QuestionAsked,
    Recorded,
    RunRecovered,
    RunStarted,
    StepErred,
    StepFinished,
    StepStarted,
    TaskChanged,
)
from cellwright.journal.projections import Cost, cost, fold, timeline

AUDITED = AuditRecorded(
    run="r", person="ada", action_kind="write-file", what="write a.csv", verdict="allow", basis="default", result="done"
)
STORY: list[Event] = [
    RunStarted(workflow="r", name="build", version="1"),
    TaskChanged(task="t1", title="Load", state="planned"),
    TaskChanged(task="t2", title="Plot", state="planned"),
    StepStarted(workflow="r", step=2, name="load"),
    CostRecorded(what="claude", microdollars=1_500, input_tokens=10, output_tokens=5, workflow="r"),
    StepFinished(workflow="r", step=2, name="load", milliseconds=12),
    TaskChanged(task="t1", title="Load", state="done"),
    StepStarted(workflow="r/plot:1", step=2, name="plot"),
    RunRecovered(workflow="r", lost_worker="w1", attempt=1),
    StepStarted(workflow="r/plot:1", step=2, name="plot"),
    StepErred(workflow="r/plot:1", step=2, name="plot", milliseconds=3, error="ValueError: no data"),
    QuestionAsked(workflow="r", question="r#5", topic="question", text="Go on?"),
    CostRecorded(what="claude", microdollars=500, output_tokens=1),
    CostRecorded(what="kernel", microdollars=0, seconds=2.5),
    AUDITED,
]


def recorded(*events: Event) -> list[Recorded]:
    return [
        Recorded(stream="run:r", sequence=number, at_ms=1_000 + number, event=event, link="")
        for number, event in enumerate(events, start=1)
    ]


def test_the_timeline_says_each_event_in_words() -> None:
    assert [f"{moment.workflow}| {moment.text}" for moment in fold(timeline, (), recorded(*STORY))] == snapshot(
        [
            "r| build started",
            "| task Load: planned",
            "| task Plot: planned",
            "r| load …",
            "r| claude cost $0.0015",
            "r| load done in 12 ms",
            "| task Load: done",
            "r/plot:1| plot …",
            "r| taken over from w1",
            "r/plot:1| plot …",
            "r/plot:1| plot failed: ValueError: no data",
            "r| asked: Go on?",
            "| claude cost $0.0005",
            "| kernel cost $0.0000",
            "| ada: write a.csv [allow] done",
        ]
    )


def test_costs_add_up_and_are_told_apart() -> None:
    assert fold(cost, Cost(), recorded(*STORY)) == Cost(
        microdollars=2_000,
        input_tokens=10,
        output_tokens=6,
        seconds=2.5,
        by_what={"claude": 2_000, "kernel": 0},
    )


def test_every_event_has_words() -> None:
    fields: dict[str, Any] = {"workflow": "w", "outcome": "done", "state": "done", "numbers": {}}
    numbers: dict[str, int] = dict.fromkeys(("attempt", "from_step", "step", "milliseconds", "microdollars"), 1)
    makers: list[Callable[..., Event]] = list(EVENT_TYPES)
    events = recorded(
        *[
            make(**{item: fields.get(item, numbers.get(item, "x")) for item in inspect.signature(make).parameters})
            for make in makers
        ]
    )
    assert all(moment.text for moment in fold(timeline, (), events))
