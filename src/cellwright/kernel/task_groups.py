"""Task groups: errors that come out as they were raised, and waiting for the first of several events."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import anyio


@contextmanager
def unwrap_single_error() -> Generator[None]:
    """Around a task group: when exactly one thing went wrong, raise that thing and not a group of one.

    Whoever writes `async with open_notebook(…)` expects the exception of their own block to come out as it is.
    """
    try:
        yield
    except BaseExceptionGroup as group:
        alone: BaseException = group
        while isinstance(alone, BaseExceptionGroup) and len(alone.exceptions) == 1:
            alone = alone.exceptions[0]
        if isinstance(alone, BaseExceptionGroup):
            raise
        raise alone from alone.__cause__


async def wait_for_any(*events: anyio.Event) -> None:
    """Until one of them is set."""
    async with anyio.create_task_group() as tasks:

        async def wait(event: anyio.Event) -> None:
            await event.wait()
            tasks.cancel_scope.cancel()

        for event in events:
            tasks.start_soon(wait, event)
