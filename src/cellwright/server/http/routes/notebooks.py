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
from cellwright.kernel.process.call import CellSelection
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook import read
from cellwright.server.http import notebook_views as views
from cellwright.server.http.auth.dependencies import Reader, Steerer
from cellwright.server.http.errors import Conflict, ResourceNotFound
from cellwright.server.http.kernel_usage import measure_kernels
from cellwright.server.http.notebook_index import NotebookIndex, find_notebooks
from cellwright.server.http.resources import ApiResources
from cellwright.server.http.routes.events import notebook_event_routes
from cellwright.server.http.schemas import notebooks as shapes
from cellwright.server.http.schemas.model import ResponseModel


class KernelLine(ResponseModel):
    """One kernel, with everything in its cage."""

    run: str | None
    notebook: str
    """The notebook's path."""
    notebook_id: str
    pid: int
    memory_mb: float
    cpu_seconds: float
    state: shapes.KernelState


class Queue(ResponseModel):
    """How many runs wait for their turn, and how many have it."""

    waiting: int
    at_work: int


class Kernels(ResponseModel):
    """What this machine does for notebooks."""

    kernels: list[KernelLine]
    queue: Queue
    questions_waiting: int


def kernels_routes(resources: ApiResources) -> APIRouter:
    """Kernels and the queue of runs."""
    router = APIRouter(tags=["kernels"])
    index = NotebookIndex(resources)

    @router.get("/kernels", operation_id="list_kernels", summary="Kernels, the queue, and open questions")
    async def list_kernels(_: Reader) -> Kernels:
        live = index.live()
        used = await measure_kernels(live)
        going = [status for status in await resources.live.records.runs() if status.is_going]
        # A run has its turn for as long as its notebook is open.
        waiting = [status for status in going if status.run not in resources.live.notebooks and not status.questions]
        return Kernels(
            kernels=[
                KernelLine(
                    run=index.run_of(id),
                    notebook=views.shown_path(live[id].path, resources.folder),
                    notebook_id=id,
                    **use.model_dump(),
                )
                for id, use in used.items()
            ],
            queue=Queue(waiting=len(waiting), at_work=len(going) - len(waiting)),
            questions_waiting=len(await resources.live.records.questions.pending()),
        )

    return router


NotebookId = Annotated[str, Path(min_length=1, max_length=200)]
_LOOK_SECONDS: Final = 5


def notebooks_routes(resources: ApiResources) -> APIRouter:
    """Notebooks."""
    router = APIRouter(tags=["notebooks"])
    index = NotebookIndex(resources)
    _add_list(router, resources, index)
    _add_looking(router, resources, index)
    _add_running(router, resources, index)
    _add_editor(router, resources, index)
    router.include_router(notebook_event_routes(resources, index))
    return router


def _add_list(router: APIRouter, resources: ApiResources, index: NotebookIndex) -> None:
    @router.get("/notebooks", operation_id="list_notebooks", summary="Open notebooks, and those in the folder")
    async def list_notebooks(_: Reader) -> shapes.Notebooks:
        live = index.live()
        used = await measure_kernels(live)
        found = await anyio.to_thread.run_sync(find_notebooks, resources.folder)
        open_paths = {notebook.path for notebook in live.values()}
        lines = [
            shapes.NotebookLine(
                id=id,
                path=views.shown_path(notebook.path, resources.folder),
                run=index.run_of(id),
                is_live=True,
                cells=len(notebook.document.cells),
                kernel=used.get(id),
            )
            for id, notebook in live.items()
        ]
        for each in found:
            if each.path not in open_paths:
                path = views.shown_path(each.path, resources.folder)
                lines.append(
                    shapes.NotebookLine(id=each.id, path=path, run=None, is_live=False, cells=each.cells, kernel=None)
                )
        return shapes.Notebooks(notebooks=lines)

    @router.post("/notebooks", operation_id="open_notebook", summary="Open a notebook with a kernel of its own")
    async def open_notebook(_: Steerer, body: shapes.Place) -> shapes.NotebookName:
        return shapes.NotebookName(id=await index.open(body.path))

    @router.delete("/notebooks/{id}", operation_id="close_notebook", summary="Save a notebook and end its kernel")
    async def close_notebook(_: Steerer, id: NotebookId) -> shapes.Noted:
        if index.run_of(id) is not None:
            raise Conflict(f"The run {id!r} works in this notebook.", hint="Stop the run; then its notebook is closed.")
        if not await index.close(id):
            raise ResourceNotFound(f"No notebook {id!r} is open.", hint="See GET /notebooks.")
        return shapes.Noted(id=id, note="Saved, and its kernel has ended.")


def _add_looking(router: APIRouter, resources: ApiResources, index: NotebookIndex) -> None:
    looks = WeakKeyDictionary[OpenNotebook, views.CellViews]()

    @router.get("/notebooks/{id}", operation_id="read_notebook", summary="A notebook's cells as they stand")
    async def read_notebook(_: Reader, id: NotebookId) -> shapes.NotebookDetail:
        notebook = index.find(id)
        if notebook is None:
            path = await index.path_of(id)
            document, outcomes = (await anyio.to_thread.run_sync(read, path)).document, {}
        else:
            path, document, outcomes = notebook.path, notebook.document, views.live_outcomes(notebook)
        seen = views.CellViews(resources.masker)
        if notebook is not None:
            seen = looks.setdefault(notebook, seen)
        cells = await anyio.to_thread.run_sync(seen.look, document, outcomes)
        return shapes.NotebookDetail(
            id=id,
            path=views.shown_path(path, resources.folder),
            run=index.run_of(id),
            is_live=notebook is not None,
            version=views.version_of(document),
            cells=cells,
        )

    @router.get("/notebooks/{id}/variables", operation_id="list_variables", summary="What the cells have defined")
    async def list_variables(_: Reader, id: NotebookId) -> shapes.Variables:
        notebook = await index.get(id)
        if notebook.current is None:
            with anyio.move_on_after(_LOOK_SECONDS):
                found = await notebook.look()
                return shapes.Variables(variables=views.variables(found, resources.masker), is_fresh=True)
        known = [each for outcome in views.live_outcomes(notebook).values() for each in outcome.variables]
        return shapes.Variables(variables=views.variables(known, resources.masker), is_fresh=False)


def _add_running(router: APIRouter, resources: ApiResources, index: NotebookIndex) -> None:
    @router.post("/notebooks/{id}/run", operation_id="run_cells", summary="Run cells and what depends on them")
    async def run_cells(_: Steerer, id: NotebookId, body: shapes.WhatToRun) -> shapes.Ran:
        notebook = await index.get(id)
        what = body.cells if isinstance(body.cells, str) else _known_cells(notebook, body.cells)
        return views.ran(await notebook.run(what, detach_after=body.wait_seconds), resources.masker)

    @router.post("/notebooks/{id}/interrupt", operation_id="interrupt_notebook", summary="Stop what runs")
    async def interrupt_notebook(_: Steerer, id: NotebookId) -> shapes.Noted:
        notebook = await index.get(id)
        was_running = notebook.current is not None
        await notebook.interrupt()
        return shapes.Noted(id=id, note="Stopped." if was_running else "Nothing was running.")


def _known_cells(notebook: OpenNotebook, cells: list[str]) -> CellSelection:
    unknown = [cell for cell in cells if notebook.document.find(CellId(cell)) is None]
    if unknown:
        raise ResourceNotFound(f"The notebook has no cell {unknown[0]!r}.", hint="See GET /notebooks/{id}.")
    return [CellId(cell) for cell in cells]


def _add_editor(router: APIRouter, resources: ApiResources, index: NotebookIndex) -> None:
    @router.post(
        "/notebooks/{id}/editor",
        operation_id="open_editor",
        summary="Where the editor of a notebook is, once",
    )
    async def open_editor(caller: Steerer, id: NotebookId) -> shapes.EditorAddress:
        notebook = index.find(id)
        path = await index.path_of(id) if notebook is None else notebook.path
        if resources.editor is None:
            raise Unavailable(
                f"The editor cannot be shown: {resources.editor_problem or 'it is not served here'}.",
                hint="The notebook's cells are at GET /notebooks/{id}; runs work without the editor.",
            )
        notebook = notebook or await index.reopen(path)
        return shapes.EditorAddress(url=await resources.editor.address(notebook, person=caller.person))
