"""The open notebook: document, kernel, versions, saving and observers, as one object everyone shares.

Whoever looks at a notebook (an agent, an editor, a command) holds the same `OpenNotebook`. Calls take turns. When
a kernel is lost, the next call starts another and replays what had run.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import anyio.abc
import anyio.to_thread

from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.kernel.branches.branch import Branch
from cellwright.kernel.branches.branch_kernel import BranchLimits
from cellwright.kernel.branches.checkpoints import CheckpointBudget, CheckpointPauses, Checkpoints
from cellwright.kernel.branches.factory import BranchFactory, open_parallel_branch
from cellwright.kernel.environments.packages import PackageInstall
from cellwright.kernel.functions.cell_functions import CallOutcome, CellFunction, NotebookValue
from cellwright.kernel.observation import (
    CellFinishedEvent,
    CellOutcome,
    Event,
    KernelEnd,
    KernelEnded,
    Observation,
    VariablePreview,
    outcome_of,
    outcomes_for_summary,
)
from cellwright.kernel.process.call import Call, CallLimits, CellSelection
from cellwright.kernel.process.kernel import Kernel
from cellwright.kernel.process.link import LinkClosed, MarimoNotification
from cellwright.kernel.process.live_kernel import LiveKernel
from cellwright.kernel.process.provisioner import KernelProvisioner
from cellwright.kernel.process.run_request import (
    cells_that_ran,
    cells_to_replay,
    cells_to_run,
    change_request,
    changed_code,
    stale_cells,
    ui_request,
    without_drafts,
)
from cellwright.kernel.process.side_calls import ProgramEnd, SideAnswer, SideCalls
from cellwright.kernel.session.install import install
from cellwright.kernel.session.observers import EditorAttachment, EditorChannel, EditorListener, Observers
from cellwright.notebook import (
    Cell,
    Consequences,
    Document,
    Edit,
    EditRefused,
    NotebookFile,
    SaveConflict,
    apply_edits,
    foresee,
    save,
    summary,
)
from cellwright.notebook.files import read_if_changed
from cellwright.sandbox import FileChange, FilesMode, KeepReport, Limits, Tier
from cellwright_guest import wire
from cellwright_guest.facts_wire import VariableFacts

__all__ = ["EditorChannel", "OpenNotebook"]

logger = logging.getLogger(__name__)


class OpenNotebook:
    """A notebook with a live kernel. Made by `KernelPool.open_notebook`."""

    def __init__(self, file: NotebookFile, workplace: KernelProvisioner, tasks: anyio.abc.TaskGroup) -> None:
        self._file = file
        self._workplace = workplace
        self._tasks = tasks
        self._document = file.document
        self.outcomes: dict[CellId, CellOutcome] = {}
        self.current: Call | None = None
        """The call that runs now, if any: await it, or interrupt it."""
        self._live = LiveKernel(self, workplace, tasks, deliver=self._deliver, on_end=self._kernel_ended)
        self.kept: list[KeepReport] = self._live.kept
        self._asides = SideCalls(self._live, catch_up=partial(self.run, "none"))
        self._branches = BranchFactory(self, self._live, self._asides)
        forks = (self._branches.fork_stand, self._branches.fork_stand_in_pause)
        self.checkpoints = Checkpoints(self, forks[0], CheckpointBudget(), forks[1])
        """States to go back to."""
        self._pauses = CheckpointPauses(self, tasks)
        self._observers = Observers()
        self._editor = EditorAttachment(self._live)
        self._stale: frozenset[CellId] = frozenset()
        self._drafts: set[CellId] = set()
        """Cells whose text was typed and not run yet; the kernel goes on with what it has of them."""
        self._saving = anyio.Lock()
        self._named: Document | None = None
        self._names: dict[CellId, str] = {}

    # ── calls ──

    def apply(
        self,
        edits: Sequence[Edit] = (),
        *,
        run: CellSelection = "affected",
        cell_seconds: float | None = None,
        seconds: float | None = None,
        detach_after: float | None = None,
        turn: str = "",
    ) -> Call:
        """Edit and run in one call: `await` gives the observation, `async for` its events and then the observation.

        All edits apply or none does; an edit based on an older version of its cell is refused with both texts. With
        the name of a turn, whose checkpoint was taken, states between its cells are kept, too.
        """
        terms = CallLimits(cell_seconds=cell_seconds, seconds=seconds, detach_after=detach_after, turn=turn)
        return Call(self, edits=edits, run=run, terms=terms)

    def run(
        self,
        what: CellSelection = "all",
        *,
        cell_seconds: float | None = None,
        seconds: float | None = None,
        detach_after: float | None = None,
        turn: str = "",
    ) -> Call:
        """Run cells without editing them."""
        return self.apply(run=what, cell_seconds=cell_seconds, seconds=seconds, detach_after=detach_after, turn=turn)

    def set_ui(self, values: dict[str, object], *, seconds: float | None = None) -> Call:
        """Set `mo.ui` elements by their variable names, as a person would; what depends on them runs."""
        return Call(self, ui=values, terms=CallLimits(seconds=seconds))

    async def look(self, names: Sequence[str] = (), *, tokens: int = 200) -> tuple[VariablePreview, ...]:
        """Fresh previews of variables, of all when `names` is empty."""
        return await self._asides.look(names, tokens=tokens)

    async def run_program(
        self, command: Sequence[str], *, folder: str = "", seconds: float = 60, output_bytes: int = 1 << 16
    ) -> ProgramEnd:
        """Run a program in the notebook's cage: its files and limits, none of its variables. Cells wait meanwhile."""
        return await self._asides.run_program(command, folder=folder, seconds=seconds, output_bytes=output_bytes)

    async def functions(self) -> tuple[CellFunction, ...]:
        """The functions that cells have defined and marked with `@cellwright.tool`."""
        return await self._asides.functions()

    async def call_function(
        self, name: str, arguments: Mapping[str, object], *, seconds: float = 60, tokens: int = 500
    ) -> CallOutcome:
        """Call a marked function with JSON arguments. No cell runs, no name changes; calls and cells take turns."""
        return await self._asides.call_function(name, arguments, seconds=seconds, tokens=tokens)

    async def values(self, names: Sequence[str], *, tokens: int = 500) -> dict[str, NotebookValue]:
        """These variables whole, as far as JSON can say them; of a `mo.ui` element, its value."""
        return await self._asides.values(names, tokens=tokens)

    async def facts(self, names: Sequence[str]) -> tuple[VariableFacts, ...]:
        """What can be compared of these variables: see `variable_diff`."""
        return await self._asides.facts(names)

    async def interrupt(self) -> None:
        """Stop the running call. A cell that ignores it is killed with its kernel."""
        call, kernel = self.current, self._live.kernel
        if kernel is not None:
            await self._asides.interrupt(kernel)
            await self._editor.interrupt(kernel)
        if call is not None and kernel is not None:
            await kernel.interrupt(call.is_over)
            await call.is_over.wait()

    async def restart(self) -> None:
        """A fresh kernel: every variable is gone, every cell is stale until it is run."""
        await self.interrupt()
        async with self._live.turn:
            await self._live.retire()
            self._live.replay.clear()
            self.outcomes.clear()
            await self._editor.greet(await self._live.ready())

    async def settle(self) -> None:
        """End the kernel, and keep or drop the files it changed: `kept` says which. Running a cell begins anew."""
        await self.interrupt()
        await self.checkpoints.close()
        async with self._live.turn:
            await self._live.retire()

    async def lacking(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of these distributions that its header's environment does not have; without a header it has ours."""
        return await self._workplace.lacking(names)

    async def install(self, requirement: str, *, seconds: float | None = None) -> PackageInstall:
        """Add a package to the notebook's header and environment; what failed for want of a module runs again.

        Whoever calls this was allowed to. The kernel goes on with its state where what it has stays as it is; else a
        new one runs what had run. Raises `UserError` or `Unavailable` when it cannot be had: then nothing has changed.
        """
        return await install(self, self._live, self._asides, requirement, seconds=seconds)

    # ── branches ──

    @asynccontextmanager
    async def branch(self, limits: BranchLimits | None = None) -> AsyncGenerator[Branch]:
        """A copy of the live notebook in which a change is tried; whatever happens there, this one stays as it is."""
        branch = await self._branches.open(limits or BranchLimits())
        try:
            yield branch
        finally:
            with anyio.CancelScope(shield=True):
                await branch.close()

    def distrust_forks(self, reason: str) -> None:
        """A fork of the present kernel failed as no rerun does: it is not forked again."""
        self._branches.forks.distrust(reason)

    def turn(self) -> AbstractAsyncContextManager[None]:
        """No cell runs and nobody else speaks with the kernel while this is held."""
        return self._live.turn

    async def ask(
        self, make: Callable[[int], wire.FromHost], seconds: float, descriptors: Sequence[int] = ()
    ) -> wire.Aside | None:
        """A question to the kernel that runs no cells, with open files for it to have; None if it does not answer."""
        return (await self._asides.ask(make, seconds, descriptors)).answer

    async def run_quietly(self, cells: Sequence[CellId]) -> Observation:
        """Run these cells and nothing that follows from them; what does becomes stale."""
        self.run_again(cells)
        return await self.run("none")

    def lane(self, file: NotebookFile) -> AbstractAsyncContextManager[OpenNotebook]:
        """The notebook as it is now, going on for itself with the cells of this file, which it is saved to."""
        return open_parallel_branch(self, self._live, self._branches.forks, file)

    def twin(self, workplace: KernelProvisioner, file: NotebookFile | None = None) -> OpenNotebook:
        """The same outcomes, and the same cells or those of the file, over another kernel; each is its own."""
        twin = OpenNotebook(file or self._file, workplace, self._tasks)
        twin._document, twin.outcomes = self._document if file is None else file.document, dict(self.outcomes)
        twin._stale, twin._drafts = self._stale, set(self._drafts)
        return twin

    async def exchange(self, other: OpenNotebook) -> None:
        """Become what a fork of this notebook is, with its variables and files; and that becomes what this was."""
        async with self._live.turn, other._live.turn:
            await self._live.exchange(other._live)
            self.document, other.document = other.document, self.document
            self.outcomes, other.outcomes = other.outcomes, self.outcomes
            self._stale, other._stale = other._stale, self._stale
            self._drafts, other._drafts = other._drafts, self._drafts
            if self._live.kernel is not None:
                await self._editor.greet(self._live.kernel)

    async def rewind(self, document: Document, outcomes: Mapping[CellId, CellOutcome]) -> Observation:
        """Be what the notebook was with these cells and outcomes, in a new kernel that runs again what had run.

        What the present kernel did to files is dropped: the replay does to them what it did before.
        """
        await self.interrupt()
        async with self._live.turn:
            await self.checkpoints.close()
            await self._live.retire(is_kept=False)
            self.document, self.outcomes, self._drafts = document, {}, set()
            self._live.replay = cells_that_ran(outcomes)
        return await self.run("none")

    def run_again(self, cells: Collection[CellId]) -> None:
        """With its next call, these cells run first: they had run in a kernel that is not this one's."""
        self._live.replay |= set(cells)

    def be_amid(
        self, finished: Mapping[CellId, CellOutcome], waiting: Collection[CellId], stale: Collection[CellId]
    ) -> None:
        """Be what a notebook is in the midst of a call: these cells have run in it, and those have not yet."""
        known = {cell: outcome for cell, outcome in self.outcomes.items() if cell not in waiting}
        self.outcomes, self._stale = {**known, **finished}, frozenset(stale)

    async def restore(self, document: Document) -> Observation:
        """Have these cells, and run none; what has other code now has no result until it runs."""
        other = changed_code(self.document, document)
        there = {cell.id for cell in document.cells} - other
        self.outcomes = {cell: outcome for cell, outcome in self.outcomes.items() if cell in there}
        self.document = document
        return await self.run("none")

    def take_over(self, kernel: Kernel, known: Mapping[CellId, Cell]) -> None:
        """Go on with a kernel that has these cells."""
        self._live.known = dict(known)
        self._live.adopt(kernel)

    # ── document ──

    @property
    def document(self) -> Document:
        """The notebook's cells as they are now: the only authority, whoever shows or saves them."""
        return self._document

    @document.setter
    def document(self, document: Document) -> None:
        self._document = document
        self._editor.document_changed()

    def edit(self, edits: Sequence[Edit]) -> EditRefused | None:
        """Change the document at once, also while a call runs: what is typed and not run yet.

        The kernel goes on with the code it has of these cells, until somebody runs or edits them.
        """
        before = self.document
        edited = apply_edits(before, edits)
        if isinstance(edited, EditRefused):
            return edited
        typed = changed_code(before, edited)
        self._drafts |= typed
        self.outcomes = {cell: outcome for cell, outcome in self.outcomes.items() if cell not in typed}
        self.document = edited
        return None

    @property
    def stale(self) -> tuple[CellId, ...]:
        """Cells that must run to be current, in notebook order."""
        stale = stale_cells(self.document, self.outcomes, self._stale)
        return tuple(cell.id for cell in self.document.cells if cell.id in stale)

    def foresee(self, edits: Sequence[Edit]) -> Consequences | EditRefused:
        """What edits would do, without doing it."""
        return foresee(self.document, edits)

    def summary(self, *, budget_tokens: int = 4_000, focus: Sequence[CellId] = ()) -> str:
        """The notebook for a prompt: cells, graph and outcomes within a budget."""
        return summary(self.document, outcomes_for_summary(self.outcomes), budget_tokens, focus=focus)

    async def save(self) -> SaveConflict | None:
        """Write the notebook, atomically. A file that changed since it was read is left alone: both texts come back."""
        async with self._saving:
            saved = await anyio.to_thread.run_sync(save, self._file, self.document)
            if isinstance(saved, SaveConflict):
                return saved
            self._file = saved
            return None

    async def changed_on_disk(self) -> NotebookFile | None:
        """The file read again, if it is not what was last read or saved. Raises `UserError` if it is no notebook."""
        return await anyio.to_thread.run_sync(read_if_changed, self._file)

    async def adopt(self, file: NotebookFile, document: Document) -> None:
        """Go on from what somebody else saved, with a document made of it. Cells that changed are stale until run."""
        async with self._live.turn:
            old = {cell.id: cell.code for cell in self.document.cells}
            self._file, self.document = file, document
            now = {cell.id: cell.code for cell in self.document.cells}
            self.outcomes = {cell: kept for cell, kept in self.outcomes.items() if now.get(cell) == old.get(cell)}

    @property
    def path(self) -> Path:
        """Where the notebook is: its own file, also of a lane, which is saved elsewhere until it is joined."""
        return self._workplace.path

    def name_of(self, cell: CellId) -> str:
        """A cell's name, or its id when nobody named it."""
        if self._named is not self.document:
            self._named = self.document
            self._names = {cell.id: cell.name for cell in self.document.cells if cell.name not in ("", "_")}
        return self._names.get(cell, cell)

    # ── files and observers ──

    async def changed_files(self) -> tuple[FileChange, ...]:
        """Files of the project that the notebook's code made, changed or removed so far."""
        return await self._live.changed_files()

    def observe(self) -> AbstractAsyncContextManager[anyio.abc.ObjectReceiveStream[Event]]:
        """Everything that happens from now on, whoever caused it. A reader that falls far behind loses its stream."""
        return self._observers.observe()

    def tell(self, event: Event) -> None:
        """Pass an event on to everyone who observes."""
        self._observers.tell(event)

    def editor_lane(self, mirror: EditorListener | None = None) -> AbstractAsyncContextManager[EditorChannel]:
        """marimo's own commands in and notifications out, unopened, for one editor; on only while somebody is here."""
        return self._editor.lane(mirror)

    async def distributions(self) -> dict[str, str]:
        """The packages its kernels have, name → version."""
        return await self._live.distributions()

    def set_header(self, header: str) -> None:
        """What stands above the cells; a kernel that runs goes on with what it has."""
        self.document = replace(self.document, header=header)

    @property
    def tier(self) -> Tier:
        """How well its kernels are contained."""
        return self._workplace.tier

    @property
    def python(self) -> str:
        """The version of Python its kernel runs on; before the first one started, Cellwright's own."""
        return self._workplace.python

    @property
    def limits(self) -> Limits:
        """What its kernels may use."""
        return self._workplace.limits

    @property
    def hidden_files(self) -> tuple[str, ...]:
        """Paths of the project that look like secrets and are not visible inside."""
        return self._workplace.hidden

    @property
    def left_out_files(self) -> tuple[str, ...]:
        """Paths of the project that are not in the copy its kernel works on; none where it has the project itself."""
        return self._workplace.left_out

    @property
    def volumes(self) -> tuple[str, ...]:
        """Paths of the project on which something is mounted, such as a container's volume."""
        return self._workplace.volumes.all

    @property
    def is_copied(self) -> bool:
        """Whether its kernel works on a copy of the project, of which `left_out_files` are no part."""
        return self._workplace.is_copied

    @property
    def files_mode(self) -> FilesMode:
        """What becomes of changed files."""
        return self._workplace.files

    @property
    def kernel(self) -> Kernel | None:
        """The live kernel, if there is one."""
        return self._live.kernel

    @property
    def kernel_over(self) -> anyio.Event:
        """Set when the present kernel has ended."""
        return self._live.over

    # ── life ──

    async def start(self) -> None:
        """Have a kernel ready."""
        async with self._live.turn:
            await self._live.ready()

    async def close(self) -> None:
        """Stop what runs, keep or drop the changed files, end the kernel."""
        self._editor.close()
        await self.interrupt()
        await self.checkpoints.close()
        await self._live.retire()
        self._workplace.close()

    def begin(self, call: Call) -> None:
        """Queue a call; it starts when it is its turn."""
        self._tasks.start_soon(self._drive, call)

    async def _drive(self, call: Call) -> None:
        async with self._live.turn:
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
        if call.observation is not None:
            self.tell(call.observation)

    async def _carry_out(self, call: Call) -> None:
        before = self.document
        edited = apply_edits(before, call.edits)
        if isinstance(edited, EditRefused):
            call.refuse(Observation(refused=edited))
            return
        self.document = edited
        self._drafts -= changed_code(before, edited)
        await self._ask(call, before, edited)
        if call.may_be_asked_again():
            # The kernel had died before it heard us (with its zygote, say): nothing ran, so nothing runs twice.
            await self._ask(call, before, edited)
        if call.kernel_end is not None:
            self._live.replay = cells_to_replay(self.outcomes, call.snapshot().cells)
        for outcome in call.finish().cells:
            self._keep(outcome)

    async def _ask(self, call: Call, before: Document, edited: Document) -> None:
        kernel = await self._live.ready()
        await self._editor.greet(kernel)
        call.request = self._live.next_request()
        kernel.link.begin_request()
        try:
            await kernel.link.send(self._message(call, before, edited))
            await self._watch_over(call, kernel)
        except LinkClosed:
            # listen() sees the same end and reports how it came about.
            await call.is_over.wait()

    async def _watch_over(self, call: Call, kernel: Kernel) -> None:
        wall = self._workplace.limits.wall_seconds
        with anyio.move_on_after(wall):
            while await call.until_deadline() is not None:
                await kernel.interrupt(call.is_over)
            return
        await kernel.condemn(f"it ran over its wall time limit of {wall:g} s", limit="wall")
        await call.is_over.wait()

    def _message(self, call: Call, before: Document, edited: Document) -> wire.Apply | wire.SetUi:
        if call.ui is not None:
            return ui_request(call.request, call.ui)
        live, cells = self._live, {cell.id: cell for cell in self.document.cells}
        stale = stale_cells(self.document, self.outcomes, self._stale) if call.run == "stale" else set[CellId]()
        run = (cells_to_run(call.run, before, edited, stale) | live.replay) & cells.keys()
        live.replay -= run
        self._drafts = (self._drafts - run) & cells.keys() if live.known else set()
        known, wanted = live.known, without_drafts(cells, live.known, self._drafts)
        live.known = wanted
        is_reactive, pause = call.run != "none", self._pauses.after_ms(call)
        return change_request(
            call.request, known=known, wanted=wanted, run=run, is_reactive=is_reactive, pause_after_ms=pause
        )

    # ── what the kernel says ──

    async def _deliver(self, message: wire.FromGuest | MarimoNotification) -> None:
        if isinstance(message, MarimoNotification):
            self._editor.tell(message.body)
            return
        if isinstance(message, wire.CommandDone):
            self._stale = frozenset(CellId(cell) for cell in message.stale)
            self._editor.command_done()
            return
        if isinstance(message, SideAnswer):
            is_wanted = self._asides.hear(message)
            if is_wanted and isinstance(message, wire.FunctionEnded) and not message.refused:
                self._stale = frozenset(CellId(cell) for cell in message.stale)
            return
        if isinstance(message, wire.Ready):
            return
        if isinstance(message, wire.Finished):
            self._stale = frozenset(CellId(cell) for cell in message.stale)
        call = self.current
        if call is not None and message.request == call.request:
            call.hear(message)
            if self._live.kernel is not None:
                self._pauses.hear(call, self._live.kernel, message)
        elif message.request == 0:
            self._heard_unasked(message)

    def _heard_unasked(self, message: wire.FromGuest) -> None:
        """What the notebook does by itself: a state set by a background task, an editor's run."""
        if isinstance(message, wire.CellFinished):
            cell = CellId(message.report.cell)
            if self.document.find(cell) is not None:
                outcome = outcome_of(message.report, name=self.name_of(cell), console="")
                self._keep(outcome)
                self.tell(CellFinishedEvent(outcome=outcome))

    def _keep(self, outcome: CellOutcome) -> None:
        # What was typed meanwhile has not run: its old code's outcome is not its own.
        if outcome.id not in self._drafts:
            self.outcomes[outcome.id] = outcome

    def _kernel_ended(self, end: KernelEnd) -> None:
        if self.current is not None:
            self.current.kernel_ended(end)
        else:
            self.tell(KernelEnded(end=end))
        self._editor.kernel_ended(end)
