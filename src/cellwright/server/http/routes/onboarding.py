"""`/onboarding`: what a newcomer is offered: the analyst on bundled data, and a tutorial notebook."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
from fastapi import Path

from cellwright.app.datasets import DATASETS, TUTORIAL_TITLE, Dataset, copy_dataset, dataset_named, write_tutorial
from cellwright.errors import UserError
from cellwright.runs.goal.goal import ANALYST, Goal
from cellwright.runs.goal.request import GoalRequest, read_goal
from cellwright.runs.views.run_view import RUN_WORKFLOW, active_notebooks
from cellwright.server.http.auth.dependencies import Reader, Steerer
from cellwright.server.http.errors import ResourceNotFound
from cellwright.server.http.notebook_index import Index
from cellwright.server.http.notebook_views import shown_path
from cellwright.server.http.resources import ApiResources, ApiRouter, Resources
from cellwright.server.http.schemas.model import ResponseModel
from cellwright.server.http.schemas.notebooks import NotebookName

router = ApiRouter(tags=["onboarding"])


class DatasetShape(ResponseModel):
    """A data set to try the analyst on."""

    id: str
    title: str
    files: list[str]
    question: str
    """What the analyst will be asked."""


class Onboarding(ResponseModel):
    """What a newcomer is offered."""

    is_first: bool
    """Nobody has started a run here yet."""
    datasets: list[DatasetShape]
    tutorial: str
    """The title of the tutorial notebook."""


class Begun(ResponseModel):
    """The run that has begun."""

    run: str


@router.get("/onboarding")
async def read_onboarding(_: Reader, resources: Resources) -> Onboarding:
    """What a newcomer is offered."""
    return Onboarding(
        is_first=not any(status.name == RUN_WORKFLOW for status in await resources.records.runs()),
        datasets=[DatasetShape.model_validate(each) for each in DATASETS],
        tutorial=TUTORIAL_TITLE,
    )


@router.post("/onboarding/tutorial")
async def open_tutorial(_: Steerer, resources: Resources, index: Index) -> NotebookName:
    """Write the tutorial notebook and open it."""
    path = await anyio.to_thread.run_sync(write_tutorial, resources.folder)
    return NotebookName(id=await index.open(shown_path(path, resources.folder)))


@router.post("/onboarding/{id}")
async def try_dataset(
    caller: Steerer, resources: Resources, id: Annotated[str, Path(min_length=1, max_length=100)]
) -> Begun:
    """Let the analyst work on a bundled data set."""
    try:
        dataset = dataset_named(id)
    except UserError as error:
        raise ResourceNotFound(error.message, hint=error.advice) from None
    taken = await active_notebooks(resources.records)
    goal = await anyio.to_thread.run_sync(_goal, resources, dataset, caller.person, taken)
    return Begun(run=await resources.starts.begin(goal))


def _goal(resources: ApiResources, dataset: Dataset, person: str, taken: set[str]) -> Goal:
    """The data in the folder, and what is to be found out about it. Blocking."""
    files = copy_dataset(dataset, resources.folder)
    typed = GoalRequest(words=dataset.question, data=[str(path) for path in files], models=[ANALYST])
    return read_goal(typed, person=person, here=resources.folder, taken=taken)
