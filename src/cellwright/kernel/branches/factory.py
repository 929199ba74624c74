"""Makes the branches of one notebook: by a fork where that is safe, else in a kernel that is given what it needs.

A parallel branch, unlike a trial one, is an open notebook like any other: it is saved to a file of its own, and a
kernel it loses is replaced. What it does to the project's files is dropped; whoever joins it does it again.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio

from cellwright.errors import Unavailable
from cellwright.kernel.branches.branch import Branch
from cellwright.kernel.branches.branch_kernel import BranchKernel, BranchLimits, end_if_it_hangs
from cellwright.kernel.branches.checkpoints import Checkpoints
from cellwright.kernel.branches.fresh_runtime import FreshRuntime
from cellwright.kernel.branches.notebook_session import NotebookSession
from cellwright.kernel.branches.runtime import BranchRuntime, ForkRuntime, Forks, KernelFork, NoFork
from cellwright.kernel.observation import BranchMethod
from cellwright.kernel.process.kernel import Kernel
from cellwright.kernel.process.provisioner import KernelProvisioner
from cellwright.kernel.process.run_request import cells_that_ran
from cellwright.notebook.document import Document
from cellwright.notebook.files import NotebookFile
from cellwright.sandbox.host.file_changes import KeepReport

SessionT = TypeVar("SessionT", bound=NotebookSession)

PARALLEL_BRANCH_LIMITS = BranchLimits(live_seconds=None)
"""It lives as long as whoever works in it."""


@asynccontextmanager
async def open_parallel_session(parent: SessionT, forks: Forks, file: NotebookFile) -> AsyncGenerator[SessionT]:
    """The notebook as it is now, going on for itself with the cells of this file, which it is saved to.

    By a fork where that is safe; else its first call starts a kernel that runs again what had run.
    """
    twin = parent.twin(parent.live.provisioner.derive(KernelProvisioner, files="drop"), file)
    fork = await forks.fork(PARALLEL_BRANCH_LIMITS)
    kernel = await _usable(fork, forks) if isinstance(fork, KernelFork) else None
    if kernel is None:
        twin.live.replay |= cells_that_ran(parent.state.outcomes)
    else:
        twin.live.take_over(kernel, parent.live.known)
    async with anyio.create_task_group() as tasks:
        if kernel is not None:
            tasks.start_soon(end_if_it_hangs, kernel)
        try:
            yield twin
        finally:
            with anyio.CancelScope(shield=True):
                await twin.close()
                if kernel is not None:
                    await forks.release(kernel)
        tasks.cancel_scope.cancel()


async def _usable(fork: KernelFork, forks: Forks) -> BranchKernel | None:
    """None where it is good for trying only, as where connections of the parent are dead in it."""
    if fork.can_stay:
        return fork.kernel
    await fork.kernel.end_process()
    await forks.release(fork.kernel)
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
    """Makes the branches and checkpoints of one open notebook."""

    def __init__(self, parent: NotebookSession) -> None:
        self._parent = parent
        self.forks = Forks(parent.live, parent.side_calls)
        self.checkpoints = Checkpoints(parent, self.fork)

    async def open(self, limits: BranchLimits) -> Branch:
        """A branch of the notebook as it is now."""
        fork = await self.fork(limits)
        runtime = await self._fall_back(fork.reasons) if isinstance(fork, NoFork) else fork
        return Branch(self._parent, runtime, forks=self.forks, checkpoints=self.checkpoints, fall_back=self._fall_back)

    async def fork(self, limits: BranchLimits, *, is_within_call: bool = False) -> ForkRuntime | NoFork:
        """A fork of the notebook as it is now, or why there is none; see `Forks.fork`."""
        began = time.perf_counter()
        fork = await self.forks.fork(limits, is_within_call=is_within_call)
        if isinstance(fork, NoFork):
            return fork
        live = self._parent.live
        twin = self._parent.twin(live.provisioner.derive(ForkProvisioner))
        twin.live.take_over(fork.kernel, live.known)
        method = BranchMethod(kind="fork", steps=fork.steps, ms=round((time.perf_counter() - began) * 1e3, 3))
        runtime = ForkRuntime(twin, fork, self.forks, method)
        if limits.live_seconds is not None:
            live.tasks.start_soon(_end_after, runtime, limits.live_seconds)
        return runtime

    async def _fall_back(self, reasons: tuple[str, ...]) -> BranchRuntime:
        """A kernel of its own, started when there is something to run in it."""
        provisioner = self._parent.live.provisioner.derive(KernelProvisioner, files="drop")
        return FreshRuntime(self._parent, self._parent.twin(provisioner), reasons)


async def _end_after(runtime: ForkRuntime, seconds: float) -> None:
    """A branch that nobody closes does not stay for ever."""
    live = runtime.notebook.live
    over = live.over
    with anyio.move_on_after(seconds):
        await over.wait()
        return
    if live.kernel is runtime.kernel:
        await runtime.kernel.kill(f"it was there for longer than {seconds:g} s", limit="time")
