"""A run's way through its notebook's history: at the open notebook while it is at work, in the file afterwards.

Agents at work hear what a person took back. A task that failed leaves no broken notebook behind.
"""

from __future__ import annotations

import uuid
from typing import Final

from cellwright.agents import steering
from cellwright.errors import Unavailable
from cellwright.journal import EventLog
from cellwright.policy.approvals import Person
from cellwright.tools.history.live import LiveHistory
from cellwright.tools.history.moves import (
    RESTORE_TEXTS,
    BeforeCell,
    HistoryOutcome,
    Moved,
    Redo,
    Target,
    UndoAgent,
    UndoAll,
    UndoChange,
)
from cellwright.tools.history.timeline import Revision, RevisionTimeline
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
