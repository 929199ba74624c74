"""Where a branch's cells run: in a fork of the parent's kernel, or in a kernel that was given what they need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import anyio

from cellwright.kernel.branch_kernel import BranchKernel
from cellwright.kernel.branching import Fork, Forks
from cellwright.kernel.call import RunWhat
from cellwright.kernel.hanging import HangWatch
from cellwright.kernel.observation import Observation, Way
from cellwright.notebook import Edit
from cellwright.sandbox import FileChange

if TYPE_CHECKING:
    from cellwright.kernel.open_notebook import OpenNotebook


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One thing that was done in a branch; a commit does it again in the parent."""

    edits: tuple[Edit, ...]
    run: RunWhat
    cell_seconds: float | None = None
    seconds: float | None = None


class Stand(Protocol):
    """Where a branch's cells run: a fork, or a kernel that was given what they need."""

    notebook: OpenNotebook
    way: Way

    async def run(self, trial: Trial) -> Observation:
        """Do it there."""
        ...

    async def changed_files(self) -> tuple[FileChange, ...]:
        """Files changed there, besides what the parent had changed."""
        ...

    async def close(self) -> None:
        """Leave nothing of it."""
        ...


class ForkStand:
    """A fork of the parent's kernel."""

    def __init__(self, notebook: OpenNotebook, fork: Fork, forks: Forks, way: Way) -> None:
        self.notebook = notebook
        self.way = way
        self.kernel: BranchKernel = fork.kernel
        self.has_dead_ends = fork.has_dead_ends
        self.can_stay = fork.can_stay
        self.parent_kernel = fork.parent
        self._forks = forks

    async def run(self, trial: Trial) -> Observation:
        """Do it in the fork; one that hangs as only forks do is ended."""
        call = self.notebook.apply(trial.edits, run=trial.run, cell_seconds=trial.cell_seconds, seconds=trial.seconds)
        observation: Observation | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(HangWatch(self.kernel).watch)
            observation = await call
            tasks.cancel_scope.cancel()
        assert observation is not None
        return observation

    async def changed_files(self) -> tuple[FileChange, ...]:
        """Files it changed since it was forked."""
        return await self.kernel.own_changes()

    async def close(self) -> None:
        """End it and everything in it."""
        # After a promotion that is what the parent was.
        kernel = self.notebook.kernel
        await self.notebook.close()
        if isinstance(kernel, BranchKernel):
            await self._forks.leave(kernel)
