"""A task beside a block of code, without changing what the block raises."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio


@asynccontextmanager
async def beside(task: Callable[[], Coroutine[Any, Any, None]]) -> AsyncGenerator[None]:
    """Run the task until the block ends. An error of the block is raised as it is, not in a group."""
    problem: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(task)
        try:
            yield
        except Exception as error:  # noqa: BLE001 - raised again below, outside the group
            problem = error
        tasks.cancel_scope.cancel()
    if problem is not None:
        raise problem
