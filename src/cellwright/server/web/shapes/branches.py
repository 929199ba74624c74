"""What a run tried in branches, as it goes over HTTP."""

from __future__ import annotations

from typing import Literal

from cellwright.runs.tried_branches import LaneState
from cellwright.server.web.shapes.shape import Shape
from cellwright.tools.branch_trials import TrialStatus


class TriedCellShape(Shape):
    """A cell that ran in the branch."""

    cell: str
    name: str
    """Empty where nobody named it."""
    status: str
    error: str


class TriedVariableShape(Shape):
    """A variable that is another one in the branch than in the notebook."""

    name: str
    type: str
    before: str
    """What it was: shape, nulls, ranges; empty: it was not there. Line by line beside `after`."""
    after: str
    """What it is in the branch; empty: it is gone."""


class TriedCheckShape(Shape):
    """Something that had to hold."""

    check: str
    has_passed: bool
    detail: str


class BranchShape(Shape):
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
    state: LaneState
    """`waits` for a person; `accepted` or `dropped` by one (`is_kept` says what came of it); `kept` or `not-kept`."""
    decided_by: str
    """Who accepted or dropped it; empty: nobody was asked."""
    at_ms: int
    """When its outcome was told."""


class BranchDecided(Shape):
    """A person's word about branches that waited."""

    run: str
    decision: Literal["accepted", "dropped"]
    branches: list[str]
    by: str
    is_settled: bool
    """The run goes on; else other branches still wait."""
    says: str


class Branches(Shape):
    """Every branch a run told of, oldest first."""

    branches: list[BranchShape]
