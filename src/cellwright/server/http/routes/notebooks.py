"""`/notebooks` and `/kernels`: open notebooks and those in the folder.

Their cells, variables, editor, and what kernels use.
"""

from __future__ import annotations

from typing import Annotated, Final
from weakref import WeakKeyDictionary

import anyio
import anyio.to_thread
from fastapi import APIRouter, Path

from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.kernel import CellSelection, OpenNotebook
from cellwright.notebook import read
from cellwright.server.http import notebook_views as views
from cellwright.server.http.auth.dependencies import Reader, Steerer
from cellwright.server.http.kernel_usage import KernelState, measure_kernels
from cellwright.server.http.notebook_index import NotebookIndex, find_notebooks
from cellwright.server.http.notebook_index import NotebookIndex as Places
from cellwright.server.http.notebook_views import shown_path
from cellwright.server.http.problems import Conflict, ResourceNotFound
from cellwright.server.http.resources import ApiResources
from cellwright.server.http.routes.events import notebook_event_routes
from cellwright.server.http.schemas.model import ResponseModel
from cellwright.server.http.schemas.notebooks import (
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


class KernelLine(ResponseModel):
    """One kernel, with everything in its cage."""

    run: str | None
    notebook: str
    """The notebook's path."""
    notebook_id: str
    pid: int
    memory_mb: float
    cpu_seconds: float
    state: KernelState


class Queue(ResponseModel):
    """How many runs wait for their turn, and how many have it."""

    waiting: int
    at_work: int


class Kernels(ResponseModel):
    """What this machine does for notebooks."""

    kernels: list[KernelLine]
    queue: Queue
    questions_waiting: int


def kernels_routes(house: ApiResources) -> APIRouter:
    """Kernels and the queue of runs."""
    router = APIRouter(tags=["kernels"])
    places = NotebookIndex(house)

    @router.get("/kernels", operation_id="list_kernels", summary="Kernels, the queue, and open questions")
    async def list_kernels(_: Reader) -> Kernels:
        live = places.live()
        used = await measure_kernels(live)
        going = [status for status in await house.live.records.runs() if status.is_going]
        # A run has its turn for as long as its notebook is open.
        waiting = [status for status in going if status.run not in house.live.notebooks and not status.questions]
        return Kernels(
            kernels=[
                KernelLine(
                    run=places.run_of(id),
                    notebook=shown_path(live[id].path, house.folder),
                    notebook_id=id,
                    pid=use.pid,
                    memory_mb=use.memory_mb,
                    cpu_seconds=use.cpu_seconds,
                    state=use.state,
                )
                for id, use in used.items()
            ],
            queue=Queue(waiting=len(waiting), at_work=len(going) - len(waiting)),
            questions_waiting=len(await house.live.records.questions.pending()),
        )

    return router


NotebookId = Annotated[str, Path(min_length=1, max_length=200)]
_LOOK_SECONDS: Final = 5
_TAGS: Final = ["notebooks"]


def notebooks_routes(house: ApiResources) -> APIRouter:
    """Notebooks."""
    router = APIRouter()
    places = Places(house)
    _add_list(router, house, places)
    _add_looking(router, house, places)
    _add_running(router, house, places)
    _add_editor(router, house, places)
    router.include_router(notebook_event_routes(house, places))
    return router


def _add_list(router: APIRouter, house: ApiResources, places: Places) -> None:
    @router.get(
        "/notebooks", operation_id="list_notebooks", summary="Open notebooks, and those in the folder", tags=[*_TAGS]
    )
    async def list_notebooks(_: Reader) -> Notebooks:
        live = places.live()
        used = await measure_kernels(live)
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
            raise ResourceNotFound(f"No notebook {id!r} is open.", hint="See GET /notebooks.")
        return Noted(id=id, note="Saved, and its kernel has ended.")


def _add_looking(router: APIRouter, house: ApiResources, places: Places) -> None:
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


def _add_running(router: APIRouter, house: ApiResources, places: Places) -> None:
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


def _known_cells(notebook: OpenNotebook, cells: list[str]) -> CellSelection:
    unknown = [cell for cell in cells if notebook.document.find(CellId(cell)) is None]
    if unknown:
        raise ResourceNotFound(f"The notebook has no cell {unknown[0]!r}.", hint="See GET /notebooks/{id}.")
    return [CellId(cell) for cell in cells]


def _add_editor(router: APIRouter, house: ApiResources, places: Places) -> None:
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
