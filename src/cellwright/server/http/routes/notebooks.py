"""`/notebooks` and `/kernels`: open notebooks and those in the folder.

Their cells, variables, editor, and what kernels use.
"""

from __future__ import annotations

from typing import Annotated, Final

import anyio
import anyio.to_thread
from fastapi import Path

from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.kernel.process.call import CellSelection
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.files import read
from cellwright.server.http import notebook_views as views
from cellwright.server.http.auth.dependencies import Reader, Steerer
from cellwright.server.http.errors import Conflict, ResourceNotFound
from cellwright.server.http.kernel_usage import measure_kernels
from cellwright.server.http.notebook_index import Index, find_notebooks
from cellwright.server.http.resources import ApiRouter, Resources
from cellwright.server.http.schemas import notebooks as shapes
from cellwright.server.http.schemas.model import ResponseModel

kernels_router, router = ApiRouter(tags=["kernels"]), ApiRouter(tags=["notebooks"])


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


@kernels_router.get("/kernels")
async def list_kernels(_: Reader, index: Index, resources: Resources) -> Kernels:
    """Kernels, the queue, and open questions."""
    live = index.opened.all()
    used = await measure_kernels(live)
    going = [status for status in await resources.records.runs() if status.is_going]
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
        questions_waiting=len(await resources.records.questions.pending()),
    )


NotebookId = Annotated[str, Path(min_length=1, max_length=200)]
_LOOK_SECONDS: Final = 5


@router.get("/notebooks")
async def list_notebooks(_: Reader, index: Index, resources: Resources) -> shapes.Notebooks:
    """Open notebooks, and those in the folder."""
    live = index.opened.all()
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


@router.post("/notebooks")
async def open_notebook(_: Steerer, index: Index, body: shapes.Place) -> shapes.NotebookName:
    """Open a notebook with a kernel of its own."""
    return shapes.NotebookName(id=await index.open(body.path))


@router.delete("/notebooks/{id}")
async def close_notebook(_: Steerer, index: Index, id: NotebookId) -> shapes.Noted:
    """Save a notebook and end its kernel."""
    if index.run_of(id) is not None:
        raise Conflict(f"The run {id!r} works in this notebook.", hint="Stop the run; then its notebook is closed.")
    if not await index.opened.close(id):
        raise ResourceNotFound(f"No notebook {id!r} is open.", hint="See GET /notebooks.")
    return shapes.Noted(id=id, note="Saved, and its kernel has ended.")


@router.get("/notebooks/{id}")
async def read_notebook(_: Reader, index: Index, resources: Resources, id: NotebookId) -> shapes.NotebookDetail:
    """A notebook's cells as they stand."""
    notebook = index.opened.find(id)
    if notebook is None:
        path = await index.path_of(id)
        document, outcomes = (await anyio.to_thread.run_sync(read, path)).document, {}
    else:
        path, document, outcomes = notebook.path, notebook.document, views.live_outcomes(notebook)
    cells = await anyio.to_thread.run_sync(views.cell_shapes, document, outcomes, resources.masker)
    return shapes.NotebookDetail(
        id=id,
        path=views.shown_path(path, resources.folder),
        run=index.run_of(id),
        is_live=notebook is not None,
        version=views.version_of(document),
        cells=cells,
    )


@router.get("/notebooks/{id}/variables")
async def list_variables(_: Reader, index: Index, resources: Resources, id: NotebookId) -> shapes.Variables:
    """What the cells have defined."""
    notebook = await index.get(id)
    if notebook.current is None:
        with anyio.move_on_after(_LOOK_SECONDS):
            found = await notebook.look()
            return shapes.Variables(variables=views.variables(found, resources.masker), is_fresh=True)
    known = [each for outcome in views.live_outcomes(notebook).values() for each in outcome.variables]
    return shapes.Variables(variables=views.variables(known, resources.masker), is_fresh=False)


@router.post("/notebooks/{id}/run")
async def run_cells(
    _: Steerer, resources: Resources, index: Index, id: NotebookId, body: shapes.WhatToRun
) -> shapes.Ran:
    """Run cells and what depends on them."""
    notebook = await index.get(id)
    what = body.cells if isinstance(body.cells, str) else _known_cells(notebook, body.cells)
    return views.ran(await notebook.run(what, detach_after=body.wait_seconds), resources.masker)


@router.post("/notebooks/{id}/interrupt")
async def interrupt_notebook(_: Steerer, index: Index, id: NotebookId) -> shapes.Noted:
    """Stop what runs."""
    notebook = await index.get(id)
    was_running = notebook.current is not None
    await notebook.interrupt()
    return shapes.Noted(id=id, note="Stopped." if was_running else "Nothing was running.")


def _known_cells(notebook: OpenNotebook, cells: list[str]) -> CellSelection:
    unknown = [cell for cell in cells if notebook.document.find(CellId(cell)) is None]
    if unknown:
        raise ResourceNotFound(f"The notebook has no cell {unknown[0]!r}.", hint="See GET /notebooks/{id}.")
    return [CellId(cell) for cell in cells]


@router.post("/notebooks/{id}/editor")
async def open_editor(caller: Steerer, index: Index, resources: Resources, id: NotebookId) -> shapes.EditorAddress:
    """Where the editor of a notebook is, once."""
    notebook = index.opened.find(id)
    path = await index.path_of(id) if notebook is None else notebook.path
    if resources.editor is None:
        raise Unavailable(
            f"The editor cannot be shown: {resources.editor_problem or 'it is not served here'}.",
            hint="The notebook's cells are at GET /notebooks/{id}; runs work without the editor.",
        )
    notebook = notebook or await index.reopen(path)
    return shapes.EditorAddress(url=await resources.editor.address(notebook, person=caller.person))
