"""Which notebook an id means: a run's, one that a person has open, or a marimo file of the folder that is served.

Files are found by their text; none is run or imported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Final

import anyio.to_thread

from cellwright.app.live_notebooks import LiveNotebooks, notebook_id
from cellwright.errors import CellwrightError, Unavailable
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.remedies import remedy
from cellwright.runs.views.run_view import first_goal
from cellwright.server.http.errors import Conflict, ResourceNotFound
from cellwright.server.http.resources import ApiResources, shared
from cellwright.tools.project_files import ProjectFiles

_DEPTH: Final = 5
_MOST_FILES: Final = 3_000
_MOST_FOUND: Final = 300
_READ_BYTES: Final = 1 << 20
_IS_NOTEBOOK: Final = re.compile(rb"(?m)^app = marimo\.App\(")
_CELL: Final = re.compile(
    rb"(?m)^(?:@app\.(?:cell|function|class_definition)\b|with app\.setup\b|app\._unparsable_cell\()"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundNotebook:
    """A notebook on disk."""

    id: str
    path: Path
    cells: int


def find_notebooks(folder: Path) -> list[FoundNotebook]:
    """A bounded number of them, in order of their paths; nothing hidden, and no links. Blocking."""
    files = ProjectFiles(folder)
    entries = (entry for entry in files.walk(files.root, depth=_DEPTH) if not entry.is_folder)
    candidates = (files.root / entry.path for entry in entries if entry.path.endswith(".py"))
    found = (_look(files, path) for path in islice(candidates, _MOST_FILES))
    return [*islice((each for each in found if each is not None), _MOST_FOUND)]


def _look(files: ProjectFiles, path: Path) -> FoundNotebook | None:
    try:
        content, _ = files.read(path, _READ_BYTES)
    except CellwrightError:
        # It went, or became something else, while we looked.
        return None
    if _IS_NOTEBOOK.search(content) is None:
        return None
    return FoundNotebook(id=notebook_id(path), path=path, cells=len(_CELL.findall(content)))


@dataclass(frozen=True, slots=True)
class NotebookIndex:
    """Every notebook that can be shown here."""

    resources: ApiResources
    opened: LiveNotebooks
    """Those that are open."""

    def run_of(self, id: str) -> str | None:
        """The run that has the notebook of this id open."""
        return id if id in self.resources.live.notebooks else None

    async def get(self, id: str) -> OpenNotebook:
        """The open notebook of this id. Raises `Conflict` if it is not open, `ResourceNotFound` if there is none."""
        notebook = self.opened.find(id)
        if notebook is None:
            await self.path_of(id)
            raise Conflict("This notebook is not open.", hint="Open it first, with POST /notebooks.")
        return notebook

    async def path_of(self, id: str) -> Path:
        """The file of a run's notebook, or of one in the folder. Raises `ResourceNotFound`."""
        if (goal := await first_goal(self.resources.records, id)) is not None:
            return Path(goal.notebook)
        for each in await anyio.to_thread.run_sync(find_notebooks, self.resources.folder):
            if each.id == id:
                return each.path
        raise ResourceNotFound(f"No notebook {id!r}.", hint="See GET /notebooks.")

    async def open(self, path: str) -> str:
        """The id of the notebook at this place in the folder, open from now on. Raises what `LiveNotebooks.open` does.

        Nothing outside the folder, and nothing that looks like a secret, can be opened.
        """
        files = ProjectFiles(self.resources.folder)
        return await self.opened.open(await anyio.to_thread.run_sync(files.locate, path))

    async def reopen(self, path: Path) -> OpenNotebook:
        """The notebook of this file, open from now on."""
        notebook = self.opened.find(await self.opened.open(path))
        if notebook is None:
            raise Unavailable("The notebook was closed at this very moment.", hint="Try again.")
        return notebook


def _index(resources: ApiResources) -> NotebookIndex:
    if resources.opened is None:
        hint = remedy("open_web", lead="They open in the control room;")
        raise Unavailable("No notebooks can be opened here.", hint=hint)
    return NotebookIndex(resources, resources.opened)


Index = Annotated[NotebookIndex, shared(_index)]
