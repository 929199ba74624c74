"""States of a notebook to go back to: idle forks of its kernel, kept within a budget of memory.

A checkpoint is taken before a revision, and between those of its cells that take long: the kernel waits between two
cells until it was forked, and goes on. `undo` makes the notebook what it was before a revision: cells, outputs,
variables and files together; `redo` takes that back; `travel_before` goes to what was before one cell. Where no
checkpoint is kept the caller replays instead.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

import anyio

from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.kernel.branches.branch_kernel import BranchLimits
from cellwright.kernel.branches.notebook_session import NotebookSession, exchange, restore, run_only
from cellwright.kernel.branches.runtime import ForkRuntime, NoFork
from cellwright.kernel.observation import CellOutcome, NotebookState, Observation
from cellwright.kernel.process.call import Call
from cellwright.kernel.process.kernel import Kernel, own_memory_kb
from cellwright.kernel.process.link import LinkClosed
from cellwright.kernel.process.run_request import cells_that_ran
from cellwright.notebook.document import Document
from cellwright_guest import wire

logger = logging.getLogger(__name__)

_IDLE = BranchLimits(memory_mb=None, cpu_seconds=None, live_seconds=None, reserved_slots=4)


class MakeFork(Protocol):
    """Forks the notebook as it is now, or as it is between two cells of the call that runs."""

    def __call__(self, limits: BranchLimits, *, is_within_call: bool = False) -> Awaitable[ForkRuntime | NoFork]:
        """The fork, or why there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointBudget:
    """What all checkpoints of one notebook may hold together."""

    memory_mb: int = 1024
    """Pages that only they still have: old versions of what was changed since."""
    number: int = 16
    """The cage has room for more, which is left to branches."""
    cells: int = 8
    """Of them, how many may be between the cells of revisions."""
    apart_ms: float = 250
    """Between cells that ran for less since the last checkpoint none is taken: they run again as quickly."""


@dataclass(slots=True, kw_only=True)
class Checkpoint:
    """The notebook as it was."""

    label: str
    """What came after it: the revision it was taken before, or in."""
    runtime: ForkRuntime = field(repr=False)
    is_between: bool = False
    """Taken between two cells of the revision, not before it."""
    ran: list[CellId] = field(default_factory=list[CellId])
    """What ran in the revision right after it, in this order, until the next was taken."""
    cells_then: Document | None = field(default=None, repr=False)
    """Of one before a revision: the cells as the revision left them when it began to run; None: it ran none."""
    taken_at: float = field(default_factory=time.monotonic)
    own_memory_kb: int = 0

    @property
    def cell(self) -> CellId | None:
        """The cell it was taken before; None if none ran after it."""
        return self.ran[0] if self.ran else None

    def again(self, cell: CellId) -> list[CellId] | None:
        """What has to run again after it to be right before this cell; None: that cannot be reached from here."""
        if cell not in self.ran:
            return None
        between = self.ran[: len(self.ran) - 1 - self.ran[::-1].index(cell)]
        # A cell that ran twice was set off by a state: nobody could run it just once more.
        return between if len({*between, cell}) == len(between) + 1 else None

    @property
    def is_there(self) -> bool:
        """False when its process was lost."""
        kernel = self.runtime.notebook.live.kernel
        return kernel is not None and not kernel.is_over


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRewind:
    """The notebook is what it was before a cell ran."""

    cell: CellId
    again: tuple[CellId, ...] = ()
    """Quick cells that ran again for it, because no state was kept right before this one."""


class Checkpoints:
    """What one notebook can go back to, and forward again."""

    def __init__(self, session: NotebookSession, fork: MakeFork) -> None:
        self.session = session
        self._fork = fork
        self.budget = CheckpointBudget()
        self._behind: list[Checkpoint] = []
        self._ahead: list[Checkpoint] = []

    @property
    def kept(self) -> tuple[Checkpoint, ...]:
        """Those one can go back to, oldest first."""
        return tuple(checkpoint for checkpoint in self._behind if checkpoint.is_there)

    @property
    def kept_cells(self) -> tuple[CellId, ...]:
        """The cells one can go back before, in the order they last ran."""
        ran = [cell for each in self.kept if each.runtime.can_stay for cell in each.ran]
        return tuple(dict.fromkeys(cell for cell in reversed(ran) if self.before(cell) is not None))[::-1]

    def before(self, cell: CellId) -> Checkpoint | None:
        """The newest state kept from which the state before this cell can be had."""
        known = (each for each in reversed(self.kept) if cell in each.ran)
        newest = next(known, None)
        is_usable = newest is not None and newest.again(cell) is not None and newest.runtime.can_stay
        return newest if is_usable else None

    async def take(self, label: str, cell: CellId | None = None) -> Checkpoint | NoFork:
        """Keep the present state under the name of what comes next. What was undone cannot be redone afterwards.

        With a cell of a revision: the state before it, while the kernel waits with it.
        """
        await self._drop(self._ahead)
        await self._shrink(is_between=cell is not None)
        outcome = await self._fork(_IDLE, is_within_call=cell is not None)
        if isinstance(outcome, NoFork):
            return outcome
        ran = [] if cell is None else [cell]
        checkpoint = Checkpoint(label=label, runtime=outcome, is_between=bool(ran), ran=ran)
        self._behind.append(checkpoint)
        return checkpoint

    def started(self, cell: CellId, revision: str) -> None:
        """A cell of a revision begins to run."""
        newest = self._behind[-1] if self._behind else None
        if newest is None or newest.label != revision:
            return
        if not newest.is_between and newest.cells_then is None:
            newest.cells_then = self.session.state.document
        if newest.ran[-1:] != [cell]:
            newest.ran.append(cell)

    async def adopt(self, label: str, runtime: ForkRuntime) -> None:
        """Keep what a branch that was promoted left behind: the notebook before it."""
        await self._drop(self._ahead)
        await self._shrink()
        self._behind.append(Checkpoint(label=label, runtime=runtime))

    async def forget_ahead(self) -> None:
        """What was undone is not to be redone."""
        await self._drop(self._ahead)

    async def undo(self) -> Checkpoint | None:
        """Go back to the last state kept before a revision; None if none is."""
        while any(not checkpoint.is_between for checkpoint in self.kept):
            checkpoint = await self._go(self._behind, self._ahead)
            if checkpoint is None or not checkpoint.is_between:
                return checkpoint
        return None

    async def redo(self) -> Checkpoint | None:
        """Take back an undo; None if there is none to take back."""
        first = await self._go(self._ahead, self._behind)
        while first is not None and self._ahead and self._ahead[-1].is_between:
            await self._go(self._ahead, self._behind)
        return first

    async def advance(self, steps: int) -> int:
        """Go forward by so many states that were passed on the way back; how many there were."""
        passed = 0
        while passed < steps and await self._go(self._ahead, self._behind) is not None:
            passed += 1
        return passed

    async def travel(self, label: str) -> Checkpoint | None:
        """Go back to the state kept before the newest revision with this label; None if it is not kept."""
        while any(checkpoint.label == label and not checkpoint.is_between for checkpoint in self.kept):
            checkpoint = await self.undo()
            if checkpoint is None or checkpoint.label == label:
                return checkpoint
        return None

    async def travel_before(self, cell: CellId, label: str = "travel") -> CellRewind | None:
        """Be what the notebook was right before this cell last ran in a revision; None if that is not kept.

        What it is now is kept under this label, as before any revision: `undo` comes back here.
        """
        found = self.before(cell)
        again = None if found is None else found.again(cell)
        if found is None or again is None:
            return None
        position = self._behind.index(found)
        self._behind.remove(found)
        try:
            await exchange(self.session, found.runtime.notebook)
        except Unavailable:
            await found.runtime.close()
            return None
        await self._drop(self._ahead)
        self._behind.append(Checkpoint(label=label, runtime=found.runtime))
        copy = await self._fork(_IDLE)
        if not isinstance(copy, NoFork):
            # One may want to come back to it, and its revision may still be undone.
            self._behind.insert(position, replace(found, runtime=copy))
        if found.cells_then is not None:
            await restore(self.session, found.cells_then)
        if again:
            await run_only(self.session, again)
        return CellRewind(cell=cell, again=tuple(again))

    async def rewind(self, document: Document, outcomes: Mapping[CellId, CellOutcome]) -> Observation:
        """Be what the notebook was with these cells and outcomes, in a new kernel that runs again what had run.

        What the present kernel did to files is dropped: the replay does to them what it did before.
        """
        session = self.session
        await session.interrupt()
        async with session.live.slot:
            await self.close()
            await session.live.retire(is_kept=False)
            session.state = NotebookState(document=document, reported_stale=session.state.reported_stale)
            session.live.replay = cells_that_ran(outcomes)
        return await session.apply(run="none")

    async def close(self) -> None:
        """Keep nothing."""
        async with AsyncExitStack() as closing:
            closing.push_async_callback(self._drop, self._ahead)
            closing.push_async_callback(self._drop, self._behind)

    async def _go(self, source: list[Checkpoint], target: list[Checkpoint]) -> Checkpoint | None:
        while source:
            checkpoint = source.pop()
            if not checkpoint.is_there:
                await checkpoint.runtime.close()
                continue
            try:
                await exchange(self.session, checkpoint.runtime.notebook)
            except Unavailable:
                logger.info("a checkpoint was lost while it was gone back to")
                await checkpoint.runtime.close()
                continue
            target.append(checkpoint)
            return checkpoint
        return None

    async def _shrink(self, *, is_between: bool = False) -> None:
        """Make room for one more, and drop what the budget does not hold: what is old and large goes first."""
        for checkpoint in self._behind:
            kernel = checkpoint.runtime.notebook.live.kernel
            checkpoint.own_memory_kb = 0 if kernel is None or kernel.is_over else await own_memory_kb(kernel)
        while victims := self._over_budget(is_between=is_between):
            victim = costliest(victims)
            self._behind.remove(victim)
            await victim.runtime.close()

    def _over_budget(self, *, is_between: bool) -> list[Checkpoint]:
        """Those of which one must go; empty: there is room."""
        between = [each for each in self._behind if each.is_between]
        if is_between and len(between) >= max(1, self.budget.cells):
            return between
        held_mb = sum(checkpoint.own_memory_kb for checkpoint in self._behind) / 1024
        return self._behind if len(self._behind) >= self.budget.number or held_mb > self.budget.memory_mb else []

    async def _drop(self, checkpoints: list[Checkpoint]) -> None:
        # Whoever cancels one closing natively leaves the others to be done.
        async with AsyncExitStack() as closing:
            for checkpoint in checkpoints:
                closing.push_async_callback(checkpoint.runtime.close)
            checkpoints.clear()


def costliest(checkpoints: Sequence[Checkpoint]) -> Checkpoint:
    """The one to do without: each counts by its size, the more the older it is."""
    newest_first = sorted(checkpoints, key=lambda checkpoint: checkpoint.taken_at, reverse=True)
    aged = enumerate(newest_first, 1)
    return max(aged, key=lambda pair: (pair[0] * (pair[1].own_memory_kb + 1), pair[0]))[1]


class CheckpointPauses:
    """Keeps the states between the cells of one notebook's revisions."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        self._checkpoints = checkpoints
        self._session = checkpoints.session
        self._call: Call | None = None
        self._seen: set[CellId] = set()

    def after_ms(self, call: Call) -> float | None:
        """How long cells run in this call before the next pause; None: it has no pauses."""
        budget = self._checkpoints.budget
        return budget.apart_ms if call.terms.revision and budget.cells else None

    def hear(self, call: Call, kernel: Kernel, message: wire.Told) -> None:
        """A message of the kernel about a call: what is about to run is noted, and a pause is used."""
        match message:
            case wire.CellStarted(cell=cell) if call.terms.revision:
                self._checkpoints.started(CellId(cell), call.terms.revision)
            case wire.BeforeCell():
                self._session.live.tasks.start_soon(self._use, call, kernel, message)
            case _:
                pass

    def _is_new(self, call: Call, cell: CellId) -> bool:
        """Once before each cell, and only where it was asked for: a kernel cannot have itself forked for ever."""
        if self._call is not call:
            self._call, self._seen = call, set()
        is_new = cell not in self._seen and self._session.state.document.find(cell) is not None
        self._seen.add(cell)
        return is_new and self.after_ms(call) is not None

    async def _use(self, call: Call, kernel: Kernel, message: wire.BeforeCell) -> None:
        is_kept = False
        try:
            is_kept = self._is_new(call, CellId(message.cell)) and await self._keep(call, message)
        except (Unavailable, LinkClosed) as error:
            logger.info("nothing was kept before a cell: %s", error)
        finally:
            with anyio.CancelScope(shield=True), suppress(LinkClosed):
                await kernel.link.send(wire.GoOn(request=call.request, asks_again=is_kept))

    async def _keep(self, call: Call, message: wire.BeforeCell) -> bool:
        taken = await self._checkpoints.take(call.terms.revision, CellId(message.cell))
        if isinstance(taken, NoFork):
            return False
        waiting = {CellId(cell) for cell in message.waiting}
        finished = {outcome.id: outcome for outcome in call.snapshot().cells}
        there = taken.runtime.notebook
        known = {cell: outcome for cell, outcome in there.state.outcomes.items() if cell not in waiting}
        stale = frozenset({*waiting, *map(CellId, message.stale)})
        # It is in the midst of a call: some of its cells have run in it, and others have not yet.
        there.state = replace(there.state, outcomes={**known, **finished}, reported_stale=stale)
        return True
