"""Where a branch's cells run: in a fork of the parent's kernel, and how that fork is made.

The other runtime, a kernel that is given what the cells need, is `fresh_runtime`.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Protocol

import anyio

from cellwright.errors import Unavailable
from cellwright.kernel.branches.branch_kernel import BranchKernel, BranchLimits, end_if_it_hangs
from cellwright.kernel.branches.hazards import SafeAfter, Unsafe, can_stay, judge_fork
from cellwright.kernel.branches.notebook_session import NotebookSession
from cellwright.kernel.observation import BranchMethod, Observation
from cellwright.kernel.process.call import Call, CellSelection
from cellwright.kernel.process.kernel import Kernel
from cellwright.kernel.process.link import LinkClosed
from cellwright.kernel.process.live_kernel import LiveKernel
from cellwright.kernel.process.side_calls import SideCalls
from cellwright.notebook.edits import Edit
from cellwright.sandbox.host.control import CageControl
from cellwright.sandbox.host.file_changes import FileChange
from cellwright.sandbox.spec import BRANCH_SLOTS
from cellwright_guest import wire
from cellwright_guest.report_wire import HazardFacts

_SURVEY_SECONDS = 20.0
_FORK_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NoFork:
    """The kernel was not forked, and why."""

    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFork:
    """A branch of the kernel, and what was done to make it safe."""

    kernel: BranchKernel
    parent: Kernel
    steps: tuple[str, ...] = ()
    has_dead_ends: bool = False
    """Sockets or pipes of the parent that the branch cannot use."""
    can_stay: bool = True
    """False: it is good for trying only, see `hazards.can_stay`."""


class Forks:
    """Branches of one notebook's kernels, by the slots of their cages."""

    def __init__(self, live: LiveKernel, side_calls: SideCalls) -> None:
        self._live = live
        self._side_calls = side_calls
        self._distrusted: tuple[CageControl, str] | None = None
        """A cage whose kernels are not forked any more, and why: a branch hung or died as no rerun does."""

    async def fork(self, limits: BranchLimits, *, is_within_call: bool = False) -> KernelFork | NoFork:
        """A branch of the kernel as it is now; no cell runs meanwhile.

        Within a call, whoever asks knows that its kernel waits between two cells: the call has the slot.
        """
        async with nullcontext() if is_within_call else self._live.slot:
            if not self._live.is_whole or self._live.kernel is None:
                return NoFork(reasons=("the notebook's kernel is gone, and has to run its cells again first",))
            return await self._fork(self._live.kernel, limits, is_within_call)

    async def release(self, kernel: BranchKernel) -> None:
        """A branch was closed: its parent takes the process off its list of children."""
        parent = self._live.kernel
        if parent is not None and not parent.is_over and parent is not kernel:
            with suppress(LinkClosed):
                await parent.link.send(wire.Farewell(pid=kernel.pid_inside))

    def distrust(self, reason: str) -> None:
        """The present kernel is not forked again."""
        if self._live.kernel is not None:
            self._distrusted = (self._live.kernel.control, reason)

    async def _fork(self, parent: Kernel, limits: BranchLimits, is_within_call: bool) -> KernelFork | NoFork:
        if parent.spec.tier not in ("A", "B"):
            return NoFork(reasons=(f"there is no place for branches in a cage of tier {parent.spec.tier}",))
        if self._distrusted is not None and self._distrusted[0] is parent.control:
            return NoFork(reasons=(self._distrusted[1],))
        facts = await self._survey(parent, is_within_call)
        if facts is None:
            return NoFork(reasons=("the kernel did not say what stands in the way",))
        verdict = judge_fork(facts)
        if isinstance(verdict, Unsafe):
            return NoFork(reasons=verdict.reasons)
        try:
            kernel = await self._start(parent, limits, is_within_call)
        except Unavailable as error:
            return NoFork(reasons=(error.message.removesuffix("."),))
        steps = verdict.steps if isinstance(verdict, SafeAfter) else ()
        is_cut_off = facts.sockets > 0 or facts.pipes > 0
        return KernelFork(kernel=kernel, parent=parent, steps=steps, has_dead_ends=is_cut_off, can_stay=can_stay(facts))

    async def _survey(self, parent: Kernel, is_within_call: bool) -> HazardFacts | None:
        asked = await self._side_calls.ask_now(
            parent, lambda number: wire.Survey(request=number), _SURVEY_SECONDS, is_within_call=is_within_call
        )
        return asked.answer.facts if isinstance(asked.answer, wire.Surveyed) else None

    async def _start(self, parent: Kernel, limits: BranchLimits, is_within_call: bool) -> BranchKernel:
        began = time.perf_counter()
        made = await parent.control.make_branch_root(parent.slot)
        if made is None:
            raise Unavailable(f"All {BRANCH_SLOTS} places for branches are taken.")
        slot, root = made
        ours, theirs = socket.socketpair()
        try:
            try:
                # The lowest that is free is taken.
                if slot.number > BRANCH_SLOTS - limits.reserved_slots:
                    raise Unavailable("The places that are left are for branches.")
                asked = await self._side_calls.ask_now(
                    parent, lambda number: wire.Fork(request=number), _FORK_SECONDS, (theirs.fileno(), root),
                    is_within_call=is_within_call,
                )  # fmt: skip
            finally:
                theirs.close()
                os.close(root)
            if not isinstance(asked.answer, wire.Forked) or asked.answer.error:
                reason = asked.answer.error[:500] if isinstance(asked.answer, wire.Forked) else "it did not answer"
                raise Unavailable(f"The kernel could not be forked: {reason}.")
            return await BranchKernel.enter(parent, ours, slot, limits, began)
        except BaseException:
            ours.close()
            with anyio.CancelScope(shield=True), suppress(Unavailable):
                await parent.control.drop_branch(slot)
            raise


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One thing that was done in a branch; a commit does it again in the parent."""

    edits: tuple[Edit, ...]
    run: CellSelection
    cell_seconds: float | None = None
    seconds: float | None = None

    def apply_to(self, session: NotebookSession) -> Call:
        """Do it there."""
        return session.apply(self.edits, run=self.run, cell_seconds=self.cell_seconds, seconds=self.seconds)


class BranchRuntime(Protocol):
    """Where a branch's cells run: a fork, or a kernel that was given what they need."""

    notebook: NotebookSession
    method: BranchMethod

    async def run(self, trial: Trial) -> Observation:
        """Do it there."""

    async def changed_files(self) -> tuple[FileChange, ...]:
        """Files changed there, besides what the parent had changed."""

    async def close(self) -> None:
        """Leave nothing of it."""


class ForkRuntime:
    """A fork of the parent's kernel."""

    def __init__(self, notebook: NotebookSession, fork: KernelFork, forks: Forks, method: BranchMethod) -> None:
        self.notebook = notebook
        self.method = method
        self.kernel: BranchKernel = fork.kernel
        self.has_dead_ends = fork.has_dead_ends
        self.can_stay = fork.can_stay
        self.parent_kernel = fork.parent
        self._forks = forks

    async def run(self, trial: Trial) -> Observation:
        """Do it in the fork; one that hangs as only forks do is ended."""
        observation: Observation | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(end_if_it_hangs, self.kernel)
            observation = await trial.apply_to(self.notebook)
            tasks.cancel_scope.cancel()
        assert observation is not None
        return observation

    async def changed_files(self) -> tuple[FileChange, ...]:
        """Files it changed since it was forked."""
        return await self.kernel.own_changes()

    async def close(self) -> None:
        """End it and everything in it."""
        # After a promotion that is what the parent was.
        kernel = self.notebook.live.kernel
        await self.notebook.close()
        if isinstance(kernel, BranchKernel):
            await self._forks.release(kernel)
