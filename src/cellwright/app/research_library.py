"""The documents of a research, put together: read in cages, kept in the state directory; and the web, if asked for."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from cellwright.documents.document_store import DocumentStore
from cellwright.kernel.documents import DocumentReader
from cellwright.kernel.pool import KernelPool
from cellwright.runs.execute.workspace import WebAccess, Workspace
from cellwright.runs.goal.goal import Goal
from cellwright.settings import Settings
from cellwright.tools.evidence.library import Library
from cellwright.tools.evidence.server_search import ServerSearch
from cellwright.tools.evidence.web_reading import web_reading_tools
from cellwright.tools.evidence.web_search import BraveSearch, SearxngSearch, TavilySearch, WebSearch, read_search
from cellwright.tools.tool import Tool


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
        yield replace(workspace, library=library, web=tuple(_web_tools(goal, workspace, library)))
    finally:
        library.close()


def _web_tools(goal: Goal, workspace: Workspace, library: Library) -> list[Tool]:
    """None where the goal stays with its documents, or there is no network."""
    access = workspace.web_access
    if not goal.uses_web or goal.is_private or access is None:
        return []
    return web_reading_tools(library, access.fetch, _engine(goal, access))


def _engine(goal: Goal, access: WebAccess) -> WebSearch | None:
    if not goal.search:
        return None
    engine, where = read_search(goal.search)
    match engine:
        case "searxng":
            return SearxngSearch(address=where, fetch=access.fetch)
        case "brave":
            return BraveSearch(connection=where, ask=access.ask)
        case "tavily":
            return TavilySearch(connection=where, post=access.post)
        case _:
            server, _, named = where.partition("/")
            return None if access.servers is None else ServerSearch(servers=access.servers, server=server, tool=named)
