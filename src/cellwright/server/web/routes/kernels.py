"""`/kernels`: what runs now, what it uses, and what waits."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends

from cellwright.server.web.admission import needs
from cellwright.server.web.callers import Caller
from cellwright.server.web.house import House
from cellwright.server.web.kernel_use import KernelState, kernels_use
from cellwright.server.web.notebook_places import Notebooks
from cellwright.server.web.notebook_views import shown_path
from cellwright.server.web.shapes.shape import Shape


class KernelLine(Shape):
    """One kernel, with everything in its cage."""

    run: str | None
    notebook: str
    """The notebook's path."""
    notebook_id: str
    pid: int
    memory_mb: float
    cpu_seconds: float
    state: KernelState


class Queue(Shape):
    """How many runs wait for their turn, and how many have it."""

    waiting: int
    at_work: int


class Kernels(Shape):
    """What this machine does for notebooks."""

    kernels: list[KernelLine]
    queue: Queue
    questions_waiting: int


def kernels_routes(house: House) -> APIRouter:
    """Kernels and the queue of runs."""
    router = APIRouter(tags=["kernels"])
    places = Notebooks(house)

    @router.get("/kernels", operation_id="list_kernels", summary="Kernels, the queue, and open questions")
    async def list_kernels(_: Annotated[Caller, Depends(needs("read"))]) -> Kernels:
        live = places.live()
        used = await kernels_use(live)
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
