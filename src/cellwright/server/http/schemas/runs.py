"""Runs as they go over HTTP: one of many, everything about one, its files and questions, what can be sent to one."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, get_args

from pydantic import Field, StringConstraints

from cellwright.journal.engine_tables import RunState
from cellwright.journal.records import Standing
from cellwright.policy.approvals import Reach
from cellwright.runs.deliver.delivery import Delivery, DeliveryStatus
from cellwright.runs.events import RunStage
from cellwright.runs.goal.goal import AnalysisDepth, Approve, Effort, Goal
from cellwright.runs.goal.request import LONGEST
from cellwright.runs.plan.plan import Plan, Task
from cellwright.runs.research.report import ResearchReport
from cellwright.runs.review.findings import FoundBy, ReviewQuestion
from cellwright.runs.review.findings import Standing as FindingStanding
from cellwright.runs.views.team import TaskWork
from cellwright.server.http.schemas.model import RequestModel, ResponseModel
from cellwright.tools.evidence.card import EvidenceCard
from cellwright.tools.evidence.library import EvidenceSource


class AskedStatement(ResponseModel):
    """What would be sent to a database; nothing in it is invisible."""

    connection: str
    access: Literal["read", "write"]
    statement: str
    """As it would be sent."""
    touches: str
    """What a rehearsal of a change showed; empty: there was none."""


class AskedQuestion(ResponseModel):
    """What a run asks."""

    id: str
    run: str
    topic: str
    """`approval`, `budget`, `paused`, or what kind of plain question it is."""
    what: str
    """Everything the person must see."""
    offers: list[str]
    """The answers that are possible; none: any words."""
    fingerprint: str = ""
    """Names exactly what is asked about; goes back with the answer. Empty where none is needed."""
    query: AskedStatement | None = None
    """The same in parts, where it is about a statement for a database."""
    asked_ms: int
    answer_with: str
    """The command that answers it at a terminal."""


class AskedQuestions(ResponseModel):
    """What waits for an answer, oldest first."""

    questions: list[AskedQuestion]


class AnswerBody(RequestModel):
    """A person's answer."""

    answer: Annotated[str, StringConstraints(min_length=1, max_length=8_000)]
    """`yes` or `no`; for a budget `raise 2.50`, `price 0.10`, `uncounted` or `no`; `resume`; or a choice, or words."""
    reach: Reach | None = None
    """With `yes`: how far it reaches; null: no further than it must."""
    fingerprint: Annotated[str, StringConstraints(max_length=200)] = ""
    """Of what the person was shown."""
    feedback: Annotated[str, StringConstraints(max_length=8_000)] = ""
    """With `no`: for the agent."""


class AnswerTaken(ResponseModel):
    """The answer counts."""

    id: str
    says: str


class GrantShape(ResponseModel):
    """A yes that lasts."""

    id: str
    covers: str
    project: str
    reach: Reach
    run: str
    by: str
    door: str
    at_ms: int
    expires_ms: int | None


class GrantList(ResponseModel):
    """Every yes that still allows something."""

    grants: list[GrantShape]


ArtifactKind = Literal["notebook", "report", "proof"]


class Artifact(ResponseModel):
    """One file."""

    name: str
    kind: ArtifactKind
    bytes: int


class Artifacts(ResponseModel):
    """What there is now."""

    artifacts: list[Artifact]


PathText = Annotated[str, StringConstraints(min_length=1, max_length=1_000, pattern=r"^[^\x00]+$")]
ReasonText = Annotated[str, StringConstraints(max_length=1_000)]
Status = Literal[DeliveryStatus, "waiting", "paused", RunStage]
StatusFilter = Literal["", Status, RunState]
STATUSES: Final[frozenset[str]] = frozenset(get_args(Status))
"""What a run's `status` may be."""


class RunCommon(ResponseModel):
    """What a line and a detail have in common."""

    run: str
    status: Status
    """In one word: the delivery's status, `waiting`, `paused`, or the stage it is in."""
    standing: Standing
    stage: RunStage
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


class RunLines(ResponseModel):
    """Runs, the newest first."""

    runs: list[RunLine]
    next: str | None
    """`before` of the next page; null: there is none."""


class ProofShape(ResponseModel):
    """The proof that the notebook ran from scratch, twice, with the same outputs."""

    path: str
    is_valid: bool
    """Our own key signed it and the notebook's code is the same; data and packages are not compared here."""
    says: str


class FindingShape(ResponseModel):
    """Something that does not hold in a run's notebook, as its review told of it last."""

    number: int
    claim: str
    """What the notebook or its answer says."""
    found: str
    """What holds instead."""
    shows: str
    """Python that fails because of it, over the notebook's variables and files."""
    by: FoundBy
    kind: str
    """Of what code finds; empty: a reviewer's."""
    standing: FindingStanding
    """`shown`: its code fails in the notebook. `mended`: it failed, and does not any more. `not shown`: it does not."""
    error: str
    """How it failed."""
    task: str
    """The task that was to mend it."""


class ShownFinding(ResponseModel):
    """What came of a finding's code just now."""

    standing: FindingStanding
    error: str
    """How it failed; with another standing than `shown`, why it could not be tried."""
    seconds: float


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
    team: list[TaskWork]
    """Who does which task, what each cost, and what was handed over."""
    cost: str
    """In words."""
    delivery: Delivery | None
    findings: list[FindingShape]
    """Of its review; that a figure was computed twice is in the delivery."""
    data_questions: list[ReviewQuestion]
    """What its data raises, each settled in the notebook or open."""
    proof: ProofShape | None
    notebook_is_live: bool


class ExtractBody(RequestModel):
    """Rows with evidence out of documents: which fields, of which documents."""

    fields: Annotated[str, StringConstraints(min_length=1, max_length=8_000)]
    """`party, date:date, amount:number`; or a .toml or .json file in the folder. Types: text, number, integer, date,
    boolean."""
    documents: tuple[PathText, ...] = Field(min_length=1, max_length=1_000)
    """Files, and folders of them."""
    readings: Annotated[int, Field(ge=1, le=2)] = 1
    """2: each is read twice, and what the readings differ in is marked."""
    has_many_rows: bool = False
    """A document may hold several entries; else it is one row."""


class ResearchBody(RequestModel):
    """Where a research reads, and what it is written as. Paths are relative to the folder that is served."""

    sources: tuple[PathText, ...] = Field(default=(), max_length=100)
    """Documents and folders of them; none: the folder, or the web alone if that is used."""
    uses_web: bool = False
    """It may search the web and read pages: hosts are asked about."""
    search: Annotated[str, StringConstraints(max_length=1_000)] = ""
    """The engine: `searxng:https://HOST`, `brave:CONNECTION`, `tavily:CONNECTION` or `mcp:SERVER/TOOL`."""
    form: Annotated[str, StringConstraints(max_length=1_000)] = "report"
    """report, brief, slides, blog, or the path of a template that ends with `.md`."""


class NewRun(RequestModel):
    """A goal, and how it is to be reached. Paths are relative to the folder that is served, and inside it."""

    goal: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST)]
    data: tuple[PathText, ...] = Field(default=(), max_length=100)
    """Files and folders, or `NAME=PATH`; behind a connection `NAME:path`, or an address that leads to one."""
    connections: tuple[Annotated[str, StringConstraints(max_length=40)], ...] = Field(default=(), max_length=20)
    """What it may read besides: databases, file servers and APIs, by their names."""
    tools: tuple[Annotated[str, StringConstraints(max_length=40)], ...] = Field(default=(), max_length=20)
    """Tool servers its agents may call, by their names."""
    context: tuple[Annotated[str, StringConstraints(max_length=1_000)], ...] = Field(default=(), max_length=20)
    """What tool servers let one read, `SERVER:address` each."""
    kernels: tuple[Annotated[str, StringConstraints(max_length=100)], ...] = Field(default=(), max_length=20)
    """Kernels of Jupyter its agents may run code in, by their names."""
    attach: Annotated[str, StringConstraints(max_length=500)] = ""
    """The address of somebody's own marimo whose open notebook is to be changed; a person is asked each time."""
    attach_file: Annotated[str, StringConstraints(max_length=4_096)] = ""
    """That notebook's file there; alone, its server is found."""
    models: tuple[Annotated[str, StringConstraints(max_length=200)], ...] = Field(default=(), max_length=20)
    """`provider:model`, the first that answers; or `analyst`, which needs none."""
    budget_usd: Annotated[str, StringConstraints(max_length=40)] | None = None
    approve: Approve = "ask"
    is_private: bool = False
    notebook: PathText | None = None
    """Extend this notebook, or make it; null: a new one, named after the goal."""
    priority: Annotated[int, Field(ge=-1_000, le=1_000)] = 0
    effort: Effort = "normal"
    """Who looks it over before it is handed over: code alone, a reviewer too, or one who wrote tests first."""
    depth: AnalysisDepth = "answer"
    """Without a model: the answer in a short notebook, or `full`, every column and test in a long one."""
    extract: ExtractBody | None = None
    """Instead of an answer: a table out of documents, each value with the quote that says it."""
    research: ResearchBody | None = None
    """The goal is a question that is answered out of documents, each sentence with the quotes it rests on."""
    key: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    """Asked again with the same key, the run that the first one began is meant."""


class RunName(ResponseModel):
    """A run."""

    run: str


class RunNote(ResponseModel):
    """The run that was meant, or begun, and what happens now."""

    run: str
    note: str


class ResearchDetail(ResponseModel):
    """What a research has read, found and written, as far as it has told it."""

    run: str
    sources: tuple[EvidenceSource, ...]
    skipped: tuple[str, ...]
    """Documents that could not be read, each with its reason."""
    cards: tuple[EvidenceCard, ...]
    """Evidence in the order it was noted: each a quote that stands in its document word for word."""
    rejected: tuple[str, ...]
    """Cards that a person does not accept."""
    report: ResearchReport | None
    """The text as it was last written, with what was found about each of its sentences."""


class Nothing(RequestModel):
    """Nothing needs to be said."""


class Reason(RequestModel):
    """Why, for the record."""

    reason: ReasonText = ""


class RetryBody(RequestModel):
    """Which task is done again."""

    task: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    budget_usd: Annotated[str, StringConstraints(max_length=40)] | None = None
    """The cap of the run that continues one that is over; null: as it was."""


class ForkBody(RequestModel):
    """From where the new run goes on."""

    from_step: Annotated[int, Field(ge=1, le=1_000_000)] | None = None


class SayBody(RequestModel):
    """What the agents should know before their next step."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=7_000)]
    cell: Annotated[str, StringConstraints(min_length=1, max_length=100)] | None = None
    """The cell it is about, as the notebook names it."""


class GoalBody(RequestModel):
    """What is wanted instead."""

    words: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST)]


TaskName = Annotated[str, StringConstraints(min_length=1, max_length=100)]
TaskText = Annotated[str, StringConstraints(max_length=8_000)]


class AddTaskBody(RequestModel):
    """One more task."""

    op: Literal["add"]
    task: Task


class ChangeTaskBody(RequestModel):
    """Another title or another work; only of a task that is not over."""

    op: Literal["change"]
    task: TaskName
    title: TaskText = ""
    todo: TaskText = ""


class DropTaskBody(RequestModel):
    """Do without it."""

    op: Literal["drop"]
    task: TaskName


class RetryTaskBody(RequestModel):
    """Do it again."""

    op: Literal["retry"]
    task: TaskName


class TakeTaskBody(RequestModel):
    """The person who asks does it themselves; no agent does."""

    op: Literal["take"]
    task: TaskName


class HandBackTaskBody(RequestModel):
    """A task that a person took is done, or an agent is to do it after all."""

    op: Literal["hand-back"]
    task: TaskName
    is_done: bool
    words: TaskText = ""
    """What came of it; for an agent, what it should know."""


PlanEditBody = Annotated[
    AddTaskBody | ChangeTaskBody | DropTaskBody | RetryTaskBody | TakeTaskBody | HandBackTaskBody,
    Field(discriminator="op"),
]


class RecordedEvent(ResponseModel):
    """An event where it stands."""

    stream: str
    sequence: int
    at_ms: int
    kind: str
    key: str
    event: dict[str, Any]
    link: str


class Timeline(ResponseModel):
    """Events of one run, in order."""

    events: list[RecordedEvent]
    last: int
    """The number of the last of them; `after` of the next page."""
