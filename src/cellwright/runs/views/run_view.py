"""A run as its events tell of it.

The events of its goal, stages, plan and cells, the view they add up to, and which runs there are.

Everything stands in the run's own stream, so every interface sees the same, while it works and years later.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

from cellwright.errors import UserError
from cellwright.journal import CostRecorded, Fact, Recorded, Records, RunStatus, TaskChanged, stream_of
from cellwright.remedies import remedy
from cellwright.runs.deliver.delivery import Comparison, Delivery, comparison_json, delivery_json, parse_delivery
from cellwright.runs.goal.goal import Goal, goal_json, parse_goal
from cellwright.runs.plan.plan import Plan, Task, parse_plan, plan_json

RunStage = Literal["queued", "brief", "agree", "build", "check", "deliver", "over"]
STAGES: Final[tuple[RunStage, ...]] = get_args(RunStage)
GOAL: Final = "run"
STAGE: Final = "stage"
PLAN: Final = "plan"
CELL: Final = "cell"
WAITS: Final = "waits"
FILES: Final = "files"
DELIVERY: Final = "delivery"
COMPARED: Final = "compared"


def goal_event(goal: Goal) -> Fact:
    """What the run is for."""
    return Fact(topic=GOAL, subject=goal.words[:300], text=json.dumps(goal_json(goal), ensure_ascii=False))


def stage_event(stage: RunStage, note: str = "") -> Fact:
    """How far it has come."""
    return Fact(topic=STAGE, subject=stage, text=note)


def plan_event(plan: Plan) -> Fact:
    """The whole plan, as it is from now on."""
    return Fact(topic=PLAN, subject=plan.title[:300], text=json.dumps(plan_json(plan), ensure_ascii=False))


def task_event(task: Task) -> TaskChanged:
    """How one task stands."""
    return TaskChanged(task=task.id, title=task.title, state=task.status, note=task.note)


def cell_event(name: str, status: str, seconds: float) -> Fact:
    """A cell came to its end."""
    return Fact(topic=CELL, subject=name, text=status, numbers={"seconds": round(seconds, 3)})


def comparison_event(comparison: Comparison) -> Fact:
    """The alternatives of a task, best first."""
    text = json.dumps(comparison_json(comparison), ensure_ascii=False)
    return Fact(topic=COMPARED, subject=comparison.task, text=text)


def wait_event(why: str) -> Fact:
    """It waits, but not for a person."""
    return Fact(topic=WAITS, subject=why)


def files_event(said: str) -> Fact:
    """What did not become part of the project of the files its notebook changed, where no delivery says it."""
    return Fact(topic=FILES, subject=said)


def delivery_event(delivery: Delivery) -> Fact:
    """What was handed over in the end."""
    text = json.dumps(delivery_json(delivery), ensure_ascii=False)
    return Fact(topic=DELIVERY, subject=delivery.status, text=text)


# ── reading it again ──


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run as its stream tells of it."""

    goal: Goal | None = None
    stage: RunStage = "queued"
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


def update_view(before: RunView, recorded: Recorded) -> RunView:
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
        seen = update_view(seen, recorded)
    return seen


async def read_plan(read: ReadStream, run: str) -> Plan | None:
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


RUN_WORKFLOW: Final = "run"
"""The name of the workflow that turns a goal into a notebook."""
_BEGINNING: Final = 10


def check_is_run(run: str, workflow: str) -> None:
    """Raises `UserError` for a workflow that turns no goal into a notebook."""
    if workflow != RUN_WORKFLOW:
        raise UserError(f"{run!r} is a workflow {workflow!r}, not a run.", hint=remedy("see_journal", run=run))


async def active_notebooks(records: Records) -> set[str]:
    """The notebooks of runs that have not ended, as far as they have told of them."""
    going = [each.run for each in await records.runs() if each.is_going and each.name == RUN_WORKFLOW]
    goals = [await first_goal(records, run) for run in going]
    return {goal.notebook for goal in goals if goal is not None}


async def first_goal(records: Records, run: str) -> Goal | None:
    """What a run was begun for, from the first it told: reading all of a long run takes a while."""
    seen = RunView()
    for recorded in await records.log.read(stream_of(run), limit=_BEGINNING):
        seen = seen if seen.goal is not None else update_view(seen, recorded)
    return seen.goal


async def newest_first(records: Records, runs: Sequence[RunStatus]) -> list[RunStatus]:
    """The runs in the order they began; of one second, which is all the engine keeps, the one that told so last."""
    crowded = {second for second, number in Counter(each.created_ms for each in runs).items() if number > 1}
    began = {each.run: await _first_event_ms(records, each.run) for each in runs if each.created_ms in crowded}
    return sorted(runs, key=lambda each: (each.created_ms, began.get(each.run, 0)), reverse=True)


async def _first_event_ms(records: Records, run: str) -> int:
    first = await records.log.read(stream_of(run), limit=1)
    return first[0].at_ms if first else 0
