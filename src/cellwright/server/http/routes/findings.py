"""`/runs/{run}/findings`: a finding of a run's review, shown: its code runs where it fails, and nothing is changed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, Final

import anyio
from fastapi import Path as InPath

from cellwright.app.finding_trial import open_from_scratch, try_finding
from cellwright.errors import Unavailable, UserError
from cellwright.journal.records import RunStatus
from cellwright.runs.review.findings import JudgedFinding
from cellwright.runs.views.run_view import first_goal
from cellwright.server.http.auth.dependencies import KnownStatus, Steerer
from cellwright.server.http.errors import Conflict, ResourceNotFound
from cellwright.server.http.resources import ApiResources, ApiRouter, Resources, shared
from cellwright.server.http.schemas.runs import ShownFinding
from cellwright.tools.notebook.editor import NotebookEditor

_TIMEOUT_SECONDS: Final = 300.0
_MOST_AT_ONCE: Final = 2
"""Each may need a kernel of its own."""
_AGAIN: Final = "Try again in a moment."

router = ApiRouter(tags=["runs"])
Number = Annotated[int, InPath(ge=1, le=1_000_000, description="A finding, as the run numbers it.")]


class FindingTrials:
    """Tries findings, a few at a time and of each run one."""

    def __init__(self, resources: ApiResources, timeout_seconds: float = _TIMEOUT_SECONDS) -> None:
        self._resources = resources
        self._timeout_seconds = timeout_seconds
        self._busy = set[str]()

    async def show(self, status: RunStatus, known: JudgedFinding) -> JudgedFinding:
        """The finding as it stands in the run's notebook now. Raises `Conflict` while that cannot be seen."""
        try:
            with self._turn(status.run), anyio.fail_after(self._timeout_seconds):
                async with self._notebook(status) as editor:
                    return await try_finding(editor, known)
        except TimeoutError as problem:
            message = f"The notebook and this finding took longer than {self._timeout_seconds:g} s; both were stopped."
            raise Conflict(message, hint="Open the notebook and run the code there.") from problem

    @contextmanager
    def _turn(self, run: str) -> Generator[None]:
        if run in self._busy:
            raise Conflict("A finding of this run is being shown.", hint="Try again when that is over.")
        if len(self._busy) >= _MOST_AT_ONCE:
            raise Conflict(f"{_MOST_AT_ONCE} findings are being shown, and no more can be at once.", hint=_AGAIN)
        self._busy.add(run)
        try:
            yield
        finally:
            self._busy.remove(run)

    @asynccontextmanager
    async def _notebook(self, status: RunStatus) -> AsyncGenerator[NotebookEditor]:
        """The run's own if it has it open, else its file run from scratch."""
        resources, run = self._resources, status.run
        if (editor := resources.live.editors.get(run)) is not None:
            await _wait_for(editor)
            yield editor
            return
        if status.is_going:
            raise Conflict(
                "The run does not have its notebook open now.", hint=f"{_AGAIN} It can be once the run is over."
            )
        goal = await first_goal(resources.records, run)
        if goal is None:
            raise Conflict("The run has no notebook.", hint="There is nothing to show it in.")
        try:
            opening = open_from_scratch(run, goal, settings=resources.settings, pool=resources.live.pool)
            async with opening as editor:
                yield editor
        except UserError as problem:
            raise Conflict(problem.message, hint=problem.advice) from problem


async def _wait_for(editor: NotebookEditor) -> None:
    """Until no agent's cells run, but not for long."""
    try:
        async with editor.slot(is_persons=True):
            pass
    except Unavailable as problem:
        raise Conflict(problem.message, hint=problem.advice) from problem


Trials = Annotated[FindingTrials, shared(FindingTrials)]


@router.post("/runs/{run}/findings/{number}/show")
async def show_finding(
    _: Steerer, resources: Resources, trials: Trials, status: KnownStatus, number: Number
) -> ShownFinding:
    """Run the code of a finding in a branch of the notebook."""
    told = (await resources.views.of(status.run)).findings.get(number)
    if told is None:
        raise ResourceNotFound(f"The run has no finding {number}.", hint="GET /runs/{run} lists them.")
    began = anyio.current_time()
    now = await trials.show(status, told.judged)
    seconds = round(anyio.current_time() - began, 3)
    return ShownFinding(standing=now.standing, error=resources.masker.mask(now.error).text, seconds=seconds)
