"""What people do about a run's changes: one cell's change taken back, one change undone, or all of them, and redone.

At the desk while the run is at work, in the file afterwards; a person who has the notebook open sees what became of it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import anyio.to_thread

from cellwright.app.runs import run_folder
from cellwright.app.workspaces import EDITOR_FILE
from cellwright.ids import CellId
from cellwright.journal import RunStatus
from cellwright.kernel import OpenNotebook
from cellwright.notebook import Document, SaveConflict
from cellwright.runs.history.restore import (
    RUN_IS_OVER,
    CellRevertOutcome,
    RedoOutcome,
    go_before_cell_live,
    redo_in_file,
    redo_live,
    revert_cell_in_file,
    revert_cell_live,
)
from cellwright.runs.history.undo import UndoOutcome, undo_in_file, undo_live
from cellwright.runs.views.run_view import first_goal
from cellwright.server.http.auth.dependencies import status_of
from cellwright.server.http.problems import Conflict, ResourceNotFound
from cellwright.server.http.resources import ApiResources
from cellwright.tools.notebook.cell_changes import changes_between, merge, with_known_ids
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.revisions import EditorState, read_editor_state

_DETACH_SECONDS: Final = 0.5
_MAX_MESSAGE: Final = 4_000


@dataclass(frozen=True, slots=True)
class RunRevisions:
    """The notebooks of runs, as they are reviewed."""

    house: ApiResources

    async def memory(self, run: str) -> EditorState:
        """What is remembered of a run's changes."""
        desk = self.house.live.desks.get(run)
        if desk is not None:
            return desk.memory
        return await anyio.to_thread.run_sync(read_editor_state, self._memory_file(run)) or EditorState()

    async def take_back(self, run: str, number: int, cell: CellId) -> CellRevertOutcome:
        """One cell's change. Raises `Conflict`, `Unavailable`."""
        desk = await self._desk(run)
        if desk is not None:
            return await revert_cell_live(desk, number, cell)
        path = await self._notebook(run)
        async with self._beside_editors(path):
            return await revert_cell_in_file(path, self._memory_file(run), number, cell)

    async def undo(self, run: str, step: int | None) -> UndoOutcome:
        """One change or all. Raises `Conflict`, `Unavailable`."""
        desk = await self._desk(run)
        if desk is not None:
            return await undo_live(desk, step=step)
        path = await self._notebook(run)
        async with self._beside_editors(path):
            return await undo_in_file(path, self._memory_file(run), step=step)

    async def go_before(self, run: str, cell: str, person: str) -> UndoOutcome:
        """All as it was right before a cell last ran, while the run is at work. Raises `Conflict`, `Unavailable`."""
        desk = await self._desk(run)
        return RUN_IS_OVER if desk is None else await go_before_cell_live(desk, cell, run=run, person=person)

    async def redo(self, run: str) -> RedoOutcome:
        """The last undo, taken back. Raises `Conflict`, `Unavailable`."""
        desk = await self._desk(run)
        if desk is not None:
            return await redo_live(desk)
        path = await self._notebook(run)
        async with self._beside_editors(path):
            return await redo_in_file(path, self._memory_file(run))

    async def _desk(self, run: str) -> NotebookEditor | None:
        """The desk of a run at work; None: it has ended, its notebook is a file."""
        status: RunStatus = await status_of(self.house.live.records, run)
        desk = self.house.live.desks.get(run)
        if desk is None and status.is_going:
            raise Conflict("The run has not opened its notebook yet.", hint="Try again in a moment.")
        return desk

    async def _notebook(self, run: str) -> Path:
        goal = await first_goal(self.house.live.records, run)
        if goal is None:
            raise ResourceNotFound(f"The run {run!r} has no notebook.", hint="There is nothing to take back.")
        return Path(goal.notebook)

    def _memory_file(self, run: str) -> Path:
        return run_folder(self.house.settings, run) / EDITOR_FILE

    # ── whoever has the file open ──

    @asynccontextmanager
    async def _beside_editors(self, path: Path) -> AsyncGenerator[None]:
        """Inside, the file may be changed: a notebook that a person has open goes on from what it became."""
        notebook = await self._opened(path)
        if notebook is None:
            yield
            return
        if isinstance(await notebook.save(), SaveConflict):
            raise Conflict("The notebook's file was changed elsewhere.", hint="Save or close it first.")
        base = notebook.document
        yield
        await _go_on_from_file(notebook, base)

    async def _opened(self, path: Path) -> OpenNotebook | None:
        if self.house.opened is None:
            return None
        real = await anyio.to_thread.run_sync(path.resolve)
        of_runs = self.house.live.notebooks
        found = (notebook for id, notebook in self.house.opened.all().items() if id not in of_runs)
        return next((notebook for notebook in found if notebook.path == real), None)


async def _go_on_from_file(notebook: OpenNotebook, base: Document) -> None:
    """Take over what the file became since it held `base`; what the person did meanwhile stays."""
    file = await notebook.changed_on_disk()
    if file is None:
        return
    before, theirs = notebook.document, with_known_ids(base, file.document)
    merged = merge(base, before, theirs).document
    await notebook.adopt(replace(file, document=theirs), merged)
    changed = [change.id for change in changes_between(before, merged) if change.after is not None]
    if changed:
        await notebook.run(changed, detach_after=_DETACH_SECONDS)


def undo_message(cells: Sequence[str]) -> str:
    """What agents at work hear of an undo."""
    return f"I undid changes of yours in the notebook: {'; '.join(cells)}"[:_MAX_MESSAGE]


def rewind_message(cell: str) -> str:
    """What they hear of a journey to before a cell."""
    return f"I took the notebook back to right before the cell {cell!r} ran: look at it before you go on."


def redo_message(cells: Sequence[str]) -> str:
    """What they hear of a redo."""
    return f"I took back the last undo; this is in the notebook again: {'; '.join(cells)}"[:_MAX_MESSAGE]
