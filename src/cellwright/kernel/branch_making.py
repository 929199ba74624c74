"""Branches of one notebook: made as forks where that is safe, else as kernels that are given what they need."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import anyio

from cellwright.errors import Unavailable
from cellwright.kernel.asides import Asides
from cellwright.kernel.branch import Branch
from cellwright.kernel.branch_kernel import BranchLimits
from cellwright.kernel.branching import Fork, Forks, NoFork
from cellwright.kernel.fallback import FreshStand
from cellwright.kernel.kernel import Kernel
from cellwright.kernel.live_kernel import LiveKernel
from cellwright.kernel.observation import Way
from cellwright.kernel.stands import ForkStand, Stand
from cellwright.kernel.workplace import Workplace
from cellwright.notebook import Document
from cellwright.sandbox import KeepReport

if TYPE_CHECKING:
    from cellwright.kernel.open_notebook import OpenNotebook


class ForkWorkplace(Workplace):
    """Where a fork runs: in its parent's cage. There is no second one when it ends."""

    async def start_kernel(self, document: Document) -> Kernel:
        """Refused: a fork cannot be made again once its parent has gone on."""
        raise Unavailable("The branch has ended.", hint="Make another branch.")

    async def settle_files(self, kernel: Kernel) -> KeepReport | None:
        """What a branch changed goes with it; a commit does it again in the parent."""
        return None


class Branches:
    """Makes the branches of one open notebook."""

    def __init__(self, parent: OpenNotebook, live: LiveKernel, asides: Asides) -> None:
        self._parent = parent
        self._live = live
        self.forks = Forks(live, asides)

    async def open(self, limits: BranchLimits) -> Branch:
        """A branch of the notebook as it is now."""
        stand = await self.fork_stand(limits)
        if isinstance(stand, NoFork):
            return Branch(self._parent, await self._fall_back(stand.reasons), self._fall_back)
        return Branch(self._parent, stand, self._fall_back)

    async def fork_stand(self, limits: BranchLimits) -> ForkStand | NoFork:
        """A fork of the notebook as it is now, or why there is none."""
        began = time.perf_counter()
        outcome = await self.forks.fork(limits)
        return outcome if isinstance(outcome, NoFork) else self._standing(outcome, limits, began)

    async def fork_stand_in_pause(self, limits: BranchLimits) -> ForkStand | NoFork:
        """The same, of a kernel that waits between two cells of a call."""
        began = time.perf_counter()
        outcome = await self.forks.fork_in_pause(limits)
        return outcome if isinstance(outcome, NoFork) else self._standing(outcome, limits, began)

    def _standing(self, outcome: Fork, limits: BranchLimits, began: float) -> ForkStand:
        stand = self._forked(outcome, began)
        if limits.live_seconds is not None:
            self._live.tasks.start_soon(_end_after, stand, limits.live_seconds)
        return stand

    def _forked(self, fork: Fork, began: float) -> ForkStand:
        notebook = self._parent.twin(self._live.workplace.like(ForkWorkplace))
        notebook.take_over(fork.kernel, self._live.known)
        way = Way(kind="fork", steps=fork.steps, ms=round((time.perf_counter() - began) * 1e3, 3))
        return ForkStand(notebook, fork, self.forks, way)

    async def _fall_back(self, reasons: tuple[str, ...]) -> Stand:
        """A kernel of its own, started when there is something to run in it."""
        workplace = self._live.workplace.like(Workplace, files="drop")
        return FreshStand(self._parent, self._parent.twin(workplace), reasons)


async def _end_after(stand: ForkStand, seconds: float) -> None:
    """A branch that nobody closes does not stay for ever."""
    over = stand.notebook.kernel_over
    with anyio.move_on_after(seconds):
        await over.wait()
        return
    if stand.notebook.kernel is stand.kernel:
        await stand.kernel.condemn(f"it was there for longer than {seconds:g} s", limit="time")
