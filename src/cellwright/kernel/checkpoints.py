"""States of a notebook to go back to: idle forks of its kernel, kept within a budget of memory.

A checkpoint is taken before a turn. `undo` makes the notebook what it was then: cells, outputs, variables and files
together; `redo` takes that back. Where no checkpoint is kept the caller replays instead.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cellwright.errors import Unavailable
from cellwright.kernel.branch_kernel import BranchLimits
from cellwright.kernel.branching import NoFork
from cellwright.kernel.kernel import own_memory_kb
from cellwright.kernel.stands import ForkStand

if TYPE_CHECKING:
    from cellwright.kernel.open_notebook import OpenNotebook

logger = logging.getLogger(__name__)

MakeFork = Callable[[BranchLimits], Awaitable[ForkStand | NoFork]]

_IDLE = BranchLimits(memory_mb=None, cpu_seconds=None, live_seconds=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointBudget:
    """What all checkpoints of one notebook may hold together."""

    memory_mb: int = 1024
    """Pages that only they still have: old versions of what was changed since."""
    number: int = 12


@dataclass(slots=True, kw_only=True)
class Checkpoint:
    """The notebook as it was."""

    label: str
    """What came after it: the turn it was taken before."""
    stand: ForkStand = field(repr=False)
    taken_at: float = field(default_factory=time.monotonic)
    own_memory_kb: int = 0

    @property
    def is_there(self) -> bool:
        """False when its process was lost."""
        kernel = self.stand.notebook.kernel
        return kernel is not None and not kernel.is_over


class Checkpoints:
    """What one notebook can go back to, and forward again."""

    def __init__(self, notebook: OpenNotebook, fork: MakeFork, budget: CheckpointBudget) -> None:
        self._notebook = notebook
        self._fork = fork
        self._budget = budget
        self._behind: list[Checkpoint] = []
        self._ahead: list[Checkpoint] = []

    @property
    def kept(self) -> tuple[Checkpoint, ...]:
        """Those one can go back to, oldest first."""
        return tuple(checkpoint for checkpoint in self._behind if checkpoint.is_there)

    async def take(self, label: str) -> Checkpoint | NoFork:
        """Keep the present state under the name of what comes next. What was undone cannot be redone afterwards."""
        await self._drop(self._ahead)
        await self._shrink(room_for=1)
        outcome = await self._fork(_IDLE)
        if isinstance(outcome, NoFork):
            return outcome
        checkpoint = Checkpoint(label=label, stand=outcome)
        self._behind.append(checkpoint)
        return checkpoint

    async def adopt(self, label: str, stand: ForkStand) -> None:
        """Keep what a branch that was promoted left behind: the notebook before it."""
        await self._drop(self._ahead)
        await self._shrink(room_for=1)
        self._behind.append(Checkpoint(label=label, stand=stand))

    async def forget_ahead(self) -> None:
        """What was undone is not to be redone."""
        await self._drop(self._ahead)

    async def undo(self) -> Checkpoint | None:
        """Go back to the last state kept; None if none is."""
        return await self._go(self._behind, self._ahead)

    async def redo(self) -> Checkpoint | None:
        """Take back an undo; None if there is none to take back."""
        return await self._go(self._ahead, self._behind)

    async def travel(self, label: str) -> Checkpoint | None:
        """Go back to the state kept before the newest turn with this label; None if it is not kept."""
        while any(checkpoint.label == label for checkpoint in self.kept):
            checkpoint = await self.undo()
            if checkpoint is None or checkpoint.label == label:
                return checkpoint
        return None

    async def close(self) -> None:
        """Keep nothing."""
        await self._drop(self._behind)
        await self._drop(self._ahead)

    async def _go(self, source: list[Checkpoint], target: list[Checkpoint]) -> Checkpoint | None:
        while source:
            checkpoint = source.pop()
            if not checkpoint.is_there:
                await checkpoint.stand.close()
                continue
            try:
                await self._notebook.exchange(checkpoint.stand.notebook)
            except Unavailable:
                logger.info("a checkpoint was lost while it was gone back to")
                await checkpoint.stand.close()
                continue
            target.append(checkpoint)
            return checkpoint
        return None

    async def _shrink(self, *, room_for: int) -> None:
        """Drop what the budget has no room for: what is old and large goes first."""
        for checkpoint in self._behind:
            checkpoint.own_memory_kb = await self._own_memory_kb(checkpoint)
        while len(self._behind) + room_for > self._budget.number or self._held_mb() > self._budget.memory_mb:
            victim = worst(self._behind)
            if victim is None:
                return
            self._behind.remove(victim)
            await victim.stand.close()

    def _held_mb(self) -> float:
        return sum(checkpoint.own_memory_kb for checkpoint in self._behind) / 1024

    async def _own_memory_kb(self, checkpoint: Checkpoint) -> int:
        kernel = checkpoint.stand.notebook.kernel
        if kernel is None or kernel.is_over:
            return 0
        return await own_memory_kb(kernel)

    async def _drop(self, checkpoints: list[Checkpoint]) -> None:
        while checkpoints:
            await checkpoints.pop().stand.close()


def worst(checkpoints: list[Checkpoint]) -> Checkpoint | None:
    """The one to do without: each counts by its size, the more the older it is."""
    if not checkpoints:
        return None
    oldest_first = sorted(checkpoints, key=lambda checkpoint: checkpoint.taken_at)
    ages = range(len(oldest_first), 0, -1)
    return max(zip(ages, oldest_first, strict=True), key=lambda pair: (pair[0] * (pair[1].own_memory_kb + 1), pair[0]))[
        1
    ]
