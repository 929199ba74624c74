"""Runs as they go over HTTP: one line of many, everything about one, and what can be said to one."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, get_args

from pydantic import Field, StringConstraints

from cellwright.journal import Standing
from cellwright.journal.engine_tables import RunState
from cellwright.runs.delivery import Delivery
from cellwright.runs.delivery import Status as DeliveryStatus
from cellwright.runs.goal import Approve, Goal
from cellwright.runs.goal_reading import LONGEST
from cellwright.runs.plan import Plan, Task
from cellwright.runs.telling import Stage
from cellwright.server.web.shapes.questions import AskedQuestion
from cellwright.server.web.shapes.shape import Body, Shape

PathText = Annotated[str, StringConstraints(min_length=1, max_length=1_000, pattern=r"^[^\x00]+$")]
ReasonText = Annotated[str, StringConstraints(max_length=1_000)]
Status = Literal[DeliveryStatus, "waiting", "paused", Stage]
StatusFilter = Literal["", Status, RunState]
STATUSES: Final[frozenset[str]] = frozenset(get_args(Status))
"""What a run's `status` may be."""


class RunCommon(Shape):
    """What a line and a detail have in common."""

    run: str
    status: str
    """In one word: the delivery's status, `waiting`, `paused`, or the stage it is in."""
    standing: Standing
    stage: Stage
    notebook: str
    person: str
    microdollars: int
    unpriced_tokens: int
    """Tokens of calls that nobody put a price on."""
    began_ms: int
    seconds: float


class RunLine(RunCommon):
    """One run of many."""

    goal: str
    questions: int
    """How many wait for an answer."""


class RunLines(Shape):
    """Runs, the newest first."""

    runs: list[RunLine]
    next: str | None
    """`before` of the next page; null: there is none."""


class ProofShape(Shape):
    """The proof that the notebook ran from scratch, twice, with the same outputs."""

    path: str
    is_valid: bool
    """Our own key signed it and the notebook's code is the same; data and packages are not compared here."""
    says: str


class RunDetail(RunCommon):
    """Everything about one run."""

    goal: Goal | None
    note: str
    plan: Plan | None
    cell: str
    """The last cell that ended, and how."""
    waits: str
    """What it waits for, if not for a person."""
    files: str
    """Files its notebook changed that were not kept, where the delivery does not say so."""
    tokens: int
    questions: list[AskedQuestion]
    steps: int
    agents: list[str]
    cost: str
    """In words."""
    delivery: Delivery | None
    proof: ProofShape | None
    notebook_is_live: bool


class NewRun(Body):
    """A goal, and how it is to be reached. Paths are relative to the folder that is served, and inside it."""

    goal: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST)]
    data: tuple[PathText, ...] = Field(default=(), max_length=100)
    """Files and folders, or `NAME=PATH`."""
    models: tuple[Annotated[str, StringConstraints(max_length=200)], ...] = Field(default=(), max_length=20)
    """`provider:model`, the first that answers; or `analyst`, which needs none."""
    budget_usd: Annotated[str, StringConstraints(max_length=40)] | None = None
    approve: Approve = "ask"
    is_private: bool = False
    notebook: PathText | None = None
    """Extend this notebook, or make it; null: a new one, named after the goal."""
    priority: Annotated[int, Field(ge=-1_000, le=1_000)] = 0


class RunName(Shape):
    """A run."""

    run: str


class RunNote(Shape):
    """The run that was meant, or begun, and what happens now."""

    run: str
    note: str


class Nothing(Body):
    """Nothing needs to be said."""


class Reason(Body):
    """Why, for the record."""

    reason: ReasonText = ""


class RetryBody(Body):
    """Which task is done again."""

    task: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    budget_usd: Annotated[str, StringConstraints(max_length=40)] | None = None
    """The cap of the run that continues one that is over; null: as it was."""


class ForkBody(Body):
    """From where the new run goes on."""

    from_step: Annotated[int, Field(ge=1, le=1_000_000)] | None = None


class SayBody(Body):
    """What the agents should know before their next step."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=7_000)]
    cell: Annotated[str, StringConstraints(min_length=1, max_length=100)] | None = None
    """The cell it is about, as the notebook names it."""


class GoalBody(Body):
    """What is wanted instead."""

    words: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST)]


TaskName = Annotated[str, StringConstraints(min_length=1, max_length=100)]
TaskText = Annotated[str, StringConstraints(max_length=8_000)]


class AddTaskBody(Body):
    """One more task."""

    op: Literal["add"]
    task: Task


class ChangeTaskBody(Body):
    """Another title or another work; only of a task that is not over."""

    op: Literal["change"]
    task: TaskName
    title: TaskText = ""
    todo: TaskText = ""


class DropTaskBody(Body):
    """Do without it."""

    op: Literal["drop"]
    task: TaskName


class RetryTaskBody(Body):
    """Do it again."""

    op: Literal["retry"]
    task: TaskName


PlanEditBody = Annotated[AddTaskBody | ChangeTaskBody | DropTaskBody | RetryTaskBody, Field(discriminator="op")]


class RecordedEvent(Shape):
    """An event where it stands."""

    stream: str
    sequence: int
    at_ms: int
    kind: str
    key: str
    event: dict[str, Any]
    link: str


class Timeline(Shape):
    """Events of one run, in order."""

    events: list[RecordedEvent]
    last: int
    """The number of the last of them; `after` of the next page."""
