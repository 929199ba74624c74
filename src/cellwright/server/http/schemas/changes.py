"""What a run tried in branches and did to its notebook, as it goes over HTTP."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from cellwright.runs.history.history import CellChangeKind
from cellwright.runs.views.branch_views import BranchViewState
from cellwright.server.http.schemas.model import RequestModel, ResponseModel
from cellwright.tools.history.moves import RestoreMethod
from cellwright.tools.notebook.trial_records import TrialStatus


class TriedCellShape(ResponseModel):
    """A cell that ran in the branch."""

    cell: str
    name: str
    """Empty where nobody named it."""
    status: str
    error: str


class TriedVariableShape(ResponseModel):
    """A variable that is another one in the branch than in the notebook."""

    name: str
    type: str
    before: str
    """What it was: shape, nulls, ranges; empty: it was not there. Line by line beside `after`."""
    after: str
    """What it is in the branch; empty: it is gone."""


class TriedCheckShape(ResponseModel):
    """Something that had to hold."""

    check: str
    has_passed: bool
    detail: str


class BranchShape(ResponseModel):
    """One branch, from its making to its end."""

    branch: str
    agent: str
    purpose: str
    group: str
    """Branches that were tried side by side have the same; empty: it was alone."""
    way: str
    """How it came by the notebook's state: fork, carried or replayed; empty: it was not made."""
    reasons: list[str]
    """Why it was no fork."""
    status: TrialStatus
    cells: list[TriedCellShape]
    checks: list[TriedCheckShape]
    variables: list[TriedVariableShape]
    files: list[str]
    ms: float
    is_kept: bool
    note: str
    state: BranchViewState
    """`waits` for a person; `accepted` or `dropped` by one (`is_kept` says what came of it); `kept` or `not-kept`."""
    decided_by: str
    """Who accepted or dropped it; empty: nobody was asked."""
    at_ms: int
    """When its outcome was told."""


class BranchDecided(ResponseModel):
    """A person's word about branches that waited."""

    run: str
    decision: Literal["accepted", "dropped"]
    branches: list[str]
    by: str
    is_settled: bool
    """The run goes on; else other branches still wait."""
    says: str


class Branches(ResponseModel):
    """Every branch a run told of, oldest first."""

    branches: list[BranchShape]


class CellChangeShape(ResponseModel):
    """What one change made of one cell."""

    cell: str
    name: str
    """Empty where nobody named it."""
    kind: CellChangeKind
    before: str | None
    after: str | None
    review: Literal["open", "accepted", "rejected"]
    comment: str


class ChangeShape(ResponseModel):
    """One change of an agent."""

    number: int
    call: str
    """The call of a tool that made it."""
    agent: str
    is_undone: bool
    at_ms: int | None
    cells: list[CellChangeShape]


class Changes(ResponseModel):
    """Every change that is remembered, oldest first."""

    changes: list[ChangeShape]
    can_redo: bool
    """Whether something was undone that `/redo` brings back."""


class UndoBody(RequestModel):
    """What is taken back: one change, or all of them."""

    step: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    before: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    """Instead of changes, of a run at work: all as it was right before this cell, by id or name, last ran."""


class UndoneShape(ResponseModel):
    """What was taken back."""

    run: str
    turns: list[int]
    """The changes, newest first; none: nothing was left to undo."""
    cells: list[str]
    """Cells that are as they were before, in words."""
    kept: list[str]
    """Cells that somebody changed since: they stay as they are."""
    by: RestoreMethod | None
    """How; None: nothing was left to undo."""
    why: str
    """Why there was nothing to undo."""


class RedoneShape(ResponseModel):
    """What was undone is there again."""

    run: str
    cells: list[str]
    """In words."""
    by: RestoreMethod | None
    """How; None: there was nothing to redo."""
    why: str
    """Why there was nothing to redo."""


class VerdictBody(RequestModel):
    """What a person says about one cell's change."""

    verdict: Literal["accept", "reject"]
    comment: Annotated[str, StringConstraints(max_length=4_000)] = ""
