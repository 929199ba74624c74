"""What a run did to its notebook, as it goes over HTTP."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from cellwright.runs.cell_history import CellChangeKind
from cellwright.server.web.shapes.shape import Body, Shape
from cellwright.tools.going_back import BackBy


class CellChangeShape(Shape):
    """What one change made of one cell."""

    cell: str
    name: str
    """Empty where nobody named it."""
    kind: CellChangeKind
    before: str | None
    after: str | None
    review: Literal["open", "accepted", "rejected"]
    comment: str


class ChangeShape(Shape):
    """One change of an agent."""

    number: int
    agent: str
    is_undone: bool
    at_ms: int | None
    cells: list[CellChangeShape]


class Changes(Shape):
    """Every change that is remembered, oldest first."""

    changes: list[ChangeShape]
    can_redo: bool
    """Whether something was undone that `/redo` brings back."""


class UndoBody(Body):
    """What is taken back: one change, or all of them."""

    step: Annotated[int, Field(ge=1, le=1_000_000)] | None = None


class UndoneShape(Shape):
    """What was taken back."""

    run: str
    turns: list[int]
    """The changes, newest first; none: nothing was left to undo."""
    cells: list[str]
    """Cells that are as they were before, in words."""
    kept: list[str]
    """Cells that somebody changed since: they stay as they are."""
    by: BackBy | None
    """How; None: nothing was left to undo."""
    why: str
    """Why there was nothing to undo."""


class RedoneShape(Shape):
    """What was undone is there again."""

    run: str
    cells: list[str]
    """In words."""
    by: BackBy | None
    """How; None: there was nothing to redo."""
    why: str
    """Why there was nothing to redo."""


class VerdictBody(Body):
    """What a person says about one cell's change."""

    verdict: Literal["accept", "reject"]
    comment: Annotated[str, StringConstraints(max_length=4_000)] = ""
