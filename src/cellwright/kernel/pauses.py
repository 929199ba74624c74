"""What is kept while a turn runs: the state before its cells, in the pauses its kernel makes for that.

The run is one run: the kernel only waits between two cells until it was forked, and goes on. What cannot be forked is
not waited for again in that call.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
import anyio.abc

from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.kernel.branching import NoFork
from cellwright.kernel.call import Call
from cellwright.kernel.kernel import Kernel
from cellwright.kernel.link import LinkClosed
from cellwright_guest import wire

if TYPE_CHECKING:
    from cellwright.kernel.open_notebook import OpenNotebook

logger = logging.getLogger(__name__)


class Pauses:
    """Keeps the states between the cells of one notebook's turns."""

    def __init__(self, notebook: OpenNotebook, tasks: anyio.abc.TaskGroup) -> None:
        self._notebook = notebook
        self._tasks = tasks
        self._call: Call | None = None
        self._seen: set[CellId] = set()

    def after_ms(self, call: Call) -> float | None:
        """How long cells run in this call before the next pause; None: it has no pauses."""
        budget = self._notebook.checkpoints.budget
        return budget.apart_ms if call.terms.turn and budget.cells else None

    def hear(self, call: Call, kernel: Kernel, message: wire.FromGuest) -> None:
        """A message of the kernel about a call: what is about to run is noted, and a pause is used."""
        match message:
            case wire.CellStarted(cell=cell) if call.terms.turn:
                self._notebook.checkpoints.started(CellId(cell), call.terms.turn)
            case wire.BeforeCell():
                self._tasks.start_soon(self._use, call, kernel, message)
            case _:
                pass

    def _is_new(self, call: Call, cell: CellId) -> bool:
        """Once before each cell, and only where it was asked for: a kernel cannot have itself forked for ever."""
        if self._call is not call:
            self._call, self._seen = call, set()
        is_new = cell not in self._seen and self._notebook.document.find(cell) is not None
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
        taken = await self._notebook.checkpoints.take_before(CellId(message.cell), call.terms.turn)
        if isinstance(taken, NoFork):
            return False
        waiting = {CellId(cell) for cell in message.waiting}
        finished = {outcome.id: outcome for outcome in call.snapshot().cells}
        there = taken.stand.notebook
        there.be_amid(finished, waiting, {*waiting, *map(CellId, message.stale)})
        return True
