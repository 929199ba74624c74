"""The other ways through a run's history.

Redo, one cell's change reverted, back to before a cell, back to before a failed task.

Live while the run is at work, in the file afterwards. What somebody made of a cell since is theirs.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import anyio.to_thread

from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.notebook import After, Document, Edit, EditRefused, apply_edits, restore_edits
from cellwright.runs.history.changes import moved_cells
from cellwright.runs.history.undo import (
    NumberedRevision,
    UndoneRevisions,
    UndoRefused,
    agent_of,
    amend_file,
    describe_change,
    is_back,
    memory_after,
    numbered_revisions,
    undo_agent_live,
    why_kept,
)
from cellwright.tools.notebook.cell_changes import changes_between, place_in
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.restoration import RESTORE_TEXTS, RestoreMethod, UnreachableState
from cellwright.tools.notebook.revisions import Amendment, EditorState, Revision, fingerprint, plan_undo

REDO_WORDS: Final[dict[RestoreMethod, str]] = {
    "checkpoint": "By checkpoint: cells, outputs, variables and files are as they were before the undo.",
    "replay": "By replay: a new kernel has run again what had run before the undo.",
    "cells": "The cells are as they were before the undo; what depends on them runs again.",
    "file": "The cells in its file are as they were before the undo.",
}
REDO_HINT: Final = "Take that change back first; what was undone still stands among the changes of the run."


@dataclass(frozen=True, slots=True, kw_only=True)
class RedoneRevision:
    """What was undone is there again."""

    cells: tuple[str, ...]
    """In words; empty if they were so already."""
    by: RestoreMethod = "cells"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoRevisionToRedo:
    """Nothing was undone, or something else was done since."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RedoRefused:
    """It cannot be redone as things stand; nothing was changed."""

    why: str


RedoOutcome = RedoneRevision | NoRevisionToRedo | RedoRefused


async def redo_in_file(notebook: Path, memory: Path) -> RedoOutcome:
    """Take back the last undo in the notebook's file, in whichever process it was. For a run that is not at work.

    Raises `UserError` for a notebook that cannot be read, `Unavailable` if the file changes faster than it can be
    saved.
    """
    nothing = NoRevisionToRedo(why="Nothing is remembered of what this run did to a notebook.")

    def work() -> RedoOutcome:
        return amend_file(notebook, memory, redo_plan, nothing)

    return _redone_by(await anyio.to_thread.run_sync(work), "file")


async def redo_live(desk: NotebookEditor) -> RedoOutcome:
    """The same for a run at work, at the desk that has its notebook open.

    By the checkpoint that the undo kept, with variables and files; by replay if that is lost; else as cells.
    """
    return _redone_by(*await desk.amend_telling(redo_plan))


def _redone_by(outcome: RedoOutcome, by: RestoreMethod) -> RedoOutcome:
    return replace(outcome, by=by) if isinstance(outcome, RedoneRevision) else outcome


def redo_plan(memory: EditorState, current: Document) -> Amendment[RedoOutcome] | RedoOutcome:
    """What taking back the last undo makes of the notebook as it is."""
    if not memory.undone:
        return NoRevisionToRedo(why="There is nothing to redo: nothing was undone, or something else was done since.")
    last = memory.undone[-1].turn
    if (cut_off := _cut_off(memory, last, current)) is not None:
        return Amendment(
            document=cut_off, memory=memory.redone().of(cut_off, memory.ran), outcome=RedoneRevision(cells=())
        )
    if last.left != fingerprint(current):
        return RedoRefused(why=f"Somebody changed the notebook since the undo{_where(memory, current)}.")
    document = apply_edits(current, plan_undo(last, current).edits)
    if isinstance(document, EditRefused):
        return RedoRefused(why=f"It cannot be redone: {document.message}")
    cells = tuple(describe_change(change) for change in changes_between(current, document))
    remembered = memory_after(memory.redone(), current, document)
    return Amendment(document=document, memory=remembered, outcome=RedoneRevision(cells=cells), is_redo=True)


def _cut_off(memory: EditorState, last: Revision, current: Document) -> Document | None:
    """The notebook as redone, if the file is that already: a process ended before it could remember so."""
    if fingerprint(memory.document) != last.left:
        return None
    redone = apply_edits(memory.document, plan_undo(last, memory.document).edits)
    if isinstance(redone, EditRefused) or len(redone.cells) != len(current.cells):
        return None
    pairs = zip(redone.cells, current.cells, strict=True)
    is_same = all(mine.has_same_content(theirs) for mine, theirs in pairs)
    return replace(current, cells=redone.cells, retired=redone.retired) if is_same else None


def _where(memory: EditorState, current: Document) -> str:
    """Which cells differ from what is remembered, in words; nothing where that is not known any more."""
    changed = [describe_change(change) for change in changes_between(memory.document, current)]
    return f" ({', '.join(changed[:5])})" if changed else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellReverted:
    """The cell is as it was before the change."""

    is_changed: bool = True
    """False: it was so already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellNotReverted:
    """It cannot be taken back as things stand; nothing was changed."""

    why: str


CellRevertOutcome = CellReverted | CellNotReverted


async def revert_cell_live(desk: NotebookEditor, number: int, cell: CellId) -> CellRevertOutcome:
    """In the notebook of a run at work; what depends on the cell runs again."""
    return await desk.amend(lambda memory, found: plan_cell_revert(memory, found, number, cell))


async def revert_cell_in_file(notebook: Path, memory: Path, number: int, cell: CellId) -> CellRevertOutcome:
    """In the notebook of a run that is not at work. Raises `UserError`, `Unavailable`."""
    nothing = CellNotReverted(why="Nothing is remembered of what this run did to a notebook.")

    def work() -> CellRevertOutcome:
        return amend_file(notebook, memory, lambda known, found: plan_cell_revert(known, found, number, cell), nothing)

    return await anyio.to_thread.run_sync(work)


def plan_cell_revert(
    memory: EditorState, current: Document, number: int, cell: CellId
) -> Amendment[CellRevertOutcome] | CellRevertOutcome:
    """What taking back one cell's change makes of the notebook as it is."""
    turns = numbered_revisions(memory)
    turn = next((turn for turn in turns if turn.number == number), None)
    if turn is None:
        return CellNotReverted(why=f"The run has no change {number}.")
    edits = _edits(turn, current, cell, [other for other in turns if not other.is_undone and other is not turn])
    if not isinstance(edits, list):
        return edits
    after = apply_edits(current, edits)
    if isinstance(after, EditRefused):
        return CellNotReverted(why=after.message)
    remembered = memory_after(memory, current, after)
    return Amendment(document=after, memory=remembered, outcome=CellReverted())


def _edits(
    turn: NumberedRevision, current: Document, cell: CellId, others: list[NumberedRevision]
) -> list[Edit] | CellRevertOutcome:
    change = next((change for change in turn.turn.changes if change.id == cell), None)
    if change is None:
        return _moved_back(turn.turn, current, cell)
    if is_back(change, current):
        return CellReverted(is_changed=False)
    # Of this one cell alone: where the others stand is not looked at.
    steps = plan_undo(replace(turn.turn, changes=(change,), order_after=()), current)
    return CellNotReverted(why=f"{why_kept(change, current, others)}.") if steps.kept else steps.edits


def _moved_back(turn: Revision, current: Document, cell: CellId) -> list[Edit] | CellRevertOutcome:
    moved = current.find(cell)
    if cell not in moved_cells(turn):
        return CellNotReverted(why=f"The change did not touch the cell {cell!r}.")
    if moved is None:
        return CellNotReverted(why="Somebody removed the cell since.")
    others = [each for each in current.cells if each.id != cell]
    place = place_in(cell, turn.order_before, Document(cells=tuple(others)))
    at = [each.id for each in others].index(place.cell) + 1 if isinstance(place, After) else 0
    edits = restore_edits(current, replace(current, cells=(*others[:at], moved, *others[at:])))
    return edits or CellReverted(is_changed=False)


RUN_IS_OVER = UndoRefused(
    why="The run is not at work: what was before single cells is kept only as long as its kernel is."
)


async def go_before_cell_live(
    desk: NotebookEditor, cell: str, *, run: str, person: str
) -> UndoneRevisions | UndoRefused:
    """Cells, outputs, variables and files as they were right before this cell, by id or name, last ran in the run.

    It is a change under the person's name among the run's, and is undone like those.
    """
    key = f"{run}/person:{person}/before-{uuid.uuid4().hex[:8]}"
    gone = await desk.go_before(cell, key=key, is_persons=True)
    if isinstance(gone, UnreachableState):
        return UndoRefused(why=gone.why)
    if gone.observation.refused is not None:
        return UndoRefused(why=gone.observation.refused.message)
    return UndoneRevisions(
        turns=(), cells=tuple(describe_change(change) for change in gone.changes), by=gone.back_by or "cells"
    )


_BAD: Final = frozenset({"failed", "interrupted", "cancelled", "lost"})
_SAYS: Final = "What it left did not run: the notebook is again what it was before this task."


async def backtrack(desk: NotebookEditor, agent: str) -> str:
    """Be what the notebook was before this agent's first change, if it left cells that do not run. Says what was done.

    A second time it does nothing and says the same.
    """
    await desk.sync()
    made = [turn for turn in numbered_revisions(desk.memory) if agent_of(turn.turn.key) == agent]
    standing = [turn for turn in made if not turn.is_undone]
    if not standing:
        return _SAYS if made and _was_undone(desk, made) else ""
    if not _broken(desk, standing):
        return ""
    try:
        undone = await undo_agent_live(desk, agent)
    except Unavailable as error:
        return f"What it left does not run, and could not be taken back: {error.message}"
    if not isinstance(undone, UndoneRevisions):
        return ""
    kept = f" Not these, which somebody changed since: {'; '.join(undone.kept)}." if undone.kept else ""
    return f"{_SAYS} {RESTORE_TEXTS[undone.by]}{kept}"


def _broken(desk: NotebookEditor, made: list[NumberedRevision]) -> bool:
    """Whether a cell that the agent changed, or one that ran before it came, has no result now."""
    notebook = desk.notebook
    touched = {change.id for turn in made for change in turn.turn.changes}
    touched |= set(made[0].turn.ran_before or ())
    here = {cell.id for cell in notebook.document.cells} & touched
    return any(cell in here and outcome.status in _BAD for cell, outcome in notebook.outcomes.items())


def _was_undone(desk: NotebookEditor, made: list[NumberedRevision]) -> bool:
    """Whether the process ended right after it was taken back: an agent's own undo is another thing."""
    undone = {turn.key for turn in desk.memory.turns if turn.is_undo}
    return all(any(key.startswith(f"{turn.turn.key}/undone-") for key in undone) for turn in made)
