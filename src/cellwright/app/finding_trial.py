"""A finding of a run, tried once more for whoever wants to see it fail: nothing is changed, kept or recorded."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import anyio

from cellwright.app.notebook_connections import NotebookConnections, open_notebook_connections
from cellwright.app.notebooks import open_notebook
from cellwright.app.runs import run_files, run_folder, run_settings
from cellwright.app.workspaces import CONNECTIONS_FILE
from cellwright.data.broker_client import BrokerClient
from cellwright.kernel.pool import KernelPool
from cellwright.runs.goal.goal import Goal
from cellwright.runs.review.findings import JudgedFinding
from cellwright.runs.review.judging import judge_findings
from cellwright.sandbox.spec import Limits
from cellwright.settings import Settings
from cellwright.tools.notebook.editor import NotebookEditor

RUN_SECONDS: Final = 240.0
"""For all cells of a notebook that is run from scratch."""


async def try_finding(editor: NotebookEditor, known: JudgedFinding) -> JudgedFinding:
    """The finding as it stands in this notebook now. What failed once and holds now is mended."""
    [now] = await judge_findings(editor, [known.finding])
    is_mended = known.standing != "not shown" and now.standing == "not shown" and not now.error
    return replace(now, standing="mended") if is_mended else now


@asynccontextmanager
async def open_from_scratch(
    run: str, goal: Goal, *, settings: Settings, pool: KernelPool
) -> AsyncGenerator[NotebookEditor]:
    """The notebook of a run that has none open: all cells have run in a cage of its own, as the check runs them.

    With the run's files and limits and without a network; files it changes are forgotten. Raises `UserError` if the
    notebook is not there any more or is none, `RefusedByPolicy`, `Unavailable`.
    """
    connections = open_notebook_connections(
        BrokerClient(launch=settings.broker_launch()),
        notebook=Path(goal.notebook),
        project=Path(goal.project),
        person=goal.person,
        run=run,
        named=goal.connections,
        may_query=lambda _: False,
        kept=run_folder(settings, run) / CONNECTIONS_FILE,
    )
    async with (
        connections as allowed,
        _opened(run, goal, settings=settings, pool=pool, connections=allowed) as editor,
    ):
        yield editor


@asynccontextmanager
async def _opened(
    run: str, goal: Goal, *, settings: Settings, pool: KernelPool, connections: NotebookConnections
) -> AsyncGenerator[NotebookEditor]:
    opening = open_notebook(
        Path(goal.notebook),
        connections=connections,
        files=replace(await run_files(goal), mode="drop"),
        limits=Limits.parse(goal.limits),
        python=goal.python,
        pool=pool,
        settings=await run_settings(settings, run),
    )
    # What is remembered of a run's changes is its own: this notebook is only looked at.
    async with anyio.TemporaryDirectory() as folder, opening as notebook:
        await notebook.run("all", seconds=RUN_SECONDS)
        yield await NotebookEditor.open(notebook, Path(folder) / "timeline.json")
