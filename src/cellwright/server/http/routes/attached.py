"""`/attached`: a notebook that is open in somebody's own marimo, looked at. Nothing is executed there.

What changes one is a run whose goal names it (`POST /runs`, `attach`): its person is asked each time.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from cellwright.server.http.auth.dependencies import Steerer
from cellwright.server.http.resources import ApiRouter, Resources
from cellwright.server.http.schemas.model import RequestModel, ResponseModel

router = ApiRouter(tags=["attached notebooks"])


class AttachedQuery(RequestModel):
    """Which notebook: a server's address, or a file that one of this machine's servers has open, or both."""

    url: Annotated[str, StringConstraints(max_length=500)] = ""
    file: Annotated[str, StringConstraints(max_length=4_096)] = ""


class AttachedCellShape(ResponseModel):
    """One cell, as its session tells it."""

    id: str
    name: str
    code: str
    version: int
    status: str
    is_stale: bool
    output: str
    console: str
    error: str
    traceback: str


class AttachedNotebookShape(ResponseModel):
    """A notebook outside any cage of ours."""

    server: str
    path: str
    cells: list[AttachedCellShape]


@router.post("/attached/look")
async def look_attached(resources: Resources, _: Steerer, asked: AttachedQuery) -> AttachedNotebookShape:
    """Its cells, outcomes and versions as they are now.

    A server on another machine is looked at only if a person kept its token here: `cellwright attach URL --keep-token`.
    """
    # Late: only who attaches waits for what speaks to other servers.
    from cellwright.app.attached_goals import look_as_program

    seen = await look_as_program(asked.url, asked.file, resources.settings)
    cells = list[AttachedCellShape]()
    for cell in seen.document.cells:
        outcome = seen.outcomes[cell.id]
        fault = outcome.error
        cells.append(
            AttachedCellShape(
                id=cell.id,
                name=cell.name,
                code=cell.code,
                version=cell.version,
                status=outcome.status,
                is_stale=cell.id in seen.stale,
                output=outcome.output.text if outcome.output is not None else "",
                console=outcome.console,
                error=f"{fault.type}: {fault.message}" if fault is not None else "",
                traceback=(fault.traceback or "") if fault is not None else "",
            )
        )
    return AttachedNotebookShape(server=seen.server, path=seen.path, cells=cells)
