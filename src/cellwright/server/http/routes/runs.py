"""`/runs`: every run, one of them.

Starting a new one in a notebook of its own, inside the folder that is served.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from pathlib import Path
from typing import Annotated, Final

import anyio
import anyio.to_thread
from fastapi import APIRouter, Query

from cellwright.analyst.data_search import project_files
from cellwright.data.files import split_name
from cellwright.errors import UserError
from cellwright.journal import RunId
from cellwright.journal.names import new_run_id
from cellwright.runs import Goal
from cellwright.runs.goal.request import GoalRequest, read_goal
from cellwright.runs.views.progress import delivery_of, run_json_of, run_summary_json
from cellwright.runs.views.run_view import RUN_WORKFLOW, active_notebooks, newest_first
from cellwright.server.http.auth.dependencies import Reader, RunName, Steerer, status_of
from cellwright.server.http.problems import ResourceNotFound
from cellwright.server.http.proof_cache import ProofCache
from cellwright.server.http.resources import ApiResources
from cellwright.server.http.routes.questions import asked_now
from cellwright.server.http.routes.run_steering import add_steering
from cellwright.server.http.schemas import runs as shapes
from cellwright.server.http.schemas.runs import NewRun
from cellwright.tools.project_files import ProjectFiles


class RunStarter:
    """Begins runs, one after the other: two of the same words must not get the same notebook."""

    def __init__(self, house: ApiResources) -> None:
        self._house = house
        self._turn = anyio.Lock()
        self._promised = set[str]()
        """Notebooks of runs that may not have told of them yet."""

    async def start(self, asked: NewRun, *, person: str) -> RunId:
        """The run, durable once this returns. Raises `UserError`, `RefusedByPolicy`."""
        async with self._turn:
            taken = await active_notebooks(self._house.live.records) | self._promised
            goal = await anyio.to_thread.run_sync(goal_of_request, asked, self._house.folder, person, taken)
            run = await self._house.live.start(goal, run=new_run_id())
            self._promised.add(goal.notebook)
            return run


def goal_of_request(asked: NewRun, folder: Path, person: str, taken: Collection[str]) -> Goal:
    """The goal. Raises `UserError`, and `RefusedByPolicy` for paths that are not to be had. Blocking."""
    files = ProjectFiles(folder)
    try:
        typed = GoalRequest(
            words=asked.goal,
            data=[_data(files, word) for word in asked.data],
            notebook=None if asked.notebook is None else files.locate(asked.notebook),
            models=asked.models,
            budget=asked.budget_usd,
            approve=asked.approve,
            is_private=asked.is_private,
            priority=asked.priority,
        )
        return read_goal(typed, person=person, here=files.root, taken=taken, has_data=_has_data)
    except OSError as problem:
        raise UserError(f"A path cannot be used: {problem.strerror}.", hint="Give one inside the folder.") from problem


def _data(files: ProjectFiles, word: str) -> str:
    """The word with its path absolute, and certainly inside."""
    name, path = split_name(word, files.root)
    inside = files.locate(path)
    return str(inside) if name is None else f"{name}={inside}"


def _has_data(project: Path) -> bool:
    return bool(project_files(project)[0])


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


def runs_routes(house: ApiResources) -> APIRouter:
    """Runs."""
    router = APIRouter(tags=[*_TAGS])
    _add_list(router, house)
    _add_show(router, house, ProofCache(house.settings))
    _add_start(router, house)
    add_steering(router, house)
    return router


def _add_list(router: APIRouter, house: ApiResources) -> None:
    @router.get("/runs", operation_id="list_runs", summary="Runs, the newest first")
    async def list_runs(
        _: Reader, search: Search = "", status: Status = "", limit: Limit = 50, before: Before = None
    ) -> shapes.RunLines:
        found: list[shapes.RunLine] = []
        async for line in _lines(house, before):
            if _is_meant(line, search, status):
                found.append(line)
            if len(found) > limit:
                break
        return shapes.RunLines(runs=found[:limit], next=found[limit - 1].run if len(found) > limit else None)


async def _lines(house: ApiResources, before: str | None) -> AsyncIterator[shapes.RunLine]:
    records = house.live.records
    runs = await newest_first(records, [each for each in await records.runs() if each.name == RUN_WORKFLOW])
    names = [str(each.run) for each in runs]
    if before is not None and before not in names:
        raise ResourceNotFound(f"No run {before!r}.", hint="Begin again with the first page.")
    for status in runs[names.index(before) + 1 :] if before is not None else runs:
        yield shapes.RunLine.model_validate(run_summary_json(status, await house.views.of(status.run)))


def _is_meant(line: shapes.RunLine, search: str, status: shapes.StatusFilter) -> bool:
    words = search.casefold().split()
    text = f"{line.run} {line.goal} {line.notebook.rpartition('/')[2]} {line.person}".casefold()
    return _has(line, status) and all(word in text for word in words)


def _has(line: shapes.RunLine, status: shapes.StatusFilter) -> bool:
    """`done` and `failed` are a status and a standing: a run that is done with a partial result is not `done`."""
    if not status:
        return True
    return status == (line.status if status in shapes.STATUSES else line.standing)


def _add_show(router: APIRouter, house: ApiResources, proofs: ProofCache) -> None:
    @router.get("/runs/{run}", operation_id="show_run", summary="Everything about one run")
    async def show_run(_: Reader, run: RunName) -> shapes.RunDetail:
        records = house.live.records
        status, seen = await status_of(records, run), await house.views.of(run)
        delivery = delivery_of(status.standing, seen)
        view = run_json_of(records, house.masker, status, seen)
        proof = None
        if delivery is not None:
            proof = await anyio.to_thread.run_sync(proofs.of, delivery.proof, delivery.notebook)
        known = {
            "questions": asked_now(house, status.questions),
            "proof": proof,
            "notebook_is_live": run in house.live.notebooks,
        }
        return shapes.RunDetail.model_validate({**view, **known})


def _add_start(router: APIRouter, house: ApiResources) -> None:
    starts = RunStarter(house)

    @router.post("/runs", operation_id="start_run", summary="Begin a run", status_code=201)
    async def start_run(caller: Steerer, asked: shapes.NewRun) -> shapes.RunName:
        return shapes.RunName(run=await starts.start(asked, person=caller.person))
