"""The recorded run: what it works on, and runs whose agents ask a recording instead of the gateway."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import anyio.to_thread

from cellwright.agents.agent_context import ModelAccess
from cellwright.agents.project_additions import Addition
from cellwright.agents.trust_store import TrustStore
from cellwright.app.notebooks import Files, open_pool
from cellwright.app.runs import Runs, run_folder
from cellwright.app.verification import check_outcome, verify_notebook
from cellwright.app.workspaces import WorkspaceOptions, masker_of, open_workspace
from cellwright.journal.journal import Journal
from cellwright.models.client.gateway_process import GatewayLaunch
from cellwright.runs.deliver.delivery import CheckOutcome
from cellwright.runs.events import EVENT_TYPES
from cellwright.runs.execute.files import mounts_of
from cellwright.runs.execute.slots import RunSlots, SlotLimits
from cellwright.runs.execute.workflow import run_workflows
from cellwright.runs.execute.workspace import ContextRegistry, RunResources, Workspace
from cellwright.runs.goal.goal import Goal
from cellwright.settings import Settings
from tests.conftest import notebook_source

TALK: Final = Path(__file__).parent / "sales.jsonl"
"""The conversation."""
NOTEBOOK: Final = Path(__file__).parent / "sales.txt"
"""The notebook that came of it."""
RUN: Final = "recorded"
WORDS: Final = "Which month had more sales, and by how much?"
SALES: Final = "region,month,amount\nnorth,2025-07,120\nsouth,2025-07,80\nnorth,2025-08,90\nsouth,2025-08,75\n"
NOWHERE: Final = """
[endpoints.near]
kind = "openai-chat"
base_url = "{base_url}"
key = "none"
local = true
[models."near:one"]
tools = true
schema = true
input_price_per_million = "1 USD"
output_price_per_million = "2 USD"
"""
"""How the gateway is told of models. Asked or not, that of a replay has nobody behind it."""


def lay_out(project: Path) -> None:
    """The files the run works on. No header: the check needs no package index."""
    (project / "sales.csv").write_text(SALES)
    (project / "sales.py").write_text(notebook_source("import marimo as mo", "import pandas as pd"))


def goal_in(project: Path, models: Sequence[str] = ("near:one",)) -> Goal:
    return Goal(
        words=WORDS,
        notebook=str(project / "sales.py"),
        project=str(project),
        person="ada",
        data=(str(project / "sales.csv"),),
        models=tuple(models),
        approve="never",
    )


Tell = Callable[[ModelAccess], ModelAccess]
"""From the gateway to whoever answers instead."""


@asynccontextmanager
async def open_retold_runs(settings: Settings, launch: GatewayLaunch, tell: Tell) -> AsyncGenerator[Runs]:
    """As `open_runs` does, but for whom agents ask."""
    async with open_pool(settings) as pool, open_pool(settings) as other:

        async def files_of(goal: Goal) -> Files:
            data = await anyio.to_thread.run_sync(mounts_of, goal)
            return Files(project=Path(goal.project), data=data)

        @asynccontextmanager
        async def open_place(run: str, goal: Goal, additions: Sequence[Addition]) -> AsyncGenerator[Workspace]:
            options = WorkspaceOptions(
                settings=settings,
                files=await files_of(goal),
                launch=launch,
                pool=pool,
                state=run_folder(settings, run),
                is_offline=True,
                additions=additions,
            )
            opening = open_workspace(
                goal.notebook, workflow=run, records=journal.records, person=goal.person, options=options
            )
            async with opening as workplace:
                studio = replace(workplace.context, models=tell(workplace.context.models))
                yield Workspace(editor=workplace.editor, context=studio, rules=workplace.rules)

        async def check(_run: str, goal: Goal, _opinion: str) -> CheckOutcome:
            files = await files_of(goal)
            verified = await verify_notebook(
                Path(goal.notebook), files=files, pool=pool, other=other, settings=settings
            )
            return check_outcome(*verified)

        turns = RunSlots(SlotLimits(), note=_note, idle=_nobody)
        driver = RunResources(
            open_workspace=open_place,
            contexts=ContextRegistry(),
            turns=turns,
            check=check,
            trust=TrustStore(settings.ready_home()),
            masker=masker_of(settings),
        )
        place = settings.ready_home() / "journal.db"
        async with Journal.open(
            place, version="recorded", workflows=run_workflows(driver), types=EVENT_TYPES
        ) as journal:
            yield Runs(journal, settings, pool)


async def _note(run: str, why: str) -> None:
    raise AssertionError(f"{run} waits: {why}")


async def _nobody() -> Collection[str]:
    return ()
