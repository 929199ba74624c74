"""The documents of a research, put together: read in cages, kept in the state directory, and searched on the web if asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from cellwright.documents.document_store import DocumentStore
from cellwright.kernel.documents import DocumentReader
from cellwright.kernel.pool import KernelPool
from cellwright.runs.execute.workspace import Workspace
from cellwright.runs.goal.goal import Goal
from cellwright.settings import Settings
from cellwright.tools.evidence.library import Library


@asynccontextmanager
async def with_library(
    workspace: Workspace, goal: Goal, *, settings: Settings, pool: KernelPool, state: Path
) -> AsyncGenerator[Workspace]:
    """The workspace of a research with its documents; of any other goal, as it is."""
    if goal.wants != "research" or workspace.profiler is None:
        yield workspace
        return
    masker = workspace.context.masker
    store = DocumentStore(home=settings.home, mask=lambda text: masker.mask(text).text)
    reader = DocumentReader(pool=pool, tier=workspace.profiler.tier, store=store)
    library = Library(reader, goal.sources, home=state)
    try:
        yield replace(workspace, library=library)
    finally:
        library.close()
