"""`/runs`: every run, one of them, and beginning a new one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Final

import anyio.to_thread
from fastapi import APIRouter, Query

from cellwright.journal import RunStatus
from cellwright.runs.finding import RUN, newest_first
from cellwright.runs.outcome import delivery_of
from cellwright.runs.picture import Picture, see
from cellwright.runs.views import run_line, view_of
from cellwright.server.web.folding import Folded
from cellwright.server.web.house import House
from cellwright.server.web.problems import NotFound
from cellwright.server.web.proofs import Proofs
from cellwright.server.web.routes.questions import asked_now
from cellwright.server.web.routes.run_steering import add_steering
from cellwright.server.web.run_finding import Reader, RunName, Steerer, status_of
from cellwright.server.web.shapes import runs as shapes
from cellwright.server.web.starting import Starts

_TAGS: Final = ["runs"]
Search = Annotated[str, Query(max_length=200, description="In the goal, the names of run and notebook, the person.")]
Status = Annotated[
    shapes.StatusFilter,
    Query(
        description="Empty: any. A word that `status` may be (`done`, `partial`, `paused`, `build` …) gives the runs "
        "of exactly this status. `running`, `cancelled` and `dead`, which it never is, give those of this `standing`.",
    ),
]
Limit = Annotated[int, Query(ge=1, le=200)]
Before = Annotated[str | None, Query(max_length=100, description="`next` of the page before.")]


def runs_routes(house: House) -> APIRouter:
    """Runs."""
    router = APIRouter(tags=[*_TAGS])
    pictures = Folded(house.live.records.log, begin=lambda run: Picture(run=run), add=see)
    _add_list(router, house, pictures)
    _add_show(router, house, pictures, Proofs(house.settings))
    _add_start(router, house)
    add_steering(router, house)
    return router


def _add_list(router: APIRouter, house: House, pictures: Folded[Picture]) -> None:
    @router.get("/runs", operation_id="list_runs", summary="Runs, the newest first")
    async def list_runs(
        _: Reader, search: Search = "", status: Status = "", limit: Limit = 50, before: Before = None
    ) -> shapes.RunLines:
        found: list[shapes.RunLine] = []
        async for line in _lines(house, pictures, before):
            if _is_meant(line, search, status):
                found.append(line)
            if len(found) > limit:
                break
        return shapes.RunLines(runs=found[:limit], next=found[limit - 1].run if len(found) > limit else None)


async def _lines(house: House, pictures: Folded[Picture], before: str | None) -> AsyncIterator[shapes.RunLine]:
    records = house.live.records
    runs = await newest_first(records, [each for each in await records.runs() if each.name == RUN])
    names = [str(each.run) for each in runs]
    if before is not None and before not in names:
        raise NotFound(f"No run {before!r}.", hint="Begin again with the first page.")
    for status in runs[names.index(before) + 1 :] if before is not None else runs:
        yield await line_of_run(status, pictures)


async def line_of_run(status: RunStatus, pictures: Folded[Picture]) -> shapes.RunLine:
    """One run of many."""
    return shapes.RunLine.model_validate(run_line(status, await pictures.of(status.run)))


def _is_meant(line: shapes.RunLine, search: str, status: shapes.StatusFilter) -> bool:
    words = search.casefold().split()
    text = f"{line.run} {line.goal} {line.notebook.rpartition('/')[2]} {line.person}".casefold()
    return _has(line, status) and all(word in text for word in words)


def _has(line: shapes.RunLine, status: shapes.StatusFilter) -> bool:
    """`done` and `failed` are a status and a standing: a run that is done with a partial result is not `done`."""
    if not status:
        return True
    return status == (line.status if status in shapes.STATUSES else line.standing)


def _add_show(router: APIRouter, house: House, pictures: Folded[Picture], proofs: Proofs) -> None:
    @router.get("/runs/{run}", operation_id="show_run", summary="Everything about one run")
    async def show_run(_: Reader, run: RunName) -> shapes.RunDetail:
        records = house.live.records
        status, picture = await status_of(records, run), await pictures.of(run)
        delivery = delivery_of(status.standing, picture)
        view = await view_of(records, house.masker, status, picture)
        proof = None
        if delivery is not None:
            proof = await anyio.to_thread.run_sync(proofs.of, delivery.proof, delivery.notebook)
        known = {
            "questions": await asked_now(house, status.questions),
            "proof": proof,
            "notebook_is_live": run in house.live.notebooks,
        }
        return shapes.RunDetail.model_validate({**view, **known})


def _add_start(router: APIRouter, house: House) -> None:
    starts = Starts(house)

    @router.post("/runs", operation_id="start_run", summary="Begin a run", status_code=201)
    async def start_run(caller: Steerer, asked: shapes.NewRun) -> shapes.RunName:
        return shapes.RunName(run=await starts.start(asked, person=caller.person))
