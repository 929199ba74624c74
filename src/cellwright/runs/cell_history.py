"""What a run did to its notebook, change by change and cell by cell, with the text before and after. All pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cellwright.ids import CellId
from cellwright.notebook import DEFAULT_NAME, Cell
from cellwright.runs.undo import NumberedTurn, agent_of, numbered_turns
from cellwright.tools.cell_changes import Change, still_in_order
from cellwright.tools.desk_memory import Memory, Turn

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

    def find(self, cell: str) -> CellChange | None:
        """What it made of this cell."""
        return next((each for each in self.cells if each.cell == cell), None)


def history_of(memory: Memory) -> tuple[NotebookChange, ...]:
    """Every change that is remembered, oldest first."""
    names = {cell.id: _name(cell) for cell in memory.cells}
    return tuple(_shown(turn, names) for turn in numbered_turns(memory))


def moved_cells(turn: Turn) -> tuple[CellId, ...]:
    """The cells that a turn moved and did not otherwise change."""
    changed = {change.id for change in turn.changes}
    both = set(turn.order_before) & set(turn.order_after)
    before = [cell for cell in turn.order_before if cell in both]
    after = [cell for cell in turn.order_after if cell in both]
    unmoved = still_in_order(before, after)
    return tuple(cell for cell in after if cell not in unmoved and cell not in changed)


def _shown(turn: NumberedTurn, names: dict[CellId, str]) -> NotebookChange:
    moved = [CellChange(cell=cell, name=names.get(cell, ""), kind="moved") for cell in moved_cells(turn.turn)]
    return NotebookChange(
        number=turn.number,
        key=turn.turn.key,
        agent=agent_of(turn.turn.key),
        is_undone=turn.is_undone,
        cells=(*(_cell(change) for change in turn.turn.changes), *moved),
    )


def _cell(change: Change) -> CellChange:
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
