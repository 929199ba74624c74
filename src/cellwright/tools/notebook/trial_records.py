"""What was tried in branches, as values in the run's own stream, and the question which of them is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal

from pydantic import TypeAdapter, ValidationError

from cellwright.journal.events import FormerFact, QuestionAnswered, QuestionAsked, RoomEvent
from cellwright.journal.flow import Flow
from cellwright.journal.names import stream_of
from cellwright.journal.questions import Question
from cellwright.journal.values import Json

BRANCHES: Final = "branches"
"""Under this name a tool's value holds what it tried."""

TrialStatus = Literal["passed", "failed", "refused", "lost"]
"""passed: nothing failed and every check held. failed: a cell or a check did. refused: its edits did not fit the cells.
lost: it came to no end, out of time or with its kernel."""
BranchDecision = Literal["", "accepted", "dropped"]
"""Empty: nobody was asked, or has said anything yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialCell:
    """A cell that ran in the branch."""

    cell: str
    name: str
    status: str
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialVariable:
    """A variable that is another one in the branch than in the notebook."""

    name: str
    type: str = ""
    before: str = ""
    """A short look at it in the notebook; empty: it was not there."""
    after: str = ""
    """A short look at it in the branch; empty: it is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialCheck:
    """Something that had to hold."""

    check: str
    has_passed: bool
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRecord(RoomEvent):
    """One branch, from its making to its end; the event that tells of it."""

    WAS: ClassVar[FormerFact | None] = FormerFact(topic="branch-tried", is_json=True)
    branch: str
    """Names it in its run: the call that made it, and of several its number."""
    agent: str = ""
    """The workflow that tried it."""
    purpose: str = ""
    """What for, in a few words: `mend clean`, a candidate's name."""
    group: str = ""
    """Branches that were tried side by side have the same; empty: it was alone."""
    way: str = ""
    """fork, carried or replayed; empty: it was not made."""
    reasons: tuple[str, ...] = ()
    """Why it was no fork."""
    status: TrialStatus
    cells: tuple[TrialCell, ...] = ()
    checks: tuple[TrialCheck, ...] = ()
    variables: tuple[TrialVariable, ...] = ()
    """Those that differ."""
    files: tuple[str, ...] = ()
    """Paths of the project's files that it changed."""
    ms: float = 0.0
    """From the request until its outcome was known."""
    is_kept: bool = False
    """What was tried is in the notebook now."""
    note: str = ""
    """Why it was not kept although it passed, or what else there is to say."""
    waits: bool = False
    """A person was asked whether it is kept; until it is told again, nothing of it is in the notebook."""
    decision: BranchDecision = ""
    """What the person said."""
    decided_by: str = ""

    def line(self) -> str:
        """What was tried, and whether it is in the notebook now."""
        by = f" ({self.decision} by {self.decided_by})" if self.decision else ""
        became = "waits for a person" if self.waits else f"{'kept' if self.is_kept else 'dropped'}{by}"
        checks = f", checks {self.checks_passed}/{len(self.checks)}" if self.checks else ""
        return f"branch {self.purpose or self.branch}: {self.status}{checks}, {became}"

    @property
    def checks_passed(self) -> int:
        """How many of its checks held."""
        return sum(check.has_passed for check in self.checks)

    @property
    def failures(self) -> int:
        """How many of its cells have no result."""
        return sum(cell.status not in _SOUND for cell in self.cells)


_SOUND: Final = frozenset({"ok", "stopped", "disabled", "stale"})
_TRIAL: Final = TypeAdapter(TrialRecord)


def trial_json(tried: TrialRecord) -> Json:
    """As plain values."""
    return _TRIAL.dump_python(tried, mode="json")


def parse_trial(value: Any) -> TrialRecord | None:
    """The branch of such values; None for anything else."""
    try:
        return _TRIAL.validate_python(value)
    except ValidationError:
        return None


def trials_in(value: Json) -> tuple[TrialRecord, ...]:
    """What a tool's value says was tried in branches."""
    held = value.get(BRANCHES) if isinstance(value, dict) else None
    found = [parse_trial(each) for each in held] if isinstance(held, list) else []
    return tuple(each for each in found if each is not None)


BRANCH_CHOICE: Final = "branch-choice"
"""The topic of the question which branch is kept."""
NONE: Final = "none of them"
"""The answer that keeps nothing."""
_VARIABLES: Final = 3
_LONGEST: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchDropped(RoomEvent):
    """A person dropped this branch; others still wait."""

    WAS: ClassVar[FormerFact | None] = FormerFact(topic="branch-dropped", subject="branch", text="by")
    branch: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What people said to branches that waited."""

    accepted: str = ""
    """The branch; empty: none of them."""
    by: str = ""
    dropped: Mapping[str, str] = field(default_factory=dict[str, str])
    """Branches that were dropped one by one before, and by whom."""


def choices_of(tried: Sequence[TrialRecord]) -> dict[str, str]:
    """The answers that accept a branch, each with that branch: its name, with its number where two have the same."""
    choices: dict[str, str] = {}
    for each in tried:
        if each.waits:
            name = " ".join(each.purpose.split()) or each.branch
            is_taken = name in choices or name == NONE
            choices[f"{name} ({each.branch.rpartition('.')[2]})" if is_taken else name] = each.branch
    return choices


def choice_question(tried: Sequence[TrialRecord]) -> Question:
    """Which of these is kept? Those that did not run cannot be."""
    choices = choices_of(tried)
    lines = ["Which of these is kept in the notebook?", *(f"- {_line(each)}" for each in tried)]
    body: Json = {"branches": list(choices.values())}
    return Question(topic=BRANCH_CHOICE, text="\n".join(lines), choices=(*choices, NONE), body=body)


def _line(tried: TrialRecord) -> str:
    said = [tried.status if tried.waits else f"{tried.status}, cannot be kept"]
    said += [f"checks {tried.checks_passed}/{len(tried.checks)}"] if tried.checks else []
    values = [(each.name, " ".join(each.after.split())) for each in tried.variables[:_VARIABLES] if each.after]
    said += [f"{name} = {text[:_LONGEST]}{'…' if len(text) > _LONGEST else ''}" for name, text in values]
    return f"{tried.purpose or tried.branch}: {', '.join(said)}"


async def ask_which(flow: Flow, tried: Sequence[TrialRecord]) -> Decision:
    """What a person decides, however long it takes; survives restarts."""
    said: Any = await flow.ask(choice_question(tried))
    answer = said.get("choice") if isinstance(said, dict) else said
    who: Any = await flow.step("who decided", lambda: _who_decided(flow))
    return Decision(accepted=choices_of(tried).get(str(answer), ""), by=who["by"], dropped=who["dropped"])


async def _who_decided(flow: Flow) -> Json:
    """Who answered the last such question of this workflow, and who dropped single branches."""
    ours, question, by, dropped = (BRANCH_CHOICE, flow.id), "", "", dict[str, Json]()
    async for recorded in flow.read(stream_of(flow.run)):
        match recorded.event:
            case QuestionAsked(topic=topic, workflow=asking, question=asked) if (topic, asking) == ours:
                question = asked
            case QuestionAnswered(question=answered, by=person) if answered == question:
                by = person
            case BranchDropped(branch=branch, by=person):
                dropped[branch] = person
            case _:
                pass
    return {"by": by, "dropped": dropped}
