"""Ways through a run's history, as tests say them."""

from __future__ import annotations

from pathlib import Path

from cellwright.runs.history.history import FileHistory, NotebookChange, changes_of, undo_target
from cellwright.tools.history.moves import HistoryOutcome, Redo
from cellwright.tools.history.timeline import read_timeline
from cellwright.tools.notebook.editor import NotebookEditor


async def undo_in_file(notebook: Path, stored: Path, *, step: int | None = None) -> HistoryOutcome:
    return await FileHistory(notebook=notebook, stored=stored).move(undo_target(step))


async def redo_in_file(notebook: Path, stored: Path) -> HistoryOutcome:
    return await FileHistory(notebook=notebook, stored=stored).move(Redo())


async def undo_live(editor: NotebookEditor, *, step: int | None = None) -> HistoryOutcome:
    return await editor.history.move(undo_target(step))


async def redo_live(editor: NotebookEditor) -> HistoryOutcome:
    return await editor.history.move(Redo())


def changes_in(stored: Path) -> tuple[NotebookChange, ...]:
    known = read_timeline(stored)
    return changes_of(known) if known is not None else ()
