"""Between two cells of one run: the host is asked whether it wants a copy of the kernel as it is now.

The run itself goes on as if nothing had been. In a copy it ends here, as after an interrupt: what has not run yet is
stale there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

import msgspec
from marimo._runtime.context import safe_get_context
from marimo._runtime.context.kernel_context import KernelRuntimeContext
from marimo._runtime.control_flow import MarimoInterrupt
from marimo._runtime.runner.scheduler import SequentialScheduler
from marimo._runtime.runtime import Kernel
from marimo._types.ids import CellId_t
from marimo._utils.signals import SigintHandler

from cellwright_guest import wire
from cellwright_guest.streams import FrameQueue, HostSocket

Answer = Callable[[wire.Survey | wire.Fork], bool]
"""Carries out what the host asks in a pause; True in the copy that came of it."""

_TIMES_A_PAUSE = 4
"""Minimum interval between pauses, as a multiple of what the last pause took."""

_decoder = msgspec.msgpack.Decoder(wire.FromHost)


class CellPauses:
    """The pauses of one kernel's runs, as far as a request asks for them."""

    def __init__(self, kernel: Kernel, host: HostSocket, answer: Answer) -> None:
        self._kernel = kernel
        self._host = host
        self._answer = answer
        self._request = 0
        self._after_ms: float | None = None
        self._since = 0.0
        self._took_ms = 0.0
        self._left: set[CellId_t] | None = None

    def begin(self, request: int, after_ms: float | None) -> None:
        """Ask before each cell when so long has been run since the last time; 0: always; None: do not ask.

        Where a pause takes long, because there is much memory, they come less often.
        """
        self._request, self._after_ms, self._since = request, after_ms, time.perf_counter()

    def end(self) -> None:
        """What runs from here on is nobody's request."""
        self._after_ms = None

    def before(self, cell: CellId_t, inbox: FrameQueue, ran: Sequence[str], waiting: Sequence[CellId_t]) -> None:
        """A cell is about to run, after those that `ran`; `waiting` are all that have not, itself among them."""
        scheduler = _scheduler()
        if not self._is_due() or not ran or scheduler is None:
            return
        try:
            # A frame read by half would be lost to whoever reads the next.
            with SigintHandler.defer():
                began = time.perf_counter()
                if self._pause(cell, inbox, waiting):
                    # The parent may have been interrupted meanwhile, which would end this run as well.
                    self._left = {*waiting, *_set_meanwhile(self._kernel, ran)}
                    scheduler.cancel_all()
                    raise MarimoInterrupt
                self._since = time.perf_counter()
                self._took_ms = (self._since - began) * 1e3
        except KeyboardInterrupt:
            # It was taken off the queue and has not run.
            scheduler.requeue([cell, *scheduler.cells_to_run])
            raise

    def take_left(self) -> bool:
        """Whether this process is a copy whose run has just ended in a pause: what had not run is stale then."""
        left, self._left = self._left, None
        if left is None:
            return False
        cells = self._kernel.graph.cells
        for cell in left & cells.keys():
            cells[cell].set_stale(stale=True)
        return True

    def _is_due(self) -> bool:
        if self._after_ms is None:
            return False
        ran_ms = (time.perf_counter() - self._since) * 1e3
        return not self._after_ms or ran_ms >= max(self._after_ms, _TIMES_A_PAUSE * self._took_ms)

    def _pause(self, cell: CellId_t, inbox: FrameQueue, waiting: Sequence[CellId_t]) -> bool:
        stale = [each for each, known in self._kernel.graph.cells.items() if known.stale]
        self._host.send(wire.BeforeCell(request=self._request, cell=cell, waiting=list(waiting), stale=[*stale]))
        later: list[tuple[int, bytes]] = []
        while (frame := inbox.frame_now()) is not None:
            channel, body = frame
            message = _decoder.decode(body) if channel == wire.TYPED else None
            match message:
                case wire.GoOn(asks_again=asks_again):
                    self._after_ms = self._after_ms if asks_again else None
                    inbox.put_back(later)
                    return False
                case wire.Survey() | wire.Fork() if self._answer(message):
                    return True
                case wire.Survey() | wire.Fork():
                    pass
                case _:
                    # An editor's, say: it waits for the end of the run, as it would have without the pause.
                    later.append(frame)
        os._exit(0)


def _scheduler() -> SequentialScheduler | None:
    """Whose run this is; None in a run within a cell, whose copy could not leave it."""
    context = safe_get_context()
    scheduler = context.active_scheduler if isinstance(context, KernelRuntimeContext) else None
    if not isinstance(scheduler, SequentialScheduler) or scheduler._prev_scheduler is not None:
        return None
    return scheduler


def _set_meanwhile(kernel: Kernel, ran: Sequence[str]) -> set[CellId_t]:
    """Cells that a state which was set would have run again at the end of the run."""
    order = {cell: place for place, cell in enumerate(ran)}
    found: set[CellId_t] = set()
    for state, setter in kernel.state_updates.items():
        found |= {
            cell
            for cell in kernel._find_cells_for_state(state, setter)
            if order.get(cell, -1) <= order.get(setter, len(order))
        }
    return found
