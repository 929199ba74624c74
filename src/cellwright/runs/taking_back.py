"""Taking back what one change of a run did to one cell, at its desk while it is at work, in the file afterwards.

Only while the cell is as the change left it: what somebody made of it since is theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import anyio.to_thread

from cellwright.ids import CellId
from cellwright.notebook import After, Document, Edit, EditRefused, apply_edits, restore_edits
from cellwright.runs.amending import amend_file, remembering
from cellwright.runs.cell_history import moved_cells
from cellwright.runs.undo import NumberedTurn, is_back, numbered_turns, why_kept
from cellwright.tools.cell_changes import place_in
from cellwright.tools.desk_memory import Amended, Memory, Turn, undoing
from cellwright.tools.notebook_desk import NotebookDesk


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBack:
    """The cell is as it was before the change."""

    is_changed: bool = True
    """False: it was so already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotTakenBack:
    """It cannot be taken back as things stand; nothing was changed."""

    why: str


TakingBack = TakenBack | NotTakenBack


async def take_back_at_desk(desk: NotebookDesk, number: int, cell: CellId) -> TakingBack:
    """In the notebook of a run at work; what depends on the cell runs again."""
    return await desk.amend(lambda memory, found: taking_back(memory, found, number, cell))


async def take_back_in_file(notebook: Path, memory: Path, number: int, cell: CellId) -> TakingBack:
    """In the notebook of a run that is not at work. Raises `UserError`, `Unavailable`."""
    nothing = NotTakenBack(why="Nothing is remembered of what this run did to a notebook.")

    def work() -> TakingBack:
        return amend_file(notebook, memory, lambda known, found: taking_back(known, found, number, cell), nothing)

    return await anyio.to_thread.run_sync(work)


def taking_back(memory: Memory, current: Document, number: int, cell: CellId) -> Amended[TakingBack] | TakingBack:
    """What taking back one cell's change makes of the notebook as it is."""
    turns = numbered_turns(memory)
    turn = next((turn for turn in turns if turn.number == number), None)
    if turn is None:
        return NotTakenBack(why=f"The run has no change {number}.")
    edits = _edits(turn, current, cell, [other for other in turns if not other.is_undone and other is not turn])
    if not isinstance(edits, list):
        return edits
    after = apply_edits(current, edits)
    if isinstance(after, EditRefused):
        return NotTakenBack(why=after.message)
    remembered = remembering(memory, current, after)
    return Amended(document=after, memory=remembered, outcome=TakenBack())


def _edits(turn: NumberedTurn, current: Document, cell: CellId, others: list[NumberedTurn]) -> list[Edit] | TakingBack:
    change = next((change for change in turn.turn.changes if change.id == cell), None)
    if change is None:
        return _moved_back(turn.turn, current, cell)
    if is_back(change, current):
        return TakenBack(is_changed=False)
    # Of this one cell alone: where the others stand is not looked at.
    steps = undoing(replace(turn.turn, changes=(change,), order_after=()), current)
    return NotTakenBack(why=f"{why_kept(change, current, others)}.") if steps.kept else steps.edits


def _moved_back(turn: Turn, current: Document, cell: CellId) -> list[Edit] | TakingBack:
    moved = current.find(cell)
    if cell not in moved_cells(turn):
        return NotTakenBack(why=f"The change did not touch the cell {cell!r}.")
    if moved is None:
        return NotTakenBack(why="Somebody removed the cell since.")
    others = [each for each in current.cells if each.id != cell]
    place = place_in(cell, turn.order_before, Document(cells=tuple(others)))
    at = [each.id for each in others].index(place.cell) + 1 if isinstance(place, After) else 0
    edits = restore_edits(current, replace(current, cells=(*others[:at], moved, *others[at:])))
    return edits or TakenBack(is_changed=False)
