"""A run as its events tell of it: the one view every interface reads, and which runs there are.

Everything stands in the run's own stream, so every interface sees the same, while it works and years later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from cellwright.agents.events import AgentSpoke, EvidenceNoted
from cellwright.errors import UserError
from cellwright.journal.events import (
    AuditRecorded,
    CostRecorded,
    Event,
    QuestionAnswered,
    QuestionAsked,
    Recorded,
    RunEnded,
    RunForked,
    RunRecovered,
    RunResumed,
    RunStarted,
    StepErred,
    StepFinished,
    StepStarted,
    TaskChanged,
)
from cellwright.journal.names import stream_of
from cellwright.journal.projections import Cost, cost
from cellwright.journal.records import Records, RunStatus
from cellwright.policy.display_text import shown
from cellwright.remedies import remedy
from cellwright.runs.deliver.delivery import Delivery
from cellwright.runs.events import (
    CellReported,
    ChangeReviewed,
    CheckDisputed,
    DocumentExtracted,
    FilesNotKept,
    FindingJudged,
    GoalSet,
    HandedOff,
    PlanAdopted,
    QuestionsRaised,
    RunDelivered,
    RunStage,
    RunWaiting,
    StageEntered,
)
from cellwright.runs.goal.goal import Goal
from cellwright.runs.plan.plan import Plan
from cellwright.runs.review.findings import ReviewQuestion
from cellwright.runs.views.branch_views import BranchView, BranchViews, add_branch_event
from cellwright.tools.evidence.card import EvidenceCard
from cellwright.tools.notebook.trial_records import BranchDropped, TrialRecord

_LINE_LIMIT: Final = 160
_NO_STEPS: Final = frozenset[tuple[str, int]]()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """What a run's events add up to. The events of any other workflow do, too, as far as they are the same."""

    run: str
    goal: Goal | None = None
    stage: RunStage = "queued"
    note: str = ""
    plan: Plan | None = None
    tasks: Mapping[str, TaskChanged] = field(default_factory=dict[str, TaskChanged])
    """The last word about each, by its id."""
    noted: frozenset[tuple[str, str, str]] = frozenset()
    """What readers have found while it was read: sub-goal, document and card of each."""
    cell: str = ""
    """The last cell that ended, and how."""
    waits: str = ""
    files: str = ""
    """What became of the files its notebook changed, if its delivery does not say so."""
    spent: Cost = field(default_factory=Cost)
    is_price_known: bool = True
    unpriced_tokens: int = 0
    """Tokens of calls that nobody put a price on."""
    began_ms: int = 0
    """0: nothing was told yet."""
    last_ms: int = 0
    now: str = ""
    """What is being done, in one line."""
    steps_done: int = 0
    steps_running: frozenset[tuple[str, int]] = _NO_STEPS
    """The workflow and number of each step in flight."""
    outcome: Literal["going", "done", "failed", "cancelled", "dead"] = "going"
    ended: str = ""
    """What was said about its end; empty while it goes on, and for one that is done."""
    delivery: Delivery | None = None
    agents: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Who has begun each task, by its id."""
    spent_by: Mapping[str, Cost] = field(default_factory=dict[str, Cost])
    """What each workflow cost."""
    handed: Mapping[str, HandedOff] = field(default_factory=dict[str, HandedOff])
    """What each task left to others, by its id."""
    findings: Mapping[int, FindingJudged] = field(default_factory=dict[int, FindingJudged])
    """The last word about each thing that did not hold, by its number."""
    questions: tuple[ReviewQuestion, ...] = ()
    """What the data raises."""
    disputes: tuple[CheckDisputed, ...] = ()
    """What builders said against acceptance tests, and what was decided."""
    branches: BranchViews = field(default_factory=dict[str, BranchView])
    reviews: Mapping[tuple[str, str], ChangeReviewed] = field(default_factory=dict[tuple[str, str], ChangeReviewed])
    """By the call that made the change, and the cell. The last word counts."""
    made_ms: Mapping[str, int] = field(default_factory=dict[str, int])
    """When each call that changed something was done."""

    @property
    def microdollars(self) -> int:
        """What it cost, as far as prices are known."""
        return self.spent.microdollars

    @property
    def tokens(self) -> int:
        """What models read and wrote."""
        return self.spent.input_tokens + self.spent.output_tokens

    @property
    def cost(self) -> str:
        """In dollars; what has no known price is said to have none."""
        unpriced = f"price unknown of {self.unpriced_tokens:,} tokens" if self.unpriced_tokens else ""
        if unpriced and not self.microdollars:
            return unpriced
        return dollars(self.microdollars) + (f" + {unpriced}" if unpriced else "")

    def change_made_ms(self, key: str) -> int | None:
        """When the change was made; calls inside a program were done with it."""
        return self.made_ms.get(key, self.made_ms.get(key.rpartition(".")[0]))


def update_view(before: RunView, recorded: Recorded) -> RunView:
    """One more event."""
    now = _now(recorded.event, before.run)
    return replace(
        before,
        began_ms=before.began_ms or recorded.at_ms,
        last_ms=recorded.at_ms,
        now=before.now if now is None else now,
        **_work_changes(before, recorded),
        **_course_changes(before, recorded.event),
    )


_Changes = dict[str, Any]
"""Fields of a view and their new values: one copy of it per event is enough, long runs have thousands."""


def _work_changes(before: RunView, recorded: Recorded) -> _Changes:
    """What it is for, what it does and what came of it."""
    match recorded.event:
        case GoalSet(goal=goal):
            return {"goal": goal, "waits": ""}
        case StageEntered(stage=stage, note=note):
            return {"stage": stage, "note": note, "waits": ""}
        case PlanAdopted(plan=plan):
            return {"plan": plan}
        case TaskChanged() as event:
            return _task_changes(before, event)
        case EvidenceNoted(card=card) if before.stage == "build":
            return _evidence_changes(before, card)
        case DocumentExtracted(number=number, of=of):
            return {"note": f"{number:,} of {of:,} documents"}
        case CellReported(name=name, status=status):
            return {"cell": f"{name}: {status}"}
        case RunWaiting(why=why):
            return {"waits": why}
        case FilesNotKept(text=text):
            return {"files": f"{before.files} {text}".lstrip()}
        case RunDelivered(delivery=delivery):
            return {"delivery": delivery, "waits": ""}
        case CostRecorded() as event:
            return _cost_changes(before, recorded, event)
        case HandedOff(handed=handed) as event:
            return {"handed": {**before.handed, handed.task: event}}
        case FindingJudged(number=number) as event:
            return {"findings": {**before.findings, number: event}}
        case QuestionsRaised(questions=questions):
            return {"questions": questions}
        case CheckDisputed() as event:
            return {"disputes": (*before.disputes, event)}
        case ChangeReviewed(change=key, cell=cell) as event:
            return {"reviews": {**before.reviews, (key, cell): event}}
        case TrialRecord() | BranchDropped() | QuestionAsked() | QuestionAnswered():
            return {"branches": add_branch_event(before.branches, recorded)}
        case StepFinished(effect=effect) if effect:
            return {"made_ms": {**before.made_ms, effect: recorded.at_ms}}
        case _:
            return {}


def _task_changes(before: RunView, event: TaskChanged) -> _Changes:
    plan, task = before.plan, None if before.plan is None else before.plan.find(event.task)
    if plan is not None and task is not None:
        plan = plan.with_task(replace(task, status=event.state, note=event.note))
    agents = before.agents
    if event.agent and event.agent not in (known := agents.get(event.task, ())):
        agents = {**agents, event.task: (*known, event.agent)}
    return {"plan": plan, "tasks": {**before.tasks, event.task: event}, "agents": agents}


def _evidence_changes(before: RunView, card: EvidenceCard) -> _Changes:
    noted = before.noted | {(card.task, card.source, card.id)}
    task = next((each for each in before.plan.tasks if each.title == card.task), None) if before.plan else None
    if before.plan is None or task is None or task.status != "running":
        return {"noted": noted}
    return {"noted": noted, "plan": before.plan.with_task(replace(task, note=noted_words(noted, card.task)))}


def noted_words(noted: Collection[tuple[str, str, str]], title: str) -> str:
    """How far the reading for a sub-goal is."""
    own = [each for each in noted if each[0] == title]
    cards, documents = len(own), len({document for _, document, _ in own})
    return f"{cards:,} card{'' if cards == 1 else 's'} from {documents:,} document{'' if documents == 1 else 's'}"


def _cost_changes(before: RunView, recorded: Recorded, event: CostRecorded) -> _Changes:
    unpriced = 0 if event.is_price_known else event.input_tokens + event.output_tokens
    return {
        "spent": cost(before.spent, recorded),
        "spent_by": {
            **before.spent_by,
            event.workflow: cost(before.spent_by.get(event.workflow, Cost()), recorded),
        },
        "is_price_known": before.is_price_known and event.is_price_known,
        "unpriced_tokens": before.unpriced_tokens + unpriced,
    }


def _course_changes(before: RunView, event: Event) -> _Changes:
    """Its steps, and whether it goes on."""
    match event:
        case StepStarted(workflow=workflow, step=step):
            return {"steps_running": before.steps_running | {(workflow, step)}}
        case StepFinished(workflow=workflow, step=step) | StepErred(workflow=workflow, step=step):
            return {"steps_done": before.steps_done + 1, "steps_running": before.steps_running - {(workflow, step)}}
        case RunRecovered(workflow=workflow) | RunResumed(workflow=workflow) | RunForked(workflow=workflow):
            ended = "" if workflow == before.run and not isinstance(event, RunForked) else before.ended
            return {"outcome": "going", "ended": ended, "steps_running": _NO_STEPS}
        case RunEnded(workflow=before.run, outcome=outcome, error=error):
            return {"outcome": outcome, "ended": error, "steps_running": _NO_STEPS}
        case _:
            return {}


def _now(event: Event, run: str) -> str | None:
    """What somebody is busy with from here on; None: as before."""
    match event:
        case StepStarted(name=name):
            return _step(name)
        case RunStarted(workflow=workflow, name=name) if workflow != run:
            return f"{shown(name)} begins"
        case CellReported(name=name, status=status):
            return short_line(f"cell {name}: {status}")
        case AgentSpoke(text=text):
            return short_line(text)
        case RunEnded(workflow=workflow) if workflow == run:
            return ""
        case _:
            return None


def _step(name: str) -> str:
    verb, _, rest = name.partition(" ")
    match verb:
        case "think":
            return "thinks"
        case "tool":
            return f"uses {short_line(rest)}"
        case "ask":
            return "waits for an answer"
        case "look":
            return "looks at the notebook"
        case _:
            return short_line(name)


def dollars(microdollars: int) -> str:
    """Money as people write it."""
    return f"${microdollars / 1e6:.4f}" if microdollars < 1_000_000 else f"${microdollars / 1e6:.2f}"


def short_line(text: str) -> str:
    """On one line, nothing hidden, not too long: agents wrote it."""
    line = shown(" ".join(text.split()))
    return line if len(line) <= _LINE_LIMIT else f"{line[: _LINE_LIMIT - 1]}…"


ReadStream = Callable[[str], AsyncIterable[Recorded]]


async def read_view(read: ReadStream, run: str) -> RunView:
    """The run as it stands now."""
    seen = RunView(run=run)
    async for recorded in read(stream_of(run)):
        seen = update_view(seen, recorded)
    return seen


async def read_listed_views(records: Records, runs: Sequence[str]) -> dict[str, RunView]:
    """As much of them as one line about each needs: most events, those of steps, are not read."""
    seen: dict[str, RunView] = {stream_of(run): RunView(run=run) for run in runs}
    async for recorded in records.log.read_some(list(seen), without=_NOT_LISTED):
        seen[recorded.stream] = update_view(seen[recorded.stream], recorded)
    return {view.run: view for view in seen.values()}


_NOT_LISTED: Final = (StepStarted, StepFinished, AuditRecorded)
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
    beginning = await records.log.read(stream_of(run), limit=_BEGINNING)
    return next((each.event.goal for each in beginning if isinstance(each.event, GoalSet)), None)


async def newest_first(records: Records, runs: Sequence[RunStatus]) -> list[RunStatus]:
    """The runs in the order they began; of one second, which is all the engine keeps, the one that told so last."""
    crowded = {second for second, number in Counter(each.created_ms for each in runs).items() if number > 1}
    began = {each.run: await _first_event_ms(records, each.run) for each in runs if each.created_ms in crowded}
    return sorted(runs, key=lambda each: (each.created_ms, began.get(each.run, 0)), reverse=True)


async def _first_event_ms(records: Records, run: str) -> int:
    first = await records.log.read(stream_of(run), limit=1)
    return first[0].at_ms if first else 0
