"""An open notebook as far as its branches must know it, and what they do to it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Protocol, Self

from cellwright.ids import CellId
from cellwright.kernel.observation import Observation, StateOwner
from cellwright.kernel.process.call import Call, CellSelection
from cellwright.kernel.process.live_kernel import LiveKernel
from cellwright.kernel.process.provisioner import KernelProvisioner
from cellwright.kernel.process.run_request import changed_code
from cellwright.kernel.process.side_calls import SideCalls
from cellwright.notebook.document import Document
from cellwright.notebook.edits import Edit
from cellwright.notebook.files import NotebookFile


class NotebookSession(StateOwner, Protocol):
    """A notebook with a kernel, which can be edited, run and copied."""

    live: LiveKernel
    side_calls: SideCalls

    def apply(
        self,
        edits: Sequence[Edit] = (),
        *,
        run: CellSelection = "affected",
        cell_seconds: float | None = None,
        seconds: float | None = None,
    ) -> Call:
        """Edit and run in one call."""

    async def interrupt(self) -> None:
        """Stop what runs."""

    def twin(self, provisioner: KernelProvisioner, file: NotebookFile | None = None) -> Self:
        """The same outcomes, and the same cells or those of the file, over another kernel; each is its own."""

    async def close(self) -> None:
        """End the kernel."""


async def exchange(session: NotebookSession, fork: NotebookSession) -> None:
    """Become what a fork is, with its variables and files; and that becomes what the notebook was."""
    async with session.live.slot, fork.live.slot:
        await session.live.exchange(fork.live)
        session.state, fork.state = fork.state, session.state
        if session.live.kernel is not None:
            await session.live.on_kernel(session.live.kernel)


async def restore(session: NotebookSession, document: Document) -> Observation:
    """Have these cells, and run none; what has other code now has no result until it runs."""
    there = {cell.id for cell in document.cells} - changed_code(session.state.document, document)
    outcomes = {cell: outcome for cell, outcome in session.state.outcomes.items() if cell in there}
    session.state = replace(session.state, document=document, outcomes=outcomes)
    return await session.apply(run="none")


async def run_only(session: NotebookSession, cells: Collection[CellId]) -> Observation:
    """Run these cells and nothing that follows from them; what does becomes stale."""
    session.live.replay |= set(cells)
    return await session.apply(run="none")
