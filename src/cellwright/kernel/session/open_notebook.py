"""The open notebook: document, kernel, versions, saving and observers, as one object everyone shares.

Whoever looks at a notebook (an agent, an editor, a command) holds the same `OpenNotebook`. Calls take turns. When
a kernel is lost, the next call starts another and replays what had run.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Self

import anyio
import anyio.abc
import anyio.to_thread

from cellwright.ids import CellId
from cellwright.kernel.branches.branch import Branch
from cellwright.kernel.branches.branch_kernel import BranchLimits
from cellwright.kernel.branches.factory import BranchFactory
from cellwright.kernel.environments.packages import PackageInstall
from cellwright.kernel.functions.cell_functions import (
    CallOutcome,
    CellFunction,
    NotebookValue,
    call_function,
    list_functions,
    read_values,
)
from cellwright.kernel.observation import (
    CellOutcome,
    Event,
    KernelEnd,
    NotebookState,
    VariablePreview,
    outcomes_for_summary,
)
from cellwright.kernel.process.call import Call, CallLimits, CellSelection
from cellwright.kernel.process.link import MarimoNotification
from cellwright.kernel.process.live_kernel import LiveKernel
from cellwright.kernel.process.provisioner import KernelProvisioner
from cellwright.kernel.process.run_request import changed_code, stale_cells
from cellwright.kernel.process.side_calls import SideCalls
from cellwright.kernel.session.call_runner import CallRunner
from cellwright.kernel.session.install import install
from cellwright.kernel.session.observers import EditorAttachment, EditorChannel, EditorListener, Observers
from cellwright.notebook.consequences import Consequences, foresee
from cellwright.notebook.document import Document
from cellwright.notebook.edits import Edit, EditRefused, apply_edits
from cellwright.notebook.files import NotebookFile, SaveConflict, read_if_changed, save
from cellwright.notebook.prompt_summary import summary
from cellwright.sandbox.host.file_changes import FileChange
from cellwright_guest import wire

__all__ = ["EditorChannel", "OpenNotebook"]


class SavedFile:
    """Writes one notebook, and notices when somebody else did."""

    def __init__(self, last: NotebookFile) -> None:
        self.last = last
        """What was last read or saved."""
        self._saving = anyio.Lock()

    async def save(self, document: Document) -> SaveConflict | None:
        """Write the notebook, atomically. A file that changed since it was read is left alone: both texts come back."""
        async with self._saving:
            saved = await anyio.to_thread.run_sync(save, self.last, document)
            if isinstance(saved, SaveConflict):
                return saved
            self.last = saved
            return None

    async def changed_on_disk(self) -> NotebookFile | None:
        """The file read again, if it is not what was last read or saved. Raises `UserError` if it is no notebook."""
        return await anyio.to_thread.run_sync(read_if_changed, self.last)


class OpenNotebook:
    """A notebook with a live kernel. Made by `KernelPool.open_notebook`."""

    def __init__(self, file: NotebookFile, provisioner: KernelProvisioner, tasks: anyio.abc.TaskGroup) -> None:
        self.file = SavedFile(file)
        self.path: Path = provisioner.path
        """Where the notebook is: its own file, also of a parallel branch, which is saved elsewhere until joined."""
        self._state = NotebookState(document=file.document)
        self.provisioner = provisioner
        """What its kernels may use and see."""
        self.live = LiveKernel(self, provisioner, tasks, deliver=self._deliver, on_end=self._kernel_ended)
        self.kept = self.live.kept
        self.side_calls = SideCalls(self.live, catch_up=partial(self.run, "none"))
        self.branches = BranchFactory(self)
        self.checkpoints = self.branches.checkpoints
        """States to go back to."""
        self._observers = Observers()
        self._editor = EditorAttachment(self.live)
        self.live.on_kernel = self._editor.greet
        self._calls = CallRunner(self, self._observers, self.checkpoints)

    # ── calls ──

    def apply(
        self,
        edits: Sequence[Edit] = (),
        *,
        run: CellSelection = "affected",
        cell_seconds: float | None = None,
        seconds: float | None = None,
        detach_after: float | None = None,
        revision: str = "",
    ) -> Call:
        """Edit and run in one call: `await` gives the observation, `async for` its events and then the observation.

        All edits apply or none does; an edit based on an older version of its cell is refused with both texts. With
        the label of a revision, whose checkpoint was taken, states between its cells are kept, too.
        """
        terms = CallLimits(cell_seconds=cell_seconds, seconds=seconds, detach_after=detach_after, revision=revision)
        return Call(self._calls, edits=edits, run=run, terms=terms)

    def run(
        self,
        what: CellSelection = "all",
        *,
        cell_seconds: float | None = None,
        seconds: float | None = None,
        detach_after: float | None = None,
        revision: str = "",
    ) -> Call:
        """Run cells without editing them."""
        return self.apply(
            run=what, cell_seconds=cell_seconds, seconds=seconds, detach_after=detach_after, revision=revision
        )

    def set_ui(self, values: dict[str, object], *, seconds: float | None = None) -> Call:
        """Set `mo.ui` elements by their variable names, as a person would; what depends on them runs."""
        return Call(self._calls, ui=values, terms=CallLimits(seconds=seconds))

    @property
    def current(self) -> Call | None:
        """The call that runs now, if any: await it, or interrupt it."""
        return self._calls.current

    async def look(self, names: Sequence[str] = (), *, tokens: int = 200) -> tuple[VariablePreview, ...]:
        """Fresh previews of variables, of all when `names` is empty."""
        return await self.side_calls.look(names, tokens=tokens)

    async def functions(self) -> tuple[CellFunction, ...]:
        """The functions that cells have defined and marked with `@cellwright.tool`."""
        return await list_functions(self.side_calls)

    async def call_function(
        self, name: str, arguments: Mapping[str, object], *, seconds: float = 60, tokens: int = 500
    ) -> CallOutcome:
        """Call a marked function with JSON arguments. No cell runs, no name changes; calls and cells take turns."""
        return await call_function(self.side_calls, self.live, name, arguments, seconds=seconds, tokens=tokens)

    async def values(self, names: Sequence[str], *, tokens: int = 500) -> dict[str, NotebookValue]:
        """These variables whole, as far as JSON can say them; of a `mo.ui` element, its value."""
        return await read_values(self.side_calls, names, tokens=tokens)

    async def interrupt(self) -> None:
        """Stop the running call. A cell that ignores it is killed with its kernel."""
        call, kernel = self.current, self.live.kernel
        if kernel is not None:
            await self.side_calls.interrupt(kernel)
            await self._editor.interrupt(kernel)
        if call is not None and kernel is not None:
            await kernel.interrupt(call.is_over)
            await call.is_over.wait()

    async def restart(self) -> None:
        """A fresh kernel: every variable is gone, every cell is stale until it is run."""
        await self.interrupt()
        async with self.live.slot:
            await self.live.retire()
            self.live.replay.clear()
            self.state = replace(self.state, outcomes={})
            await self.live.ready()

    async def settle(self) -> None:
        """End the kernel, and keep or drop the files it changed: `kept` says which. Running a cell begins anew."""
        await self.interrupt()
        await self.checkpoints.close()
        async with self.live.slot:
            await self.live.retire()

    async def install(self, requirement: str, *, seconds: float | None = None) -> PackageInstall:
        """Add a package to the notebook's header and environment; what failed for want of a module runs again.

        Whoever calls this was allowed to. The kernel goes on with its state where what it has stays as it is; else a
        new one runs what had run. Raises `UserError` or `Unavailable` when it cannot be had: then nothing has changed.
        """
        return await install(self, requirement, seconds=seconds)

    # ── branches ──

    @asynccontextmanager
    async def branch(self, limits: BranchLimits | None = None) -> AsyncGenerator[Branch]:
        """A copy of the live notebook in which a change is tried; whatever happens there, this one stays as it is."""
        branch = await self.branches.open(limits or BranchLimits())
        try:
            yield branch
        finally:
            with anyio.CancelScope(shield=True):
                await branch.close()

    def twin(self, provisioner: KernelProvisioner, file: NotebookFile | None = None) -> Self:
        """The same outcomes, and the same cells or those of the file, over another kernel; each is its own."""
        twin = type(self)(file or self.file.last, provisioner, self.live.tasks)
        twin.state = self.state if file is None else replace(self.state, document=file.document)
        return twin

    # ── document ──

    @property
    def state(self) -> NotebookState:
        """Cells and outcomes as they are now. An editor that shows them is told when the cells change."""
        return self._state

    @state.setter
    def state(self, state: NotebookState) -> None:
        before, self._state = self._state, state
        if state.document is not before.document:
            self._editor.document_changed()

    @property
    def document(self) -> Document:
        """The notebook's cells as they are now: the only authority, whoever shows or saves them."""
        return self._state.document

    @document.setter
    def document(self, document: Document) -> None:
        self.state = replace(self.state, document=document)

    @property
    def outcomes(self) -> Mapping[CellId, CellOutcome]:
        """What became of each cell that ran."""
        return self._state.outcomes

    @property
    def stale(self) -> tuple[CellId, ...]:
        """Cells that must run to be current, in notebook order."""
        stale = stale_cells(self.document, self.outcomes, self.state.reported_stale)
        return tuple(cell.id for cell in self.document.cells if cell.id in stale)

    def edit(self, edits: Sequence[Edit]) -> EditRefused | None:
        """Change the document at once, also while a call runs: what is typed and not run yet.

        The kernel goes on with the code it has of these cells, until somebody runs or edits them.
        """
        edited = apply_edits(self.document, edits)
        if isinstance(edited, EditRefused):
            return edited
        typed = changed_code(self.document, edited)
        outcomes = {cell: outcome for cell, outcome in self.outcomes.items() if cell not in typed}
        self.state = replace(self.state, document=edited, outcomes=outcomes, drafts=self.state.drafts | typed)
        return None

    def foresee(self, edits: Sequence[Edit]) -> Consequences | EditRefused:
        """What edits would do, without doing it."""
        return foresee(self.document, edits)

    def summary(self, *, budget_tokens: int = 4_000, focus: Sequence[CellId] = (), is_brief: bool = False) -> str:
        """The notebook for a prompt: cells, graph and outcomes within a budget; in brief, a line for each cell."""
        outcomes = outcomes_for_summary(self.outcomes)
        return summary(self.document, outcomes, budget_tokens, focus=focus, is_brief=is_brief)

    async def save(self) -> SaveConflict | None:
        """Write the notebook, atomically. A file that changed since it was read is left alone: both texts come back."""
        return await self.file.save(self.document)

    async def adopt(self, file: NotebookFile, document: Document) -> None:
        """Go on from what somebody else saved, with a document made of it. Cells that changed are stale until run."""
        async with self.live.slot:
            self.file.last = file
            there = {cell.id for cell in document.cells} - changed_code(self.document, document)
            outcomes = {cell: outcome for cell, outcome in self.outcomes.items() if cell in there}
            self.state = replace(self.state, document=document, outcomes=outcomes)

    # ── files and observers ──

    async def changed_files(self) -> tuple[FileChange, ...]:
        """Files of the project that the notebook's code made, changed or removed so far."""
        return await self.live.changed_files()

    def observe(self) -> AbstractAsyncContextManager[anyio.abc.ObjectReceiveStream[Event]]:
        """Everything that happens from now on, whoever caused it. A reader that falls far behind loses its stream."""
        return self._observers.observe()

    def attach_editor(self, listener: EditorListener | None = None) -> AbstractAsyncContextManager[EditorChannel]:
        """marimo's own commands in and notifications out, unopened, for one editor; on only while somebody is here."""
        return self._editor.open_channel(listener)

    # ── life ──

    async def start(self) -> None:
        """Have a kernel ready."""
        async with self.live.slot:
            await self.live.ready()

    async def close(self) -> None:
        """Stop what runs, keep or drop the changed files, end the kernel."""
        self._calls.close()
        self._editor.close()
        # Whoever cancels a task natively knows no shields: the rest is closed all the same.
        async with AsyncExitStack() as closing:
            closing.push_async_callback(self.live.retire)
            closing.push_async_callback(self.checkpoints.close)
            await self.interrupt()

    # ── what the kernel says ──

    async def _deliver(self, message: wire.Told | MarimoNotification) -> None:
        if isinstance(message, MarimoNotification):
            self._editor.notify(message.body)
            return
        is_wanted = not isinstance(message, wire.SideAnswer) or self.side_calls.hear(message)
        match message:
            case wire.CommandDone(stale=stale) | wire.Finished(stale=stale):
                self.state = replace(self.state, reported_stale=frozenset(map(CellId, stale)))
            case wire.FunctionEnded(stale=stale, refused="") if is_wanted:
                self.state = replace(self.state, reported_stale=frozenset(map(CellId, stale)))
            case _:
                pass
        if isinstance(message, wire.CommandDone):
            self._editor.command_done()
        elif not isinstance(message, wire.SideAnswer):
            self._calls.hear(message)

    def _kernel_ended(self, end: KernelEnd) -> None:
        self._calls.kernel_ended(end)
        self._editor.kernel_ended(end)
