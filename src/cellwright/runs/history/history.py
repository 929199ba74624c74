"""A run's way through its notebook's history: at the open notebook while it is at work, in the file afterwards.

What the run did is told change by change. Agents at work hear what a person took back. A task that failed leaves no
broken notebook behind.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import anyio.to_thread

from cellwright.agents import steering
from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.journal.log import EventLog
from cellwright.notebook.document import DEFAULT_NAME, Cell
from cellwright.notebook.files import SaveConflict, read, save
from cellwright.policy.approvals import Person
from cellwright.tools.history.live import LiveHistory
from cellwright.tools.history.moves import (
    RESTORE_TEXTS,
    BeforeCell,
    HistoryOutcome,
    Move,
    Moved,
    MoveRefused,
    NothingToMove,
    PlannedTarget,
    Redo,
    Target,
    UndoAgent,
    UndoAll,
    UndoCell,
    UndoChange,
    change_text,
    moved_cells,
    plan,
)
from cellwright.tools.history.timeline import Revision, RevisionTimeline, read_timeline, write_timeline
from cellwright.tools.notebook.cell_changes import CellDiff
from cellwright.tools.notebook.editor import NotebookEditor

_LONGEST_MESSAGE: Final = 4_000
REDO_HINT: Final = "Take that change back first; what was undone still stands among the changes of the run."


def undo_target(step: int | None) -> UndoChange | UndoAll:
    """One change, or all of them."""
    return UndoAll() if step is None else UndoChange(number=step)


def before_cell(cell: str, *, run: str, person: str) -> BeforeCell:
    """A change of the run under the person's name, that is undone like any other."""
    return BeforeCell(cell=cell, key=f"{run}/person:{person}/before-{uuid.uuid4().hex[:8]}")


async def move_live(history: LiveHistory, target: Target, *, run: str, log: EventLog, person: Person) -> HistoryOutcome:
    """Move the open notebook of a run at work; its agents hear of it before their next step."""
    outcome = await history.move(target)
    if isinstance(outcome, Moved) and (text := _message(target, outcome)):
        await steering.say(log, run, text[:_LONGEST_MESSAGE], person)
    return outcome


def _message(target: Target, moved: Moved) -> str:
    cells = "; ".join(moved.cells)
    match target:
        case UndoAll() | UndoChange():
            return f"I undid changes of yours in the notebook: {cells}"
        case Redo():
            return f"I took back the last undo; this is in the notebook again: {cells}"
        case BeforeCell(cell=cell):
            return f"I took the notebook back to right before the cell {cell!r} ran: look at it before you go on."
        case _:
            # One cell's review says more, and backtracking is the run's own.
            return ""


# ── a task that failed ──

_BAD: Final = frozenset({"failed", "interrupted", "cancelled", "lost"})
_BACKTRACKED: Final = "What it left did not run: the notebook is again what it was before this task."


async def backtrack(editor: NotebookEditor, agent: str) -> str:
    """Be what the notebook was before this agent's first change, if it left cells that do not run. Says what was done.

    A second time it does nothing and says the same.
    """
    await editor.sync()
    timeline = editor.timeline
    made = [change for change in timeline.changes if change.agent == agent]
    standing = [change for change in timeline.standing if change.agent == agent]
    if not standing:
        return _BACKTRACKED if made and _was_backtracked(timeline, made) else ""
    if not _is_broken(editor, standing):
        return ""
    try:
        moved = await editor.history.move(UndoAgent(agent=agent))
    except Unavailable as error:
        return f"What it left does not run, and could not be taken back: {error.message}"
    if not isinstance(moved, Moved):
        return ""
    kept = f" Not these, which somebody changed since: {'; '.join(moved.kept)}." if moved.kept else ""
    return f"{_BACKTRACKED} {RESTORE_TEXTS[moved.by]}{kept}"


def _is_broken(editor: NotebookEditor, made: list[Revision]) -> bool:
    """Whether a cell that the agent changed, or one that ran before it came, has no result now."""
    notebook = editor.notebook
    touched = {diff.id for change in made for diff in change.changes} | set(made[0].ran_before or ())
    here = {cell.id for cell in notebook.document.cells} & touched
    return any(cell in here and outcome.status in _BAD for cell, outcome in notebook.outcomes.items())


def _was_backtracked(timeline: RevisionTimeline, made: list[Revision]) -> bool:
    """Whether the process ended right after it was taken back: an agent's own undo is another thing."""
    counting = timeline.revisions[: timeline.cursor]
    undone = {number for revision in counting if revision.is_persons_undo for number in revision.reverts}
    return all(change.number in undone for change in made)


# ── what the run did, change by change and cell by cell ──

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


# ── in its file, for a run that is not at work: nothing runs, only cells go back ──

_SAVES: Final = 5
"""How often it is tried while somebody else keeps saving the file."""
_NOTHING: Final = "Nothing is remembered of what this run did to a notebook."
_RUN_IS_OVER: Final = "The run is not at work: what was before single cells is kept only as long as its kernel is."


@dataclass(frozen=True, slots=True, kw_only=True)
class FileHistory:
    """What is remembered of a run's notebook, and its file."""

    notebook: Path
    stored: Path
    """The timeline's file."""

    async def move(self, target: Target) -> HistoryOutcome:
        """Change the file and what is remembered.

        Raises `UserError` for a notebook that cannot be read or a change that never was, `Unavailable` if the file
        changes faster than it can be saved.
        """
        if isinstance(target, BeforeCell):
            return MoveRefused(why=_RUN_IS_OVER)
        return await anyio.to_thread.run_sync(self._move, target)

    def _move(self, target: PlannedTarget) -> HistoryOutcome:
        known = read_timeline(self.stored)
        if known is None:
            return MoveRefused(why=_NOTHING) if isinstance(target, UndoCell) else NothingToMove(why=_NOTHING)
        for _ in range(_SAVES):
            file = read(self.notebook)
            timeline, found = known.settled(file.document)
            move = plan(timeline, found, target)
            if not isinstance(move, Move):
                return move
            if not isinstance(save(replace(file, document=found), move.document), SaveConflict):
                # The file first: if this process ends here, the next move finds the cells so, and only remembers.
                write_timeline(self.stored, _after(timeline, found.cells, move))
                return replace(move.outcome, by="file")
        raise Unavailable("The notebook's file changes faster than it can be saved.", hint="Try again.")


def _after(timeline: RevisionTimeline, before: tuple[Cell, ...], move: Move) -> RevisionTimeline:
    """Cells that are other ones now have not run."""
    codes = {cell.id: cell.code for cell in before}
    same = {cell.id for cell in move.document.cells if codes.get(cell.id) == cell.code}
    done = timeline if move.revision is None else timeline.append(move.revision)
    return done.of(move.document, tuple(cell for cell in timeline.ran if cell in same))
