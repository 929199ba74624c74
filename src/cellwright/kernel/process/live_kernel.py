"""The kernel an open notebook has now: started when one is needed, listened to, and retired with its files settled.

Not here: what is said to it, which are calls (`call`) and questions that run no cells (`side_calls`).
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import anyio.lowlevel
import anyio.to_thread

from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.kernel.observation import KernelEnd, StateOwner
from cellwright.kernel.process.host_calls import HostCallServer
from cellwright.kernel.process.kernel import Kernel
from cellwright.kernel.process.link import MarimoNotification
from cellwright.kernel.process.provisioner import KernelProvisioner
from cellwright.kernel.process.run_request import cells_that_ran
from cellwright.notebook.document import Cell
from cellwright.sandbox.host.file_changes import FileChange, KeepReport, UnkeptChanges
from cellwright_guest import host_wire, wire

if TYPE_CHECKING:
    from cellwright.sandbox.egress import Egress

logger = logging.getLogger(__name__)


class LiveKernel:
    """One notebook's kernel, or the next one after a loss, and what has to be remembered between them."""

    def __init__(
        self,
        owner: StateOwner,
        provisioner: KernelProvisioner,
        tasks: anyio.abc.TaskGroup,
        *,
        deliver: Callable[[wire.Told | MarimoNotification], Awaitable[None]],
        on_end: Callable[[KernelEnd], None],
    ) -> None:
        self._owner = owner
        self.provisioner = provisioner
        self.tasks = tasks
        self._deliver = deliver
        self._on_end = on_end
        self.on_kernel: Callable[[Kernel], Awaitable[None]] = lambda kernel: anyio.lowlevel.checkpoint()
        """Awaited with each kernel that takes the place of another, before anything is asked of it."""
        self._host_calls = HostCallServer(provisioner.options.host_services, tasks)
        self._requests = 0
        self.slot = anyio.Lock()
        """Held by whoever speaks with the kernel."""
        self.kernel: Kernel | None = None
        self._first: Kernel | None = None
        """The kernel the cage was made for: its end is the end of the cage."""
        self.over = anyio.Event()
        """Set when this kernel has ended."""
        self.known: dict[CellId, Cell] = {}
        """The cells as the kernel has them."""
        self.replay: set[CellId] = set()
        """What had run in a kernel that was lost, and not yet in this one."""
        self.joined: dict[str, str] = {}
        """Distributions the kernel was given while it ran."""
        self.kept: list[KeepReport] = []
        """What became of the files that each retired kernel had changed."""

    @property
    def is_whole(self) -> bool:
        """True while it lives and has run all that had run before a loss."""
        return self.kernel is not None and not self.kernel.is_over and not self.replay

    def next_request(self) -> int:
        """A number no message had before."""
        self._requests += 1
        return self._requests

    def running_cells(self) -> AbstractContextManager[None]:
        """A block in which its cells run: of what they ask others, it matters in which one that was."""
        egress = self.provisioner.options.egress
        return egress.running_cells() if egress is not None else nullcontext()

    async def ready(self) -> Kernel:
        """The kernel, or another if it is gone. Only for whoever has the slot."""
        if self.kernel is not None and not self.kernel.is_over:
            return self.kernel
        if self.kernel is not None:
            if not self.replay:
                self.replay = cells_that_ran(self._owner.state.outcomes)
            await self.retire()
        self.kernel = self._first = await self.provisioner.start_kernel(self._owner.state.document)
        self.known = {}
        self.joined = {}
        self.adopt(self.kernel)
        if self.provisioner.options.egress is not None and (outlet := self.kernel.take_outlet()) is not None:
            self.tasks.start_soon(_let_out, self.provisioner.options.egress, outlet, self.over)
        await self.on_kernel(self.kernel)
        return self.kernel

    def adopt(self, kernel: Kernel) -> None:
        """Listen to a kernel from now on: it is this notebook's."""
        self.kernel, self.over = kernel, anyio.Event()
        self._hear(kernel)
        self.tasks.start_soon(self._listen, kernel, self.over)

    def take_over(self, kernel: Kernel, known: Mapping[CellId, Cell]) -> None:
        """Go on with a kernel that has these cells."""
        self.known = dict(known)
        self.adopt(kernel)

    async def exchange(self, other: LiveKernel) -> None:
        """Each goes on with the other's kernel, which must live in the same cage. The files go with the kernel."""
        kernel = other.kernel
        if kernel is None or kernel.is_over or self.kernel is None:
            raise Unavailable("What should be gone back to is no longer there.")
        await kernel.control.command("succeed", branch=kernel.slot.number)
        for name in ("kernel", "over", "known", "replay", "joined"):
            ours, theirs = getattr(self, name), getattr(other, name)
            setattr(self, name, theirs)
            setattr(other, name, ours)
        for live in (self, other):
            if live.kernel is not None:
                live._hear(live.kernel)

    def _hear(self, kernel: Kernel) -> None:
        kernel.deliver = partial(self._take, kernel)
        kernel.on_end = lambda end: self._on_end(end) if kernel is self.kernel else None

    async def _take(self, kernel: Kernel, message: wire.FromGuest | MarimoNotification) -> None:
        match message:
            case host_wire.HostCall():
                self._host_calls.take(kernel, message)
            case host_wire.HostCancel(call=number):
                self._host_calls.cancel(kernel, number)
            case _:
                await self._deliver(message)

    async def retire(self, *, is_kept: bool = True) -> None:
        """End it, and keep or drop the files it changed: as was agreed, or in any case drop them."""
        kernel, self.kernel = self.kernel, None
        first, self._first = self._first, None
        if kernel is None:
            return
        try:
            # Nothing may write while its files are carried over.
            await kernel.stop()
            report = await self.provisioner.settle_files(kernel) if is_kept else None
            if report is not None:
                self.kept.append(report)
        except Unavailable as error:
            logger.warning("files changed by the notebook could not be kept: %s", error.message)
            held_back = UnkeptChanges(files=0, bytes=0, reason=error.message, hint=error.advice or "Run it again.")
            self.kept.append(KeepReport(kept=(), refused=(), held_back=held_back))
        finally:
            with anyio.CancelScope(shield=True):
                async with AsyncExitStack() as closing:
                    closing.push_async_callback(self.over.wait)
                    if first is not None:
                        closing.push_async_callback(first.close)
                    if kernel is not first:
                        closing.push_async_callback(kernel.end_process)

    async def _listen(self, kernel: Kernel, over: anyio.Event) -> None:
        try:
            end = await kernel.listen()
        finally:
            over.set()
            self._host_calls.end(kernel)
        kernel.on_end(end)

    async def changed_files(self) -> tuple[FileChange, ...]:
        """Files of the project that its code made, changed or removed so far."""
        return await self.kernel.changes() if self.kernel is not None else ()

    async def distributions(self) -> dict[str, str]:
        """The packages it has, name → version."""
        return self.joined | await anyio.to_thread.run_sync(self.provisioner.distributions)


async def _let_out(egress: Egress, outlet: socket.socket, over: anyio.Event) -> None:
    """Serve the kernel's connections to the outside for as long as it lives."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(egress.serve, outlet)
        await over.wait()
        tasks.cancel_scope.cancel()
