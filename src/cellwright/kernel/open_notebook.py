"""The open notebook: document, kernel, versions, saving and observers, as one object everyone shares.

Whoever looks at a notebook (an agent, an editor, a command) holds the same `OpenNotebook`. Calls take turns. When
a kernel is lost, the next call starts another and replays what had run.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import anyio.to_thread
import msgspec
from anyio.streams.memory import MemoryObjectSendStream

from cellwright.errors import KernelLost, Unavailable
from cellwright.ids import CellId
from cellwright.kernel.call import Call, RunWhat, Terms
from cellwright.kernel.cell_functions import (
    JSON_BYTES,
    Asking,
    CallOutcome,
    CellFunction,
    Value,
    call_outcome,
    functions_of,
    values_of,
)
from cellwright.kernel.joining import joining
from cellwright.kernel.kernel import Kernel
from cellwright.kernel.link import LinkClosed, MarimoNotification
from cellwright.kernel.observation import (
    CellFinished,
    CellOutcome,
    CellStatus,
    Event,
    Observation,
    VariablePreview,
    outcome_of,
    preview_of,
)
from cellwright.kernel.packages import Installed, added_between, missing_package, with_package
from cellwright.kernel.programs import GRACE_SECONDS, INSIDE, ProgramEnd, program_end
from cellwright.kernel.workplace import Workplace
from cellwright.notebook import (
    Cell,
    Consequences,
    Document,
    Edit,
    EditRefused,
    NotebookFile,
    Outcome,
    SaveConflict,
    apply_edits,
    foresee,
    save,
    summary,
)
from cellwright.notebook.files import read_if_changed
from cellwright.notebook.prompt_summary import Status as SummaryStatus
from cellwright.sandbox import FileChange, FilesMode, KeepReport, Limits, Tier
from cellwright_guest import wire

if TYPE_CHECKING:
    from cellwright.kernel.environments import Environment
    from cellwright.sandbox import Egress

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 20
_OBSERVER_EVENTS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorLane:
    """Where an editor speaks with marimo's kernel in marimo's own words. The host never opens them."""

    notifications: anyio.abc.ObjectReceiveStream[bytes]
    send: Callable[[bytes], Awaitable[None]]
    """One JSON-encoded marimo command."""


class OpenNotebook:
    """A notebook with a live kernel. Made by `KernelPool.open_notebook`."""

    def __init__(self, file: NotebookFile, workplace: Workplace, tasks: anyio.abc.TaskGroup) -> None:
        self._file = file
        self._workplace = workplace
        self._tasks = tasks
        self.document: Document = file.document
        self.outcomes: dict[CellId, CellOutcome] = {}
        self.kept: list[KeepReport] = []
        self.current: Call | None = None
        """The call that runs now, if any: await it, or interrupt it."""
        self._kernel: Kernel | None = None
        self._kernel_over = anyio.Event()
        self._known: dict[CellId, Cell] = {}
        """The cells as the kernel has them."""
        self._replay: set[CellId] = set()
        self._turn = anyio.Lock()
        self._requests = 0
        self._looks: dict[int, tuple[anyio.Event, list[VariablePreview]]] = {}
        self._programs: dict[int, tuple[anyio.Event, list[wire.ProgramEnded]]] = {}
        self._joined: dict[str, str] = {}
        """Distributions the kernel was given while it ran."""
        self._asking: Asking | None = None
        """The question that runs no cells, while it is asked."""
        self._observers: list[MemoryObjectSendStream[Event]] = []
        self._editor: MemoryObjectSendStream[bytes] | None = None
        self._stale: frozenset[CellId] = frozenset()
        self._named: Document | None = None
        self._names: dict[CellId, str] = {}

    # ── calls ──

    def apply(
        self,
        edits: Sequence[Edit] = (),
        *,
        run: RunWhat = "affected",
        cell_seconds: float | None = None,
        seconds: float | None = None,
        detach_after: float | None = None,
    ) -> Call:
        """Edit and run in one call: `await` gives the observation, `async for` its events and then the observation.

        All edits apply or none does; an edit based on an older version of its cell is refused with both texts.
        """
        terms = Terms(cell_seconds=cell_seconds, seconds=seconds, detach_after=detach_after)
        return Call(self, edits=edits, run=run, terms=terms)

    def run(
        self,
        what: RunWhat = "all",
        *,
        cell_seconds: float | None = None,
        seconds: float | None = None,
        detach_after: float | None = None,
    ) -> Call:
        """Run cells without editing them."""
        return self.apply(run=what, cell_seconds=cell_seconds, seconds=seconds, detach_after=detach_after)

    def set_ui(self, values: dict[str, object], *, seconds: float | None = None) -> Call:
        """Set `mo.ui` elements by their variable names, as a person would; what depends on them runs."""
        return Call(self, ui=values, terms=Terms(seconds=seconds))

    async def look(self, names: Sequence[str] = (), *, tokens: int = 200) -> tuple[VariablePreview, ...]:
        """Fresh previews of variables, of all when `names` is empty."""
        async with self._turn:
            kernel = await self._live_kernel()
            request = self._next_request()
            arrived, found = self._looks[request] = (anyio.Event(), [])
            try:
                await kernel.link.send(wire.Look(request=request, names=list(names), tokens=tokens))
                with anyio.fail_after(_LOOK_SECONDS):
                    await arrived.wait()
            except (LinkClosed, TimeoutError) as error:
                raise KernelLost("The kernel did not answer.", hint="Restart it and try again.") from error
            finally:
                del self._looks[request]
            return tuple(found)

    async def run_program(
        self, command: Sequence[str], *, folder: str = "", seconds: float = 60, output_bytes: int = 1 << 16
    ) -> ProgramEnd:
        """Run a program in the notebook's cage: its files and limits, none of its variables. Cells wait meanwhile."""
        async with self._turn:
            kernel = await self._live_kernel()
            request = self._next_request()
            kernel.link.begin_request()
            arrived, found = self._programs[request] = (anyio.Event(), [])
            place = str(INSIDE / folder) if folder else ""
            asked = wire.RunProgram(
                request=request, command=list(command), folder=place, seconds=seconds, output_bytes=output_bytes
            )
            try:
                await kernel.link.send(asked)
                await self._await_program(kernel, arrived, seconds)
            except LinkClosed as error:
                raise KernelLost("The kernel ended while the program ran.", hint="Try again.") from error
            finally:
                del self._programs[request]
            return program_end(found[0], output_bytes)

    async def _await_program(self, kernel: Kernel, arrived: anyio.Event, seconds: float) -> None:
        try:
            with anyio.move_on_after(seconds + GRACE_SECONDS):
                async with anyio.create_task_group() as either:
                    either.start_soon(_cancel_after, self._kernel_over, either.cancel_scope)
                    await arrived.wait()
                    either.cancel_scope.cancel()
        except anyio.get_cancelled_exc_class():
            # The one who asked is gone: nothing may go on running behind their back.
            with anyio.CancelScope(shield=True):
                await kernel.interrupt(arrived)
            raise
        if not arrived.is_set():
            await kernel.condemn("a program in it did not end")
            raise KernelLost("The kernel did not answer while a program ran.", hint="Try again.")

    async def functions(self) -> tuple[CellFunction, ...]:
        """The functions that cells have defined and marked with `@cellwright.tool`."""
        asked = await self._ask_aside(lambda number: wire.ListFunctions(request=number), _LOOK_SECONDS)
        if not isinstance(asked.answer, wire.Functions):
            raise KernelLost("The kernel did not answer.", hint="Restart it and try again.")
        return functions_of(asked.answer)

    async def call_function(
        self, name: str, arguments: Mapping[str, object], *, seconds: float = 60, tokens: int = 500
    ) -> CallOutcome:
        """Call a marked function with JSON arguments. No cell runs, no name changes; calls and cells take turns."""
        body = msgspec.json.encode(arguments)
        asked = await self._ask_aside(
            lambda number: wire.CallFunction(
                request=number, name=name, arguments=body, tokens=tokens, json_bytes=JSON_BYTES
            ),
            seconds,
        )
        end = self._kernel.end if self._kernel is not None else None
        return call_outcome(asked, seconds=seconds, end=end.reason if end is not None else "it is gone")

    async def values(self, names: Sequence[str], *, tokens: int = 500) -> dict[str, Value]:
        """These variables whole, as far as JSON can say them; of a `mo.ui` element, its value."""
        wanted = list(names)
        asked = await self._ask_aside(
            lambda number: wire.TakeValues(request=number, names=wanted, tokens=tokens, json_bytes=JSON_BYTES),
            _LOOK_SECONDS,
        )
        if not isinstance(asked.answer, wire.Taken):
            raise KernelLost("The kernel did not answer.", hint="Restart it and try again.")
        return values_of(asked.answer)

    async def _ask_aside(self, make: Callable[[int], wire.FromHost], seconds: float) -> Asking:
        """Ask the kernel something that runs no cells; after a loss, what had run is run again first."""
        if self._replay or self._kernel is None or self._kernel.is_over:
            await self.run("none")
        async with self._turn:
            kernel = await self._live_kernel()
            asking = self._asking = Asking(self._next_request(), anyio.Event())
            kernel.link.begin_request()
            wall = self._workplace.limits.wall_seconds
            try:
                await kernel.link.send(make(asking.request))
                await asking.wait(kernel, self._kernel_over, min(seconds, wall or seconds))
            except LinkClosed:
                await self._kernel_over.wait()
            finally:
                self._asking = None
        return asking

    async def interrupt(self) -> None:
        """Stop the running call. A cell that ignores it is killed with its kernel."""
        call, kernel = self.current, self._kernel
        if self._asking is not None and kernel is not None:
            await kernel.interrupt(self._asking.arrived)
        if call is not None and kernel is not None:
            await kernel.interrupt(call.is_over)
            await call.is_over.wait()

    async def restart(self) -> None:
        """A fresh kernel: every variable is gone, every cell is stale until it is run."""
        await self.interrupt()
        async with self._turn:
            await self._retire_kernel()
            self._replay.clear()
            self.outcomes.clear()
            await self._live_kernel()

    async def install(self, requirement: str, *, seconds: float | None = None) -> Installed:
        """Add a package to the notebook's header and environment; what failed for want of a module runs again.

        Whoever calls this was allowed to. The kernel goes on with its state where what it has stays as it is; else a
        new one runs what had run. Raises `UserError` or `Unavailable` when it cannot be had: then nothing has changed.
        """
        before = self.document
        wanted = await anyio.to_thread.run_sync(with_package, before, requirement)
        environment = await self._workplace.build(wanted)
        joined = await self._join(environment) if environment is not None else None
        if wanted is before and joined == {}:
            return Installed(requirement=requirement, added=(), way="already there", observation=Observation())
        again = self._to_run_again(with_ran=joined is None)
        async with self._turn:
            if self.document.header != before.header:
                # Somebody changed it meanwhile: theirs stays, with ours added.
                wanted = await anyio.to_thread.run_sync(with_package, self.document, requirement)
            old, self.document = self.document, replace(self.document, header=wanted.header)
            if joined is None:
                await self._renew(old.header, again)
        observation = await self.run(again, seconds=seconds) if again else Observation()
        way = "replayed" if joined is None else "continued"
        added = added_between(before, wanted)
        return Installed(requirement=requirement, added=added, way=way, observation=observation)

    async def _join(self, environment: Environment) -> dict[str, str] | None:
        """Hand the kernel that runs what it lacks, and say what; None if it must be another kernel."""
        if self._kernel is None or self._kernel.is_over or self._replay:
            return None
        running = self._joined | await anyio.to_thread.run_sync(self._workplace.distributions)
        new = await anyio.to_thread.run_sync(joining, environment, running)
        if new is None:
            return None
        for portion in new.portions():
            asked = await self._ask_aside(partial(_add_files, portion), _LOOK_SECONDS)
            if not isinstance(asked.answer, wire.FilesAdded) or asked.answer.error:
                return None
        self._joined |= new.distributions
        return new.distributions

    async def _renew(self, old_header: str, again: Sequence[CellId]) -> None:
        """Another kernel for the new header; where none starts, the next call goes on with the old one."""
        await self._retire_kernel()
        self._replay.clear()
        try:
            await self._live_kernel()
        except Unavailable:
            self.document, self._replay = replace(self.document, header=old_header), set(again)
            raise

    def _to_run_again(self, *, with_ran: bool) -> list[CellId]:
        """What could not run for want of a module, and what had run; what depends on those follows."""
        known = [(cell.id, self.outcomes.get(cell.id)) for cell in self.document.cells]
        return [
            cell
            for cell, outcome in known
            if outcome is not None
            and ((with_ran and outcome.status == "ok") or missing_package(outcome.error) is not None)
        ]

    # ── document ──

    def foresee(self, edits: Sequence[Edit]) -> Consequences | EditRefused:
        """What edits would do, without doing it."""
        return foresee(self.document, edits)

    def summary(self, *, budget_tokens: int = 4_000, focus: Sequence[CellId] = ()) -> str:
        """The notebook for a prompt: cells, graph and outcomes within a budget."""
        return summary(self.document, self._outcomes_for_summary(), budget_tokens, focus=focus)

    async def save(self) -> SaveConflict | None:
        """Write the notebook, atomically. A file that changed since it was read is left alone: both texts come back."""
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
        async with self._turn:
            old = {cell.id: cell.code for cell in self.document.cells}
            self._file, self.document = file, document
            now = {cell.id: cell.code for cell in self.document.cells}
            self.outcomes = {cell: kept for cell, kept in self.outcomes.items() if now.get(cell) == old.get(cell)}

    @property
    def path(self) -> Path:
        """The file this notebook was read from and is saved to."""
        return self._file.path

    def name_of(self, cell: CellId) -> str:
        """A cell's name, or its id when nobody named it."""
        if self._named is not self.document:
            self._named = self.document
            self._names = {cell.id: cell.name for cell in self.document.cells if cell.name not in ("", "_")}
        return self._names.get(cell, cell)

    # ── files and observers ──

    async def changed_files(self) -> tuple[FileChange, ...]:
        """Files of the project that the notebook's code made, changed or removed so far."""
        return await self._kernel.changes() if self._kernel is not None else ()

    @asynccontextmanager
    async def observe(self) -> AsyncGenerator[anyio.abc.ObjectReceiveStream[Event]]:
        """Everything that happens from now on, whoever caused it. A reader that falls far behind loses its stream."""
        send, receive = anyio.create_memory_object_stream[Event](_OBSERVER_EVENTS)
        self._observers.append(send)
        try:
            async with receive:
                yield receive
        finally:
            if send in self._observers:
                self._observers.remove(send)
            send.close()

    @asynccontextmanager
    async def editor_lane(self) -> AsyncGenerator[EditorLane]:
        """marimo's own commands in and notifications out, unopened, for one editor; on only while somebody is here."""
        async with self._turn:
            kernel = await self._live_kernel()
            if self._editor is not None:
                raise Unavailable("An editor is attached to this notebook already.", hint="Close it first.")
            self._editor, notifications = anyio.create_memory_object_stream[bytes](_OBSERVER_EVENTS)
            await kernel.link.send(wire.Watch(marimo=True))
        try:
            yield EditorLane(notifications=notifications, send=kernel.link.send_marimo)
        finally:
            self._editor.close()
            notifications.close()
            self._editor = None
            if not kernel.is_over:
                with anyio.CancelScope(shield=True):
                    await kernel.link.send(wire.Watch(marimo=False))

    @property
    def tier(self) -> Tier:
        """How well its kernels are contained."""
        return self._workplace.tier

    @property
    def limits(self) -> Limits:
        """What its kernels may use."""
        return self._workplace.limits

    @property
    def hidden_files(self) -> tuple[str, ...]:
        """Paths of the project that look like secrets and are not visible inside."""
        return self._workplace.hidden

    @property
    def files_mode(self) -> FilesMode:
        """What becomes of changed files."""
        return self._workplace.files

    @property
    def kernel(self) -> Kernel | None:
        """The live kernel, if there is one."""
        return self._kernel

    # ── life ──

    async def start(self) -> None:
        """Have a kernel ready."""
        async with self._turn:
            await self._live_kernel()

    async def close(self) -> None:
        """Stop what runs, keep or drop the changed files, end the kernel."""
        await self.interrupt()
        await self._retire_kernel()
        self._workplace.close()

    def begin(self, call: Call) -> None:
        """Queue a call; it starts when it is its turn."""
        self._tasks.start_soon(self._drive, call)

    async def _drive(self, call: Call) -> None:
        async with self._turn:
            self.current = call
            try:
                await self._carry_out(call)
            except Unavailable as error:
                call.refuse(Observation(problem=f"{error.message} {error.hint}".strip()))
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
        await self._ask(call, before)
        if call.may_be_asked_again():
            # The kernel had died before it heard us (with its zygote, say): nothing ran, so nothing runs twice.
            await self._ask(call, before)
        self._remember(call)
        for outcome in call.finish().cells:
            self.outcomes[outcome.id] = outcome

    async def _ask(self, call: Call, before: Document) -> None:
        kernel = await self._live_kernel()
        call.request = self._next_request()
        kernel.link.begin_request()
        try:
            await kernel.link.send(self._message(call, before))
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

    def _message(self, call: Call, before: Document) -> wire.Apply | wire.SetUi:
        if call.ui is not None:
            values = {name: msgspec.Raw(msgspec.msgpack.encode(value)) for name, value in call.ui.items()}
            return wire.SetUi(request=call.request, values=values)
        wanted = {cell.id: cell for cell in self.document.cells}
        upsert = [cell for cell in self.document.cells if not _knows(self._known.get(cell.id), cell)]
        gone = [cell_id for cell_id in self._known if cell_id not in wanted]
        stale = self._stale_cells() if call.run == "stale" else set[CellId]()
        run = _what_to_run(call.run, before, self.document, stale) | (self._replay & wanted.keys())
        self._replay -= run
        self._known = wanted
        return wire.Apply(
            request=call.request,
            upsert=[wire.CellCode(cell=cell.id, code=cell.code, disabled=cell.config.disabled) for cell in upsert],
            delete=list(gone),
            run=[cell.id for cell in self.document.cells if cell.id in run],
            reactive=call.run != "none",
        )

    def _remember(self, call: Call) -> None:
        """After a loss, everything that had run is replayed, except the cell that took the kernel down."""
        if call.kernel_end is not None:
            lost = {outcome.id for outcome in call.snapshot().cells if outcome.status == "lost"}
            self._replay = {cell for cell, outcome in self.outcomes.items() if outcome.status == "ok"} | {
                outcome.id for outcome in call.snapshot().cells if outcome.status == "ok"
            }
            self._replay -= lost

    def _stale_cells(self) -> set[CellId]:
        fresh = {cell for cell, outcome in self.outcomes.items() if outcome.status in ("ok", "stopped")}
        return {cell.id for cell in self.document.cells if cell.id not in fresh} | self._stale

    # ── kernel ──

    async def _live_kernel(self) -> Kernel:
        if self._kernel is not None and not self._kernel.is_over:
            return self._kernel
        if self._kernel is not None:
            if not self._replay:
                self._replay = {cell for cell, outcome in self.outcomes.items() if outcome.status == "ok"}
            await self._retire_kernel()
        self._kernel = await self._workplace.start_kernel(self.document)
        self._known = {}
        self._joined = {}
        self._kernel_over = anyio.Event()
        self._tasks.start_soon(self._listen, self._kernel, self._kernel_over)
        if self._workplace.egress is not None and (outlet := self._kernel.take_outlet()) is not None:
            self._tasks.start_soon(self._let_out, self._workplace.egress, outlet, self._kernel_over)
        return self._kernel

    async def _let_out(self, egress: Egress, outlet: socket.socket, over: anyio.Event) -> None:
        """Serve the kernel's connections to the outside for as long as it lives."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(egress.serve, outlet)
            await over.wait()
            tasks.cancel_scope.cancel()

    async def _listen(self, kernel: Kernel, over: anyio.Event) -> None:
        end = await kernel.listen(self._deliver)
        over.set()
        if self.current is not None and kernel is self._kernel:
            self.current.kernel_ended(end)

    async def _deliver(self, message: wire.FromGuest | MarimoNotification) -> None:
        if isinstance(message, MarimoNotification):
            self._tell_editor(message.body)
            return
        if isinstance(message, wire.Looked):
            if message.request in self._looks:
                arrived, found = self._looks[message.request]
                found.extend(preview_of(variable) for variable in message.variables)
                arrived.set()
            return
        if isinstance(message, wire.ProgramEnded):
            if message.request in self._programs:
                arrived, ended = self._programs[message.request]
                ended.append(message)
                arrived.set()
            return
        if isinstance(message, wire.Aside):
            if self._asking is not None and message.request == self._asking.request:
                self._asking.hear(message)
                if isinstance(message, wire.FunctionEnded) and not message.refused:
                    self._stale = frozenset(CellId(cell) for cell in message.stale)
            return
        if isinstance(message, wire.Ready):
            return
        if isinstance(message, wire.Finished):
            self._stale = frozenset(CellId(cell) for cell in message.stale)
        call = self.current
        if call is not None and message.request == call.request:
            call.hear(message)
        elif message.request == 0:
            self._heard_unasked(message)

    def _tell_editor(self, body: bytes) -> None:
        """An editor that falls far behind loses its stream: it must not hold up the kernel."""
        if self._editor is not None:
            try:
                self._editor.send_nowait(body)
            except (anyio.WouldBlock, anyio.BrokenResourceError):
                self._editor.close()
            except anyio.ClosedResourceError:
                return

    def _heard_unasked(self, message: wire.FromGuest) -> None:
        """What the notebook does by itself: a state set by a background task, an editor's run."""
        if isinstance(message, wire.CellFinished):
            cell = CellId(message.report.cell)
            if self.document.find(cell) is not None:
                outcome = outcome_of(message.report, name=self.name_of(cell), console="")
                self.outcomes[cell] = outcome
                self.tell(CellFinished(outcome=outcome))

    def tell(self, event: Event) -> None:
        """Pass an event on to everyone who observes."""
        for observer in list(self._observers):
            try:
                observer.send_nowait(event)
            except (anyio.WouldBlock, anyio.BrokenResourceError):
                self._observers.remove(observer)

    async def _retire_kernel(self) -> None:
        kernel, self._kernel = self._kernel, None
        if kernel is None:
            return
        try:
            # Nothing may write while its files are carried over.
            await kernel.stop()
            report = await self._workplace.settle_files(kernel)
            if report is not None:
                self.kept.append(report)
        except Unavailable as error:
            logger.warning("files changed by the notebook could not be kept: %s", error.message)
            self.kept.append(KeepReport(kept=(), refused=(("*", error.message),)))
        finally:
            with anyio.CancelScope(shield=True):
                await kernel.close()
                await self._kernel_over.wait()

    def _next_request(self) -> int:
        self._requests += 1
        return self._requests

    def _outcomes_for_summary(self) -> dict[CellId, Outcome]:
        return {
            cell: Outcome(
                status=_status_for_summary(outcome.status),
                error=f"{outcome.error.type}: {outcome.error.message}" if outcome.error else "",
                output=outcome.output.text if outcome.output else "",
                variables={variable.name: variable.text for variable in outcome.variables},
            )
            for cell, outcome in self.outcomes.items()
        }


async def _cancel_after(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


def _add_files(files: dict[str, bytes], number: int) -> wire.AddFiles:
    return wire.AddFiles(request=number, files=files)


def _knows(known: Cell | None, cell: Cell) -> bool:
    """Whether the kernel has this cell as it is. Unchanged cells are the same objects, so this is quick for most."""
    return known is cell or (
        known is not None and (known.code, known.config.disabled) == (cell.code, cell.config.disabled)
    )


def _status_for_summary(status: CellStatus) -> SummaryStatus:
    match status:
        case "lost":
            return "failed"
        case "running":
            return "stale"
        case _:
            return status


def _what_to_run(run: RunWhat | str, before: Document, after: Document, stale: set[CellId]) -> set[CellId]:
    match run:
        case "none":
            return set()
        case "all":
            return {cell.id for cell in after.cells}
        case "stale":
            return stale
        case "affected":
            old: dict[CellId, Cell] = {cell.id: cell for cell in before.cells}
            return {
                cell.id
                for cell in after.cells
                if cell.id not in old
                or (cell.code, cell.config.disabled) != (old[cell.id].code, old[cell.id].config.disabled)
            }
        case cells:
            return {CellId(cell) for cell in cells}
