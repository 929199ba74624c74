"""Whoever executes runs: the daemon of this state directory, or this process if there can be none."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from cellwright.cli.render import console
from cellwright.errors import Unavailable, UserError
from cellwright.server import RunClient, runs_here_or_there
from cellwright.settings import Settings


def open_run_client() -> AbstractAsyncContextManager[RunClient]:
    """Runs in the daemon, which is started if need be; else here, which is said."""
    return runs_here_or_there(Settings.read(), console.note)


@asynccontextmanager
async def open_watch_client(database: str | None, *, is_needed: bool) -> AsyncGenerator[RunClient | None]:
    """The same while a run is watched; None for a journal that was named, or that another process works on."""
    async with AsyncExitStack() as stack:
        client: RunClient | None = None
        if is_needed and database is None:
            try:
                client = await stack.enter_async_context(open_run_client())
            except (Unavailable, UserError) as problem:
                console.note(f"{problem.message} Watching all the same.")
        yield client
