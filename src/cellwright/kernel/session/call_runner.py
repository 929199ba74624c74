"""Carries out the calls on an open notebook, one after the other: edits, the request to the kernel, the outcomes."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

import anyio
import msgspec

from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.kernel.branches.checkpoints import CheckpointPauses, Checkpoints
from cellwright.kernel.branches.notebook_session import NotebookSession
from cellwright.kernel.observation import (
    CellFinishedEvent,
    KernelEnd,
    KernelEnded,
    NotebookState,
    Observation,
    outcome_of,
)
from cellwright.kernel.process.call import Call
from cellwright.kernel.process.kernel import Kernel
from cellwright.kernel.process.link import LinkClosed
from cellwright.kernel.process.run_request import cells_to_replay, cells_to_run, changed_code, knows, stale_cells
from cellwright.kernel.session.observers import Observers
from cellwright.notebook.document import Document
from cellwright.notebook.edits import EditRefused, apply_edits
from cellwright_guest import wire

logger = logging.getLogger(__name__)
_CLOSED: Final = Observation(problem="The notebook was closed.")


class CallRunner:
    """Runs one notebook's calls. When a kernel was lost, the next call replays what had run."""

    def __init__(self, notebook: NotebookSession, observers: Observers, checkpoints: Checkpoints) -> None:
        self._notebook = notebook
        self._live = notebook.live
        self._pauses = CheckpointPauses(checkpoints)
        self.current: Call | None = None
        self._is_closed = False
        self.emit = observers.emit
        self.interrupt = notebook.interrupt

    @property
    def state(self) -> NotebookState:
        """The notebook's state as it is now."""
        return self._notebook.state

    def begin(self, call: Call) -> None:
        """Queue a call; it starts when the kernel is free. Of a closed notebook it is refused."""
        if self._is_closed:
            call.refuse(_CLOSED)
        else:
            self._live.tasks.start_soon(self._run, call)

    def close(self) -> None:
        """Refuse whatever is asked or still waits for its turn: no kernel is started for it any more."""
        self._is_closed = True

    async def _run(self, call: Call) -> None:
        try:
            async with self._live.slot:
                await self._take_turn(call)
        finally:
            if call.observation is None:
                # Cancelled with its notebook. Whoever waits belongs to another block, and would wait for ever.
                call.refuse(_CLOSED)

    async def _take_turn(self, call: Call) -> None:
        if self._is_closed:
            call.refuse(_CLOSED)
        else:
            self.current = call
            try:
                await self._carry_out(call)
            except Unavailable as error:
                call.refuse(Observation(problem=f"{error.message} {error.hint}".strip()))
            except Exception as error:
                # Whoever waits for this call must hear of it, and the notebook's other calls go on.
                logger.exception("a call to a notebook met our own mistake")
                call.refuse(Observation(problem=f"Our own mistake, please report it: {type(error).__name__}: {error}"))
            finally:
                self.current = None
                # Cancelled with the block its notebook was opened in: whoever closes that waits for this call.
                call.is_over.set()
        if call.observation is not None:
            self.emit(call.observation)

    async def _carry_out(self, call: Call) -> None:
        notebook, before = self._notebook, self.state.document
        edited = apply_edits(before, call.edits)
        if isinstance(edited, EditRefused):
            call.refuse(Observation(refused=edited))
            return
        drafts = self.state.drafts - changed_code(before, edited)
        notebook.state = replace(self.state, document=edited, drafts=drafts)
        await self._ask(call, before, edited)
        if call.may_be_asked_again():
            # The kernel had died before it heard us (with its zygote, say): nothing ran, so nothing runs twice.
            await self._ask(call, before, edited)
        if call.kernel_end is not None:
            self._live.replay = cells_to_replay(self.state.outcomes, call.snapshot().cells)
        notebook.state = self.state.with_outcomes(call.finish().cells)

    async def _ask(self, call: Call, before: Document, edited: Document) -> None:
        kernel = await self._live.ready()
        call.request = self._live.next_request()
        kernel.link.begin_request()
        try:
            with self._live.running_cells():
                await kernel.link.send(self._message(call, before, edited))
                await self._watch_over(call, kernel)
        except LinkClosed:
            # listen() sees the same end and reports how it came about.
            await call.is_over.wait()

    async def _watch_over(self, call: Call, kernel: Kernel) -> None:
        wall = self._live.provisioner.options.limits.wall_seconds
        with anyio.move_on_after(wall):
            while await call.until_deadline() is not None:
                await kernel.interrupt(call.is_over)
            return
        await kernel.kill(f"it ran over its wall time limit of {wall:g} s", limit="wall")
        await call.is_over.wait()

    def _message(self, call: Call, before: Document, edited: Document) -> wire.Apply | wire.SetUi:
        if call.ui is not None:
            encoded = {name: msgspec.Raw(msgspec.msgpack.encode(value)) for name, value in call.ui.items()}
            return wire.SetUi(request=call.request, values=encoded)
        live, state = self._live, self.state
        cells = {cell.id: cell for cell in state.document.cells}
        is_for_stale = call.run == "stale"
        stale = stale_cells(state.document, state.outcomes, state.reported_stale) if is_for_stale else set[CellId]()
        run = (cells_to_run(call.run, before, edited, stale) | live.replay) & cells.keys()
        live.replay -= run
        drafts = frozenset((state.drafts - run) & cells.keys() if live.known else ())
        self._notebook.state = replace(state, drafts=drafts)
        # Of a draft the kernel keeps what it knows.
        known, seen = live.known, [live.known.get(cell.id) if cell.id in drafts else cell for cell in cells.values()]
        live.known = wanted = {cell.id: cell for cell in seen if cell is not None}
        changed = [cell for cell in wanted.values() if not knows(known.get(cell.id), cell)]
        return wire.Apply(
            request=call.request,
            upsert=[wire.CellCode(cell=cell.id, code=cell.code, disabled=cell.config.disabled) for cell in changed],
            delete=[cell for cell in known if cell not in wanted],
            run=[cell for cell in wanted if cell in run],
            reactive=call.run != "none",
            pause_after_ms=self._pauses.after_ms(call),
        )

    # ── what the kernel says ──

    def hear(self, message: wire.Told) -> None:
        """Take a message about a call, or about what the notebook does by itself."""
        if isinstance(message, wire.Ready):
            return
        call = self.current
        if call is not None and message.request == call.request:
            call.hear(message)
            if self._live.kernel is not None:
                self._pauses.hear(call, self._live.kernel, message)
        elif message.request == 0 and isinstance(message, wire.CellFinished):
            # Nobody asked: a state set by a background task, an editor's run.
            cell = CellId(message.report.cell)
            if self.state.document.find(cell) is not None:
                outcome = outcome_of(message.report, name=self.state.name_of(cell), console="")
                self._notebook.state = self.state.with_outcomes([outcome])
                self.emit(CellFinishedEvent(outcome=outcome))

    def kernel_ended(self, end: KernelEnd) -> None:
        """The kernel is gone, and nobody had asked for that."""
        if self.current is not None:
            self.current.kernel_ended(end)
        else:
            self.emit(KernelEnded(end=end))
