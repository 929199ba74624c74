"""`/notebooks`: those that are open and those in the folder; their cells, variables, kernels and editor."""

from __future__ import annotations

from typing import Annotated, Final
from weakref import WeakKeyDictionary

import anyio
import anyio.to_thread
from fastapi import APIRouter, Depends, Path

from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.kernel import OpenNotebook, RunWhat
from cellwright.notebook import read
from cellwright.server.web import notebook_views as views
from cellwright.server.web.admission import needs
from cellwright.server.web.callers import Caller
from cellwright.server.web.house import House
from cellwright.server.web.kernel_use import kernels_use
from cellwright.server.web.notebook_files import find_notebooks
from cellwright.server.web.notebook_places import Notebooks as Places
from cellwright.server.web.notebook_stream import notebook_stream
from cellwright.server.web.problems import Conflict, NotFound
from cellwright.server.web.shapes.notebooks import (
    EditorAddress,
    NotebookDetail,
    NotebookLine,
    NotebookName,
    Notebooks,
    Noted,
    Place,
    Ran,
    Variables,
    WhatToRun,
)

NotebookId = Annotated[str, Path(min_length=1, max_length=200)]
Reader = Annotated[Caller, Depends(needs("read"))]
Steerer = Annotated[Caller, Depends(needs("steer"))]
_LOOK_SECONDS: Final = 5
_TAGS: Final = ["notebooks"]


def notebooks_routes(house: House) -> APIRouter:
    """Notebooks."""
    router = APIRouter()
    places = Places(house)
    _add_list(router, house, places)
    _add_looking(router, house, places)
    _add_running(router, house, places)
    _add_editor(router, house, places)
    router.include_router(notebook_stream(house, places))
    return router


def _add_list(router: APIRouter, house: House, places: Places) -> None:
    @router.get(
        "/notebooks", operation_id="list_notebooks", summary="Open notebooks, and those in the folder", tags=[*_TAGS]
    )
    async def list_notebooks(_: Reader) -> Notebooks:
        live = places.live()
        used = await kernels_use(live)
        found = await anyio.to_thread.run_sync(find_notebooks, house.folder)
        open_paths = {notebook.path for notebook in live.values()}
        return Notebooks(
            notebooks=[
                *(
                    NotebookLine(
                        id=id,
                        path=views.shown_path(notebook.path, house.folder),
                        run=places.run_of(id),
                        is_live=True,
                        cells=len(notebook.document.cells),
                        kernel=views.kernel_shape(used.get(id)),
                    )
                    for id, notebook in live.items()
                ),
                *(
                    NotebookLine(
                        id=each.id,
                        path=views.shown_path(each.path, house.folder),
                        run=None,
                        is_live=False,
                        cells=each.cells,
                        kernel=None,
                    )
                    for each in found
                    if each.path not in open_paths
                ),
            ]
        )

    @router.post(
        "/notebooks", operation_id="open_notebook", summary="Open a notebook with a kernel of its own", tags=[*_TAGS]
    )
    async def open_notebook(_: Steerer, body: Place) -> NotebookName:
        return NotebookName(id=await places.open(body.path))

    @router.delete(
        "/notebooks/{id}", operation_id="close_notebook", summary="Save a notebook and end its kernel", tags=[*_TAGS]
    )
    async def close_notebook(_: Steerer, id: NotebookId) -> Noted:
        if places.run_of(id) is not None:
            raise Conflict(f"The run {id!r} works in this notebook.", hint="Stop the run; then its notebook is closed.")
        if not await places.close(id):
            raise NotFound(f"No notebook {id!r} is open.", hint="See GET /notebooks.")
        return Noted(id=id, note="Saved, and its kernel has ended.")


def _add_looking(router: APIRouter, house: House, places: Places) -> None:
    looks = WeakKeyDictionary[OpenNotebook, views.CellViews]()

    @router.get(
        "/notebooks/{id}", operation_id="read_notebook", summary="A notebook's cells as they stand", tags=[*_TAGS]
    )
    async def read_notebook(_: Reader, id: NotebookId) -> NotebookDetail:
        notebook = places.find(id)
        if notebook is None:
            path = await places.path_of(id)
            document, outcomes = (await anyio.to_thread.run_sync(read, path)).document, {}
        else:
            path, document, outcomes = notebook.path, notebook.document, views.live_outcomes(notebook)
        seen = views.CellViews(house.masker)
        if notebook is not None:
            seen = looks.setdefault(notebook, seen)
        cells = await anyio.to_thread.run_sync(seen.look, document, outcomes)
        return NotebookDetail(
            id=id,
            path=views.shown_path(path, house.folder),
            run=places.run_of(id),
            is_live=notebook is not None,
            version=views.version_of(document),
            cells=cells,
        )

    @router.get(
        "/notebooks/{id}/variables", operation_id="list_variables", summary="What the cells have defined", tags=[*_TAGS]
    )
    async def list_variables(_: Reader, id: NotebookId) -> Variables:
        notebook = await places.get(id)
        if notebook.current is None:
            with anyio.move_on_after(_LOOK_SECONDS):
                found = await notebook.look()
                return Variables(variables=views.variables(found, house.masker), is_fresh=True)
        known = [each for outcome in views.live_outcomes(notebook).values() for each in outcome.variables]
        return Variables(variables=views.variables(known, house.masker), is_fresh=False)


def _add_running(router: APIRouter, house: House, places: Places) -> None:
    @router.post(
        "/notebooks/{id}/run", operation_id="run_cells", summary="Run cells and what depends on them", tags=[*_TAGS]
    )
    async def run_cells(_: Steerer, id: NotebookId, body: WhatToRun) -> Ran:
        notebook = await places.get(id)
        what = body.cells if isinstance(body.cells, str) else _known_cells(notebook, body.cells)
        return views.ran(await notebook.run(what, detach_after=body.wait_seconds), house.masker)

    @router.post(
        "/notebooks/{id}/interrupt", operation_id="interrupt_notebook", summary="Stop what runs", tags=[*_TAGS]
    )
    async def interrupt_notebook(_: Steerer, id: NotebookId) -> Noted:
        notebook = await places.get(id)
        was_running = notebook.current is not None
        await notebook.interrupt()
        return Noted(id=id, note="Stopped." if was_running else "Nothing was running.")


def _known_cells(notebook: OpenNotebook, cells: list[str]) -> RunWhat:
    unknown = [cell for cell in cells if notebook.document.find(CellId(cell)) is None]
    if unknown:
        raise NotFound(f"The notebook has no cell {unknown[0]!r}.", hint="See GET /notebooks/{id}.")
    return [CellId(cell) for cell in cells]


def _add_editor(router: APIRouter, house: House, places: Places) -> None:
    @router.post(
        "/notebooks/{id}/editor",
        operation_id="open_editor",
        summary="Where the editor of a notebook is, once",
        tags=[*_TAGS],
    )
    async def open_editor(caller: Steerer, id: NotebookId) -> EditorAddress:
        notebook = places.find(id)
        path = await places.path_of(id) if notebook is None else notebook.path
        if house.editor is None:
            raise Unavailable(
                f"The editor cannot be shown: {house.editor_problem or 'it is not served here'}.",
                hint="The notebook's cells are at GET /notebooks/{id}; runs work without the editor.",
            )
        notebook = notebook or await places.reopen(path)
        return EditorAddress(url=await house.editor.address(notebook, person=caller.person))
