"""The notebook around a failure: its cells, whose they are, its variables, and the files its code could mean."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import anyio.to_thread

from cellwright.agents.agent_context import InspectFailure
from cellwright.agents.repair.choices import FailureContext
from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.kernel import VariablePreview
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.project_files import ProjectFiles

_FILES: Final = 5_000
_PREVIEW_TOKENS: Final = 120


def notebook_survey(editor: NotebookEditor, files: ProjectFiles) -> InspectFailure:
    """For `AgentContext.survey`: the editor's notebook, and the project's files as its code would write them."""

    async def survey(keys: Sequence[str]) -> FailureContext:
        notebook = editor.notebook
        return FailureContext(
            document=notebook.document,
            own_cells=_own_cells(editor, keys),
            previews=await _previews(editor),
            files=await anyio.to_thread.run_sync(_paths, files, notebook.path.resolve().parent),
        )

    return survey


def _own_cells(editor: NotebookEditor, keys: Sequence[str]) -> frozenset[CellId]:
    """Cells these calls made, programs included, and that nobody has changed since."""
    made: dict[CellId, str] = {}
    for revision in editor.made_by(keys):
        for change in revision.changes:
            if change.after is None:
                made.pop(change.id, None)
            elif change.before is None or change.id in made:
                made[change.id] = change.after.code
    return frozenset(cell.id for cell in editor.notebook.document.cells if made.get(cell.id) == cell.code)


async def _previews(editor: NotebookEditor) -> tuple[VariablePreview, ...]:
    try:
        return tuple(await editor.notebook.look(tokens=_PREVIEW_TOKENS))
    except Unavailable:
        # The kernel may be what failed.
        return ()


def _paths(files: ProjectFiles, folder: Path) -> tuple[str, ...]:
    """Seen from the notebook's folder. Blocking."""
    found = (entry.path for entry in files.walk(files.root) if not entry.is_folder)
    return tuple(Path(os.path.relpath(files.root / path, folder)).as_posix() for path in islice(found, _FILES))
