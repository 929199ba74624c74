"""What runs tell in their own streams, as typed events; and all events of a journal of runs, for whoever opens one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from cellwright.agents.events import AGENT_EVENT_TYPES
from cellwright.journal.events import EventTypes, FormerFact, RoomEvent, TaskChanged
from cellwright.runs.deliver.delivery import Comparison, Delivery
from cellwright.runs.goal.goal import Goal
from cellwright.runs.plan.handoffs import HandOff
from cellwright.runs.plan.plan import Plan, PlanEdit, Task
from cellwright.runs.research.report import ResearchReport
from cellwright.runs.review.findings import DisputeVerdict, JudgedFinding, ReviewQuestion
from cellwright.tools.approval.approval_questions import GrantGiven, GrantRevoked
from cellwright.tools.evidence.library import LibraryContents
from cellwright.tools.notebook.trial_records import BranchDropped, TrialRecord

RunStage = Literal["queued", "brief", "agree", "build", "check", "review", "deliver", "over"]
ReviewVerdict = Literal["accepted", "rejected"]
STAGE_WORDS: Final[dict[RunStage, str]] = {
    "queued": "waiting for its turn",
    "brief": "reading the data and planning",
    "agree": "agreeing on what it may touch",
    "build": "building",
    "check": "checking from scratch",
    "review": "looking it over",
    "deliver": "delivering",
    "over": "over",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalSet(RoomEvent):
    """What the run is for, from now on."""

    LINE: ClassVar[str] = "goal: {0.goal.words}"
    WAS: ClassVar[FormerFact | None] = FormerFact(topic="run", text="goal", is_json=True)
    goal: Goal


@dataclass(frozen=True, slots=True, kw_only=True)
class StageEntered(RoomEvent):
    """How far it has come."""

    WAS: ClassVar[FormerFact | None] = FormerFact(topic="stage", subject="stage", text="note")
    stage: RunStage
    note: str = ""

    def line(self) -> str:
        """In words."""
        return f"{STAGE_WORDS[self.stage]}{f': {self.note}' if self.note else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAdopted(RoomEvent):
    """The whole plan, as it is from now on."""

    LINE: ClassVar[str] = "plan: {0.plan.title}"
    WAS: ClassVar[FormerFact | None] = FormerFact(topic="plan", text="plan", is_json=True)
    plan: Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class CellReported(RoomEvent):
    """A cell came to its end."""

    LINE: ClassVar[str] = "cell {0.name}: {0.status} ({0.seconds:.1f} s)"
    WAS: ClassVar[FormerFact | None] = FormerFact(topic="cell", subject="name", text="status")
    name: str
    status: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWaiting(RoomEvent):
    """It waits, but not for a person."""

    LINE: ClassVar[str] = "waits: {0.why}"
    WAS: ClassVar[FormerFact | None] = FormerFact(topic="waits", subject="why")
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesNotKept(RoomEvent):
    """What did not become part of the project of the files its notebook changed, where no delivery says it."""

    LINE: ClassVar[str] = "files: {0.text}"
    WAS: ClassVar[FormerFact | None] = FormerFact(topic="files", subject="text")
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternativesCompared(RoomEvent):
    """The alternatives of a task, best first."""

    LINE: ClassVar[str] = "compared: {0.comparison.task}"
    WAS: ClassVar[FormerFact | None] = FormerFact(topic="compared", text="comparison", is_json=True)
    comparison: Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingJudged(RoomEvent):
    """Something that does not hold, or no longer does not; or that nothing shows."""

    number: int
    """Of the run's findings: the last word about each counts."""
    judged: JudgedFinding
    task: str = ""
    """The task that is to mend it."""

    def line(self) -> str:
        """In words."""
        return f"finding {self.number} {self.judged.standing}: {self.judged.finding.says}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionsRaised(RoomEvent):
    """What the data raises, each settled in the notebook or open."""

    questions: tuple[ReviewQuestion, ...]

    def line(self) -> str:
        """In words."""
        left = [each.says for each in self.questions if not each.settled]
        return f"the data raises: {'; '.join(left)}" if left else "all that the data raises is settled"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckDisputed(RoomEvent):
    """A builder said that an acceptance test is wrong, and somebody decided what becomes of it."""

    test: str
    why: str
    instead: str
    """The test that was to take its place; empty: none."""
    decided: DisputeVerdict
    by: str
    """A person's name, or `reviewer`; empty: nobody could decide, so it was kept."""
    words: str = ""
    """Why it was decided so."""
    tokens: int = 0
    microdollars: int = 0
    """What deciding took."""

    def line(self) -> str:
        """In words."""
        done = {"keep": "kept", "drop": "dropped", "replace": "replaced"}[self.decided]
        said = f" ({self.words.rstrip('.')})" if self.words else ""
        return f"acceptance test {self.test} disputed ({self.why.rstrip('.')}): {done} by {self.by or 'nobody'}{said}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOff(RoomEvent):
    """What a task left to those that need it, as the notebook had it then."""

    handed: HandOff
    to: tuple[str, ...]
    """Tasks, by their ids."""

    def line(self) -> str:
        """In words."""
        names = ", ".join(variable.name for variable in self.handed.variables) or "nothing by name"
        return f"{self.handed.task} hands over to {', '.join(self.to)}: {names}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentExtracted(RoomEvent):
    """What came of one document of an extraction."""

    document: str
    number: int
    of: int
    rows: int = 0
    marked: int = 0
    """Rows with a value that is missing, refused or in doubt."""
    skipped: str = ""
    """Why it was not read."""
    microdollars: int = 0

    def line(self) -> str:
        """In words."""
        rows = f"{self.rows:,} row{'' if self.rows == 1 else 's'}{f', {self.marked:,} marked' if self.marked else ''}"
        came = f"skipped, {self.skipped}" if self.skipped else rows
        cost = f", ${self.microdollars / 1e6:.4f}" if self.microdollars else ""
        return f"document {self.number:,} of {self.of:,}, {self.document}: {came}{cost}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDelivered(RoomEvent):
    """What was handed over in the end."""

    LINE: ClassVar[str] = "delivery: {0.delivery.status}"
    WAS: ClassVar[FormerFact | None] = FormerFact(topic="delivery", text="delivery", is_json=True)
    delivery: Delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchRead(RoomEvent):
    """The documents of a research are read."""

    contents: LibraryContents

    def line(self) -> str:
        """In words."""
        skipped = f", {len(self.contents.skipped)} could not be read" if self.contents.skipped else ""
        return f"documents: {len(self.contents.sources)} read{skipped}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchWritten(RoomEvent):
    """The text of a research, checked; the last one counts."""

    report: ResearchReport

    def line(self) -> str:
        """In words."""
        return (
            f"written: {self.report.title} ({len(self.report.sections)} sections, {len(self.report.cited)} cards cited)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CardRejected(RoomEvent):
    """A person does not accept a card: what was written from it is written again without it."""

    LINE: ClassVar[str] = "{0.by} rejected the evidence {0.card}"
    card: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeReviewed(RoomEvent):
    """What a person said about one cell's change."""

    WAS: ClassVar[FormerFact | None] = FormerFact(topic="review", subject="cell", is_json=True)
    change: str
    """The call that made it."""
    cell: str
    verdict: ReviewVerdict
    comment: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewGoal(RoomEvent):
    """A person gave it another goal; it goes by it from its next step on."""

    WAS: ClassVar[FormerFact | None] = FormerFact(topic="run-goal", subject="by", text="words")
    words: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChanged(RoomEvent):
    """A person wants the plan changed; it is from its next step on."""

    LINE: ClassVar[str] = "{0.by} changed the plan: {0.edit.op}"
    WAS: ClassVar[FormerFact | None] = FormerFact(topic="run-plan", subject="by", text="edit", is_json=True)
    edit: PlanEdit
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostVisited(RoomEvent):
    """Its notebook or an agent reached for another machine."""

    WAS: ClassVar[FormerFact | None] = FormerFact(topic="network", subject="host", text="verdict")
    host: str
    """With its port."""
    verdict: str
    """Whether it was let through, where to, and why not."""
    bytes_in: int = 0
    bytes_out: int = 0
    milliseconds: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCarriedOver(RoomEvent):
    """Its code is gone; another run goes on from its steps, with the code of today."""

    WAS: ClassVar[FormerFact | None] = FormerFact(topic="carried-over", subject="run", text="text")
    run: str
    """The one that goes on."""
    text: str


def task_event(task: Task, agent: str = "") -> TaskChanged:
    """How one task stands; with the agent that begins it."""
    return TaskChanged(task=task.id, title=task.title, state=task.status, note=task.note, agent=agent)


RUN_EVENT_TYPES: Final[tuple[type[RoomEvent], ...]] = tuple(
    each
    for each in tuple(globals().values())
    if isinstance(each, type) and issubclass(each, RoomEvent) and each.__module__ == __name__
)
"""All that are defined above."""
TOOL_EVENT_TYPES: Final[tuple[type[RoomEvent], ...]] = (TrialRecord, BranchDropped, GrantGiven, GrantRevoked)
EVENT_TYPES: Final = EventTypes((*RUN_EVENT_TYPES, *AGENT_EVENT_TYPES, *TOOL_EVENT_TYPES))
"""What a journal of runs is read with."""
