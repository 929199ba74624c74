"""Whoever carries runs out: the daemon of this state directory, or this process if there can be none."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from cellwright.cli import render
from cellwright.errors import Unavailable, UserError
from cellwright.server import RunsDoor, runs_here_or_there
from cellwright.settings import Settings


def open_door() -> AbstractAsyncContextManager[RunsDoor]:
    """Runs in the daemon, which is started if need be; else here, which is said."""
    return runs_here_or_there(Settings.read(), render.note)


@asynccontextmanager
async def somebody_at_work(database: str | None, *, is_needed: bool) -> AsyncGenerator[RunsDoor | None]:
    """The same while a run is watched; None for a journal that was named, or that another process works on."""
    async with AsyncExitStack() as stack:
        door: RunsDoor | None = None
        if is_needed and database is None:
            try:
                door = await stack.enter_async_context(open_door())
            except (Unavailable, UserError) as problem:
                render.note(f"{problem.message} Watching all the same.")
        yield door
