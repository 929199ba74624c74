"""One call on an open notebook: await it for the observation, iterate it for its events, or let it run detached."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import anyio

from cellwright.ids import CellId
from cellwright.kernel.observation import (
    CellFault,
    CellFinishedEvent,
    CellOutcome,
    CellProgress,
    CellStartedEvent,
    CellStatus,
    ConsoleText,
    Event,
    KernelEnd,
    KernelEnded,
    NotebookState,
    Observation,
    outcome_of,
)
from cellwright.notebook.edits import Edit
from cellwright_guest import wire

SelectionKeyword = Literal["affected", "all", "stale", "none"]
CellSelection = SelectionKeyword | Sequence[CellId]
"""affected: what the edits changed and everything that depends on it. none: what would run becomes stale instead."""

_CONSOLE_CHARACTERS = 20_000
_CONSOLE_TOTAL = 4 << 20
"""Console text told as events in one call; an honest guest stays far below, a forged flood must not fill the host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """What a call may take."""

    cell_seconds: float | None = None
    """Deadline for each cell: it is interrupted, and killed with its kernel if it does not heed that."""
    seconds: float | None = None
    """Deadline for the whole call."""
    revision: str = ""
    """Its label, if what was before its cells is to be kept: see `CheckpointPauses`."""
    detach_after: float | None = None
    """Answer after this long even if cells still run; they go on."""


class CallOwner(Protocol):
    """Who carries calls out, one after the other."""

    @property
    def state(self) -> NotebookState:
        """The notebook's state as it is now."""

    def begin(self, call: Call) -> None:
        """Queue a call; it starts when the kernel is free."""

    def emit(self, event: Event) -> None:
        """Pass an event on to everyone who observes."""

    async def interrupt(self) -> None:
        """Stop what runs."""


class Call:
    """A request to the kernel and everything heard about it."""

    def __init__(
        self,
        owner: CallOwner,
        *,
        edits: Sequence[Edit] = (),
        run: CellSelection = "affected",
        ui: dict[str, object] | None = None,
        terms: CallLimits | None = None,
    ) -> None:
        self._owner = owner
        self.edits = tuple(edits)
        self.run = run
        self.ui = ui
        self.terms = terms or CallLimits()
        self.request = 0
        self.is_over = anyio.Event()
        self.observation: Observation | None = None
        self.kernel_end: KernelEnd | None = None
        self.problem = ""
        self.stale: tuple[CellId, ...] = ()
        self.running: CellId | None = None
        self.progress: CellProgress | None = None
        self._outcomes: dict[CellId, CellOutcome] = {}
        self._consoles: dict[CellId, _Tail] = {}
        self._events: list[Event] = []
        self._pulse = anyio.Event()
        self._console_characters = 0
        self._is_begun = False
        self._has_heard = False
        # Only the first to wait is sent away early; whoever waits again wants the end.
        self._detach_after = self.terms.detach_after
        self._began = time.monotonic()
        self._cell_began = 0.0
        self._deadline_met: CellFault | None = None

    def __await__(self) -> Generator[Any, None, Observation]:
        return self._complete().__await__()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._iterate()

    async def interrupt(self) -> None:
        """Stop what runs; a cell that ignores it is killed with its kernel. Returns when it is over."""
        await self._owner.interrupt()

    def start(self) -> None:
        """Queue it, if it is not: it then runs whether or not anybody waits for it."""
        if not self._is_begun:
            self._is_begun = True
            self._began = time.monotonic()
            self._owner.begin(self)

    async def _complete(self) -> Observation:
        last: Event | None = None
        async for event in self._iterate():
            last = event
        assert isinstance(last, Observation)
        return last

    async def _iterate(self) -> AsyncGenerator[Event]:
        self.start()
        detach_after, self._detach_after = self._detach_after, None
        until = self._began + detach_after if detach_after is not None else None
        seen = 0
        try:
            while self.observation is None:
                pulse = self._pulse
                while seen < len(self._events):
                    yield self._events[seen]
                    seen += 1
                if pulse.is_set():
                    continue
                with anyio.move_on_after(max(0.0, until - time.monotonic()) if until is not None else None) as scope:
                    await pulse.wait()
                if scope.cancelled_caught:
                    yield self.snapshot(is_running=True)
                    return
            for event in self._events[seen:]:
                yield event
            yield self.observation
        except anyio.get_cancelled_exc_class():
            # The one who asked is gone: nothing may go on running behind their back.
            with anyio.CancelScope(shield=True):
                await self._owner.interrupt()
            raise

    # ── what the notebook hears and hands over ──

    def hear(self, message: wire.Told) -> None:
        """Take one message of the kernel."""
        self._has_heard = True
        match message:
            case wire.CellStarted(cell=cell):
                self.running, self._cell_began = CellId(cell), time.monotonic()
                self._consoles[self.running] = _Tail()
                self.emit(CellStartedEvent(cell=self.running))
            case wire.Console(cell=cell, stream=stream, text=text):
                self._consoles.setdefault(CellId(cell), _Tail()).add(text)
                self._console_characters += len(text)
                if self._console_characters <= _CONSOLE_TOTAL:
                    self.emit(ConsoleText(cell=CellId(cell), stream=stream, text=text))
            case wire.Progress(cell=cell, title=title, done=done, total=total):
                self.progress = CellProgress(cell=CellId(cell), title=title[:200], done=done, total=total)
                self.emit(self.progress)
            case wire.CellFinished(report=report):
                self._finished(report)
            case wire.Finished(stale=stale, error=error):
                self.stale = tuple(CellId(cell) for cell in stale)
                self.problem = error
                self.running = None
                self.is_over.set()
                self._wake()
            case _:
                pass

    def kernel_ended(self, end: KernelEnd) -> None:
        """The kernel is gone: what ran in it is lost."""
        self.kernel_end = end
        if self.running is not None:
            fault = self._deadline_met or CellFault(type="KernelEnded", message=f"The kernel ended: {end.reason}.")
            self._outcomes[self.running] = self._outcome(self.running, "lost", fault)
        self.running = None
        if self._has_heard:
            self.emit(KernelEnded(end=end))
        self.is_over.set()
        self._wake()

    def may_be_asked_again(self) -> bool:
        """True, once, when the kernel ended before it said a word about this call; then the call starts over."""
        if self.kernel_end is None or self._has_heard or self._deadline_met is not None:
            return False
        self.kernel_end, self.is_over, self._has_heard = None, anyio.Event(), True
        return True

    def emit(self, event: Event) -> None:
        """Pass an event on to whoever iterates or observes."""
        self._events.append(event)
        self._owner.emit(event)
        self._wake()

    def _wake(self) -> None:
        pulse, self._pulse = self._pulse, anyio.Event()
        pulse.set()

    def finish(self) -> Observation:
        """Nothing more will be heard."""
        self.observation = self.snapshot()
        self._wake()
        return self.observation

    def refuse(self, observation: Observation) -> None:
        """It never reached the kernel."""
        self.observation = observation
        self.is_over.set()
        self._wake()

    async def until_deadline(self) -> CellFault | None:
        """Wait until the call is over (None) or one of its deadlines has passed."""
        while not self.is_over.is_set():
            pulse = self._pulse
            due, fault = self._next_deadline()
            if due is not None and due <= time.monotonic():
                self._deadline_met = fault
                return fault
            with anyio.move_on_after(None if due is None else max(0.0, due - time.monotonic())):
                await pulse.wait()
        return None

    def snapshot(self, *, is_running: bool = False) -> Observation:
        """What is known now, in notebook order."""
        if is_running and self.running is not None:
            running = self._outcome(self.running, "running", ms=(time.monotonic() - self._cell_began) * 1e3)
            self._outcomes.setdefault(self.running, running)
        cells = self._owner.state.document.cells
        wanted = {*self._outcomes, *self.stale}
        order = {cell.id: index for index, cell in enumerate(cells) if cell.id in wanted}
        known = [outcome for outcome in self._outcomes.values() if outcome.id in order]
        return Observation(
            cells=tuple(sorted(known, key=lambda outcome: order[outcome.id])),
            stale=tuple(cell for cell in self.stale if cell in order),
            kernel_end=self.kernel_end,
            is_running=is_running,
            problem=self.problem,
            ms=round((time.monotonic() - self._began) * 1e3, 3),
        )

    def _finished(self, report: wire.CellReport) -> None:
        cell = CellId(report.cell)
        outcome = outcome_of(report, name=self._owner.state.name_of(cell), console=self._console(cell))
        if outcome.status == "interrupted" and self._deadline_met is not None:
            outcome = replace(outcome, error=self._deadline_met)
        if cell == self.running:
            self.running = None
        self._outcomes[cell] = outcome
        self.emit(CellFinishedEvent(outcome=outcome))

    def _outcome(
        self, cell: CellId, status: CellStatus, fault: CellFault | None = None, ms: float = 0.0
    ) -> CellOutcome:
        name, console = self._owner.state.name_of(cell), self._console(cell)
        return CellOutcome(id=cell, name=name, status=status, error=fault, ms=ms, console=console)

    def _console(self, cell: CellId) -> str:
        tail = self._consoles.get(cell)
        return tail.text() if tail is not None else ""

    def _next_deadline(self) -> tuple[float | None, CellFault]:
        dues: list[tuple[float, str, float]] = []
        if self.terms.seconds is not None:
            dues.append((self._began + self.terms.seconds, "the whole call", self.terms.seconds))
        if self.terms.cell_seconds is not None and self.running is not None:
            dues.append((self._cell_began + self.terms.cell_seconds, "one cell", self.terms.cell_seconds))
        if not dues:
            return None, CellFault(type="", message="")
        due, what, seconds = min(dues)
        return due, CellFault(type="DeadlineReached", message=f"Stopped after {seconds:g} s, the limit for {what}.")


class _Tail:
    """A cell's console text: the beginning and the end are kept when it is long."""

    def __init__(self) -> None:
        self._head: list[str] = []
        self._length = 0
        self._tail = ""

    def add(self, text: str) -> None:
        room = _CONSOLE_CHARACTERS // 2 - min(self._length, _CONSOLE_CHARACTERS // 2)
        self._length += len(text)
        if room:
            self._head.append(text[:room])
            text = text[room:]
        self._tail = (self._tail + text)[-_CONSOLE_CHARACTERS // 2 :]

    def text(self) -> str:
        left_out = self._length - sum(map(len, self._head)) - len(self._tail)
        middle = f"\n… {left_out:,} characters left out …\n" if left_out else ""
        return "".join(self._head) + middle + self._tail
