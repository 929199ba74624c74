"""Makes the branches of one notebook: by a fork where that is safe, else in a kernel that is given what it needs.

A parallel branch, unlike a trial one, is an open notebook like any other: it is saved to a file of its own, and a
kernel it loses is replaced. What it does to the project's files is dropped; whoever joins it does it again.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from cellwright.errors import Unavailable
from cellwright.kernel.branches.branch import Branch
from cellwright.kernel.branches.branch_kernel import BranchKernel, BranchLimits, HangWatch
from cellwright.kernel.branches.fresh_runtime import FreshRuntime
from cellwright.kernel.branches.runtime import BranchRuntime, ForkRuntime, Forks, KernelFork, NoFork
from cellwright.kernel.observation import BranchMethod
from cellwright.kernel.process.kernel import Kernel
from cellwright.kernel.process.live_kernel import LiveKernel
from cellwright.kernel.process.provisioner import KernelProvisioner
from cellwright.kernel.process.run_request import cells_that_ran
from cellwright.kernel.process.side_calls import SideCalls
from cellwright.notebook import Document, NotebookFile
from cellwright.sandbox import KeepReport

if TYPE_CHECKING:
    from cellwright.kernel.session.open_notebook import OpenNotebook


PARALLEL_BRANCH_LIMITS = BranchLimits(live_seconds=None)
"""It lives as long as whoever works in it."""


@asynccontextmanager
async def open_parallel_branch(
    parent: OpenNotebook, live: LiveKernel, forks: Forks, file: NotebookFile
) -> AsyncGenerator[OpenNotebook]:
    """By a fork where that is safe; else its first call starts a kernel that runs again what had run."""
    lane = parent.twin(live.workplace.like(KernelProvisioner, files="drop"), file)
    fork = await forks.fork(PARALLEL_BRANCH_LIMITS)
    kernel = await _usable(fork, forks) if isinstance(fork, KernelFork) else None
    if kernel is None:
        lane.run_again(cells_that_ran(parent.outcomes))
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


async def _usable(fork: KernelFork, forks: Forks) -> BranchKernel | None:
    """None where it is good for trying only, as where connections of the parent are dead in it."""
    if fork.can_stay:
        return fork.kernel
    await fork.kernel.leave()
    await forks.leave(fork.kernel)
    return None


class ForkProvisioner(KernelProvisioner):
    """Where a fork runs: in its parent's cage. There is no second one when it ends."""

    async def start_kernel(self, document: Document) -> Kernel:
        """Refused: a fork cannot be made again once its parent has gone on."""
        raise Unavailable("The branch has ended.", hint="Make another branch.")

    async def settle_files(self, kernel: Kernel) -> KeepReport | None:
        """What a branch changed goes with it; a commit does it again in the parent."""
        return None


class BranchFactory:
    """Makes the branches of one open notebook."""

    def __init__(self, parent: OpenNotebook, live: LiveKernel, asides: SideCalls) -> None:
        self._parent = parent
        self._live = live
        self.forks = Forks(live, asides)

    async def open(self, limits: BranchLimits) -> Branch:
        """A branch of the notebook as it is now."""
        stand = await self.fork_stand(limits)
        if isinstance(stand, NoFork):
            return Branch(self._parent, await self._fall_back(stand.reasons), self._fall_back)
        return Branch(self._parent, stand, self._fall_back)

    async def fork_stand(self, limits: BranchLimits) -> ForkRuntime | NoFork:
        """A fork of the notebook as it is now, or why there is none."""
        began = time.perf_counter()
        outcome = await self.forks.fork(limits)
        return outcome if isinstance(outcome, NoFork) else self._standing(outcome, limits, began)

    async def fork_stand_in_pause(self, limits: BranchLimits) -> ForkRuntime | NoFork:
        """The same, of a kernel that waits between two cells of a call."""
        began = time.perf_counter()
        outcome = await self.forks.fork_in_pause(limits)
        return outcome if isinstance(outcome, NoFork) else self._standing(outcome, limits, began)

    def _standing(self, outcome: KernelFork, limits: BranchLimits, began: float) -> ForkRuntime:
        stand = self._forked(outcome, began)
        if limits.live_seconds is not None:
            self._live.tasks.start_soon(_end_after, stand, limits.live_seconds)
        return stand

    def _forked(self, fork: KernelFork, began: float) -> ForkRuntime:
        notebook = self._parent.twin(self._live.workplace.like(ForkProvisioner))
        notebook.take_over(fork.kernel, self._live.known)
        way = BranchMethod(kind="fork", steps=fork.steps, ms=round((time.perf_counter() - began) * 1e3, 3))
        return ForkRuntime(notebook, fork, self.forks, way)

    async def _fall_back(self, reasons: tuple[str, ...]) -> BranchRuntime:
        """A kernel of its own, started when there is something to run in it."""
        workplace = self._live.workplace.like(KernelProvisioner, files="drop")
        return FreshRuntime(self._parent, self._parent.twin(workplace), reasons)


async def _end_after(stand: ForkRuntime, seconds: float) -> None:
    """A branch that nobody closes does not stay for ever."""
    over = stand.notebook.kernel_over
    with anyio.move_on_after(seconds):
        await over.wait()
        return
    if stand.notebook.kernel is stand.kernel:
        await stand.kernel.condemn(f"it was there for longer than {seconds:g} s", limit="time")
