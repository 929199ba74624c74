"""A lane of an open notebook: the same cells and state, going on for itself and saved to a file of its own.

Unlike a branch it is an open notebook like any other: a kernel it loses is replaced, and what had run runs again. What
it does to the project's files is dropped; whoever joins it does it again.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from cellwright.kernel.branch_kernel import BranchKernel, BranchLimits
from cellwright.kernel.branching import Fork, Forks
from cellwright.kernel.hanging import HangWatch
from cellwright.kernel.live_kernel import LiveKernel
from cellwright.kernel.orders import had_run
from cellwright.kernel.workplace import Workplace
from cellwright.notebook import NotebookFile

if TYPE_CHECKING:
    from cellwright.kernel.open_notebook import OpenNotebook

LANE_LIMITS = BranchLimits(live_seconds=None)
"""It lives as long as whoever works in it."""


@asynccontextmanager
async def open_lane(
    parent: OpenNotebook, live: LiveKernel, forks: Forks, file: NotebookFile
) -> AsyncGenerator[OpenNotebook]:
    """By a fork where that is safe; else its first call starts a kernel that runs again what had run."""
    lane = parent.twin(live.workplace.like(Workplace, files="drop"), file)
    fork = await forks.fork(LANE_LIMITS)
    kernel = await _usable(fork, forks) if isinstance(fork, Fork) else None
    if kernel is None:
        lane.run_again(had_run(parent.outcomes))
    else:
        lane.take_over(kernel, live.known)
    async with anyio.create_task_group() as tasks:
        if kernel is not None:
            tasks.start_soon(HangWatch(kernel).watch)
        try:
            yield lane
        finally:
            with anyio.CancelScope(shield=True):
                await lane.close()
                if kernel is not None:
                    await forks.leave(kernel)
        tasks.cancel_scope.cancel()


async def _usable(fork: Fork, forks: Forks) -> BranchKernel | None:
    """None where it is good for trying only, as where connections of the parent are dead in it."""
    if fork.can_stay:
        return fork.kernel
    await fork.kernel.leave()
    await forks.leave(fork.kernel)
    return None
