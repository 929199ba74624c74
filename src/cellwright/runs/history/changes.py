"""What a run did to its notebook, change by change and cell by cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cellwright.ids import CellId
from cellwright.notebook import DEFAULT_NAME, Cell
from cellwright.tools.history.moves import change_text, moved_cells
from cellwright.tools.history.timeline import RevisionTimeline
from cellwright.tools.notebook.cell_changes import CellDiff

CellChangeKind = Literal["created", "edited", "deleted", "moved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellChange:
    """What one change made of one cell."""

    cell: CellId
    name: str
    """Empty where nobody named it."""
    kind: CellChangeKind
    before: str | None = None
    """Its code; None where there was none, and for a cell that was only moved."""
    after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookChange:
    """One change of an agent."""

    number: int
    key: str
    """The call that made it."""
    agent: str
    is_undone: bool
    cells: tuple[CellChange, ...]
    texts: tuple[str, ...] = ()
    """What became of which cells, in words: `changed monthly_revenue`."""

    def find(self, cell: str) -> CellChange | None:
        """What it made of this cell."""
        return next((each for each in self.cells if each.cell == cell), None)


def changes_of(timeline: RevisionTimeline) -> tuple[NotebookChange, ...]:
    """Every change that is remembered, oldest first."""
    names, reverted = {cell.id: _name(cell) for cell in timeline.cells}, timeline.reverted
    return tuple(
        NotebookChange(
            number=change.number,
            key=change.key,
            agent=change.agent,
            is_undone=change.number in reverted,
            cells=(
                *(_cell(diff) for diff in change.changes),
                *(CellChange(cell=cell, name=names.get(cell, ""), kind="moved") for cell in moved_cells(change)),
            ),
            texts=tuple(change_text(diff) for diff in change.changes),
        )
        for change in timeline.changes
    )


def _cell(change: CellDiff) -> CellChange:
    before, after = change.before, change.after
    return CellChange(
        cell=change.id,
        name=_name(after or before),
        kind="created" if before is None else "deleted" if after is None else "edited",
        before=None if before is None else before.code,
        after=None if after is None else after.code,
    )


def _name(cell: Cell | None) -> str:
    return "" if cell is None or cell.name == DEFAULT_NAME else cell.name
