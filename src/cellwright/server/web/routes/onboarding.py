"""`/onboarding`: what a newcomer is offered: the analyst on bundled data, and a tutorial notebook."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Depends, Path

from cellwright.app.bundled import DATASETS, TUTORIAL_TITLE, Dataset, copy_dataset, dataset_named, write_tutorial
from cellwright.errors import UserError
from cellwright.runs.finding import RUN, going_notebooks
from cellwright.runs.goal import Goal
from cellwright.runs.goal_reading import Typed, read_goal
from cellwright.runs.workers import ANALYST
from cellwright.server.web.admission import needs
from cellwright.server.web.callers import Caller
from cellwright.server.web.house import House
from cellwright.server.web.notebook_places import Notebooks
from cellwright.server.web.notebook_views import shown_path
from cellwright.server.web.problems import NotFound
from cellwright.server.web.shapes.notebooks import NotebookName
from cellwright.server.web.shapes.shape import Shape

Steerer = Annotated[Caller, Depends(needs("steer"))]


class DatasetShape(Shape):
    """A data set to try the analyst on."""

    id: str
    title: str
    files: list[str]
    question: str
    """What the analyst will be asked."""


class Onboarding(Shape):
    """What a newcomer is offered."""

    is_first: bool
    """Nobody has started a run here yet."""
    datasets: list[DatasetShape]
    tutorial: str
    """The title of the tutorial notebook."""


class Begun(Shape):
    """The run that has begun."""

    run: str


def onboarding_routes(house: House) -> APIRouter:
    """First steps."""
    router = APIRouter(tags=["onboarding"])
    places = Notebooks(house)

    @router.get("/onboarding", operation_id="read_onboarding", summary="What a newcomer is offered")
    async def read_onboarding(_: Annotated[Caller, Depends(needs("read"))]) -> Onboarding:
        return Onboarding(
            is_first=not any(status.name == RUN for status in await house.live.records.runs()),
            datasets=[
                DatasetShape(id=each.id, title=each.title, files=[*each.files], question=each.question)
                for each in DATASETS
            ],
            tutorial=TUTORIAL_TITLE,
        )

    # Before the other: a data set cannot be called "tutorial".
    @router.post(
        "/onboarding/tutorial", operation_id="open_tutorial", summary="Write the tutorial notebook and open it"
    )
    async def open_tutorial(_: Steerer) -> NotebookName:
        path = await anyio.to_thread.run_sync(write_tutorial, house.folder)
        return NotebookName(id=await places.open(shown_path(path, house.folder)))

    @router.post("/onboarding/{id}", operation_id="try_dataset", summary="Let the analyst work on a bundled data set")
    async def try_dataset(caller: Steerer, id: Annotated[str, Path(min_length=1, max_length=100)]) -> Begun:
        try:
            dataset = dataset_named(id)
        except UserError as error:
            raise NotFound(error.message, hint=error.hint) from None
        taken = await going_notebooks(house.live.records)
        goal = await anyio.to_thread.run_sync(_goal, house, dataset, caller.person, taken)
        return Begun(run=await house.live.start(goal))

    return router


def _goal(house: House, dataset: Dataset, person: str, taken: set[str]) -> Goal:
    """The data in the folder, and what is to be found out about it. Blocking."""
    files = copy_dataset(dataset, house.folder)
    typed = Typed(words=dataset.question, data=[str(path) for path in files], models=[ANALYST])
    return read_goal(typed, person=person, here=house.folder, taken=taken)
