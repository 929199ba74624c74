"""What a run tells whoever watches: its goal, its stages, its plan, its cells; and how that is read again.

Everything stands in the run's own stream as facts, so every door sees the same, while it works and years later.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

from cellwright.journal import CostRecorded, Fact, Recorded, TaskChanged, stream_of
from cellwright.runs.delivery import Comparison, Delivery, comparison_json, delivery_json, parse_delivery
from cellwright.runs.goal import Goal, goal_json, parse_goal
from cellwright.runs.plan import Plan, Task, parse_plan, plan_json

Stage = Literal["queued", "brief", "agree", "build", "check", "deliver", "over"]
STAGES: Final[tuple[Stage, ...]] = get_args(Stage)
GOAL: Final = "run"
STAGE: Final = "stage"
PLAN: Final = "plan"
CELL: Final = "cell"
WAITS: Final = "waits"
FILES: Final = "files"
DELIVERY: Final = "delivery"
COMPARED: Final = "compared"


def goal_told(goal: Goal) -> Fact:
    """What the run is for."""
    return Fact(topic=GOAL, subject=goal.words[:300], text=json.dumps(goal_json(goal), ensure_ascii=False))


def stage_told(stage: Stage, note: str = "") -> Fact:
    """How far it has come."""
    return Fact(topic=STAGE, subject=stage, text=note)


def plan_told(plan: Plan) -> Fact:
    """The whole plan, as it is from now on."""
    return Fact(topic=PLAN, subject=plan.title[:300], text=json.dumps(plan_json(plan), ensure_ascii=False))


def task_told(task: Task) -> TaskChanged:
    """How one task stands."""
    return TaskChanged(task=task.id, title=task.title, state=task.status, note=task.note)


def cell_told(name: str, status: str, seconds: float) -> Fact:
    """A cell came to its end."""
    return Fact(topic=CELL, subject=name, text=status, numbers={"seconds": round(seconds, 3)})


def compared_told(comparison: Comparison) -> Fact:
    """The alternatives of a task, best first."""
    text = json.dumps(comparison_json(comparison), ensure_ascii=False)
    return Fact(topic=COMPARED, subject=comparison.task, text=text)


def waits_told(why: str) -> Fact:
    """It waits, but not for a person."""
    return Fact(topic=WAITS, subject=why)


def files_told(said: str) -> Fact:
    """What did not become part of the project of the files its notebook changed, where no delivery says it."""
    return Fact(topic=FILES, subject=said)


def delivery_told(delivery: Delivery) -> Fact:
    """What was handed over in the end."""
    text = json.dumps(delivery_json(delivery), ensure_ascii=False)
    return Fact(topic=DELIVERY, subject=delivery.status, text=text)


# ── reading it again ──


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run as its stream tells of it."""

    goal: Goal | None = None
    stage: Stage = "queued"
    note: str = ""
    plan: Plan | None = None
    cell: str = ""
    """The last cell that ended, and how."""
    waits: str = ""
    files: str = ""
    """What became of the files its notebook changed, if its delivery does not say so."""
    microdollars: int = 0
    tokens: int = 0
    is_price_known: bool = True
    delivery: Delivery | None = None


def view(before: RunView, recorded: Recorded) -> RunView:
    """One more event."""
    match recorded.event:
        case Fact(topic="run", text=text):
            return replace(before, goal=parse_goal(json.loads(text)), waits="")
        case Fact(topic="stage", subject=stage, text=note) if stage in STAGES:
            return replace(before, stage=stage, note=note, waits="")
        case Fact(topic="plan", text=text):
            return replace(before, plan=parse_plan(json.loads(text)))
        case Fact(topic="cell", subject=name, text=status):
            return replace(before, cell=f"{name}: {status}")
        case Fact(topic="waits", subject=why):
            return replace(before, waits=why)
        case Fact(topic="files", subject=said):
            return replace(before, files=f"{before.files} {said}".lstrip())
        case Fact(topic="delivery", text=text):
            return replace(before, delivery=parse_delivery(json.loads(text)), waits="")
        case TaskChanged() as event if before.plan is not None and (task := before.plan.find(event.task)):
            changed = replace(task, status=event.state, note=event.note)
            return replace(before, plan=before.plan.with_task(changed))
        case CostRecorded() as event:
            return replace(
                before,
                microdollars=before.microdollars + event.microdollars,
                tokens=before.tokens + event.input_tokens + event.output_tokens,
                is_price_known=before.is_price_known and event.is_price_known,
            )
        case _:
            return before


ReadStream = Callable[[str], AsyncIterable[Recorded]]


async def read_view(read: ReadStream, run: str) -> RunView:
    """The run as it stands now."""
    seen = RunView()
    async for recorded in read(stream_of(run)):
        seen = view(seen, recorded)
    return seen


async def told_plan(read: ReadStream, run: str) -> Plan | None:
    """The plan as it stands now; None before there is one."""
    return (await read_view(read, run)).plan


def view_json(seen: RunView) -> dict[str, Any]:
    """As plain values, for `--json` and other programs."""
    return {
        "goal": None if seen.goal is None else goal_json(seen.goal),
        "stage": seen.stage,
        "note": seen.note,
        "plan": None if seen.plan is None else plan_json(seen.plan),
        "cell": seen.cell,
        "waits": seen.waits,
        "files": seen.files,
        "microdollars": seen.microdollars,
        "tokens": seen.tokens,
        "delivery": None if seen.delivery is None else delivery_json(seen.delivery),
    }
