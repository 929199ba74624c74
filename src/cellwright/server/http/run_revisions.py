"""What people do about a run's changes: one cell's change taken back, one change undone, or all of them, and redone.

In its editor while the run is at work, in the file afterwards; whoever has the notebook open sees what became of it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import anyio.to_thread

from cellwright.app.runs import run_folder
from cellwright.app.workspaces import EDITOR_FILE
from cellwright.journal.records import RunStatus
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook import Document, SaveConflict
from cellwright.policy.approvals import Person
from cellwright.runs.history.history import FileHistory, move_live
from cellwright.runs.views.run_view import first_goal
from cellwright.server.http.auth.dependencies import status_of
from cellwright.server.http.errors import Conflict, ResourceNotFound
from cellwright.server.http.resources import ApiResources
from cellwright.tools.history.moves import HistoryOutcome, Target
from cellwright.tools.history.timeline import RevisionTimeline, read_timeline
from cellwright.tools.notebook.cell_changes import changes_between, merge, with_known_ids
from cellwright.tools.notebook.editor import NotebookEditor

_DETACH_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class RunRevisions:
    """The notebooks of runs, as they are reviewed."""

    resources: ApiResources

    async def timeline(self, run: str) -> RevisionTimeline:
        """What is remembered of a run's changes."""
        editor = self.resources.live.editors.get(run)
        if editor is not None:
            return editor.timeline
        return await anyio.to_thread.run_sync(read_timeline, self._timeline_file(run)) or RevisionTimeline()

    async def move(self, run: str, target: Target, person: Person) -> HistoryOutcome:
        """Undo or redo. Raises `Conflict`, `Unavailable`."""
        editor = await self._editor(run)
        if editor is not None:
            log = self.resources.live.records.log
            return await move_live(editor.history, target, run=run, log=log, person=person)
        path = await self._notebook(run)
        async with self._beside_editors(path):
            return await FileHistory(notebook=path, stored=self._timeline_file(run)).move(target)

    async def _editor(self, run: str) -> NotebookEditor | None:
        """The editor of a run at work; None: it has ended, its notebook is a file."""
        status: RunStatus = await status_of(self.resources.live.records, run)
        editor = self.resources.live.editors.get(run)
        if editor is None and status.is_going:
            raise Conflict("The run has not opened its notebook yet.", hint="Try again in a moment.")
        return editor

    async def _notebook(self, run: str) -> Path:
        goal = await first_goal(self.resources.live.records, run)
        if goal is None:
            raise ResourceNotFound(f"The run {run!r} has no notebook.", hint="There is nothing to take back.")
        return Path(goal.notebook)

    def _timeline_file(self, run: str) -> Path:
        return run_folder(self.resources.settings, run) / EDITOR_FILE

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
        if self.resources.opened is None:
            return None
        real = await anyio.to_thread.run_sync(path.resolve)
        of_runs = self.resources.live.notebooks
        found = (notebook for id, notebook in self.resources.opened.all().items() if id not in of_runs)
        return next((notebook for notebook in found if notebook.path == real), None)


async def _go_on_from_file(notebook: OpenNotebook, base: Document) -> None:
    """Take over what the file became since it held `base`; what the person did meanwhile stays."""
    file = await notebook.file.changed_on_disk()
    if file is None:
        return
    before, theirs = notebook.document, with_known_ids(base, file.document)
    merged = merge(base, before, theirs).document
    await notebook.adopt(replace(file, document=theirs), merged)
    changed = [change.id for change in changes_between(before, merged) if change.after is not None]
    if changed:
        await notebook.run(changed, detach_after=_DETACH_SECONDS)
