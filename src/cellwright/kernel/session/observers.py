"""Whoever watches an open notebook: observers, who are told every event, and one editor, with words of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final, Protocol

import anyio
import anyio.abc
from anyio.streams.memory import MemoryObjectSendStream

from cellwright.errors import KernelLost, Unavailable
from cellwright.kernel.observation import Event, KernelEnd
from cellwright.kernel.process.kernel import Kernel
from cellwright.kernel.process.link import LinkClosed
from cellwright.kernel.process.live_kernel import LiveKernel
from cellwright.kernel.task_groups import wait_for_any
from cellwright_guest import wire

_MOST_WAITING: Final = 10_000
"""How far a reader may fall behind before it loses its stream: nobody holds up the kernel."""


class EditorListener(Protocol):
    """An editor that shows a notebook. It is told at once and in order, and keeps nobody waiting."""

    def document_changed(self) -> None:
        """The notebook's document is another one."""

    def kernel_changed(self, end: KernelEnd | None) -> None:
        """The kernel has ended in this way; None: another one is there, and knows nothing of the one before."""

    def notebook_closed(self) -> None:
        """There will be nothing more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorChannel:
    """Where an editor speaks with marimo's kernel in marimo's own words. The host never opens them."""

    notifications: anyio.abc.ObjectReceiveStream[bytes]
    """Of the present kernel and those that follow it."""
    send: Callable[[bytes], Awaitable[None]]
    """One JSON-encoded marimo command; returns when the kernel has carried it out. Raises `KernelLost`."""


class Observers:
    """Everyone who is told what happens, whoever caused it."""

    def __init__(self) -> None:
        self._streams: list[MemoryObjectSendStream[Event]] = []

    @asynccontextmanager
    async def observe(self) -> AsyncGenerator[anyio.abc.ObjectReceiveStream[Event]]:
        """Everything that happens from now on."""
        send, receive = anyio.create_memory_object_stream[Event](_MOST_WAITING)
        self._streams.append(send)
        try:
            async with receive:
                yield receive
        finally:
            if send in self._streams:
                self._streams.remove(send)
            send.close()

    def emit(self, event: Event) -> None:
        """Pass an event on."""
        for stream in list(self._streams):
            try:
                stream.send_nowait(event)
            except (anyio.WouldBlock, anyio.BrokenResourceError):
                self._streams.remove(stream)


class EditorAttachment:
    """The place of the one editor a notebook may have. It is kept from kernel to kernel."""

    def __init__(self, live: LiveKernel) -> None:
        self._live = live
        self._editor: MemoryObjectSendStream[bytes] | None = None
        self._mirror: EditorListener | None = None
        self._greeted: Kernel | None = None
        self._at_work: anyio.Event | None = None

    @asynccontextmanager
    async def open_channel(self, mirror: EditorListener | None = None) -> AsyncGenerator[EditorChannel]:
        """marimo's own commands in and notifications out; on only while somebody is here.

        While a call runs its kernel does not listen: then the first notifications come when that call is over.
        """
        if self._editor is not None:
            raise Unavailable("An editor is attached to this notebook already.", hint="Close it first.")
        self._editor, notifications = anyio.create_memory_object_stream[bytes](_MOST_WAITING)
        try:
            kernel = self._live.kernel
            if kernel is not None:
                await self.greet(kernel)
            self._mirror = mirror
            yield EditorChannel(notifications=notifications, send=self._send)
        finally:
            self._editor.close()
            notifications.close()
            kernel, self._editor, self._mirror, self._greeted = self._greeted, None, None, None
            if kernel is not None and not kernel.is_over:
                with anyio.CancelScope(shield=True), suppress(LinkClosed):
                    await kernel.link.send(wire.Watch(marimo=False))

    async def greet(self, kernel: Kernel) -> None:
        """A kernel is about to be spoken to: if an editor is here, it is to tell what it does."""
        if self._editor is None or kernel is self._greeted:
            return
        self._greeted = kernel
        with suppress(LinkClosed):
            await kernel.link.send(wire.Watch(marimo=True))
        if self._mirror is not None:
            self._mirror.kernel_changed(None)

    def notify(self, body: bytes) -> None:
        """Pass a notification on. An editor that falls far behind loses its stream."""
        if self._editor is not None:
            try:
                self._editor.send_nowait(body)
            except (anyio.WouldBlock, anyio.BrokenResourceError):
                self._editor.close()
            except anyio.ClosedResourceError:
                return

    def document_changed(self) -> None:
        """The notebook's document is another one."""
        if self._mirror is not None:
            self._mirror.document_changed()

    def kernel_ended(self, end: KernelEnd) -> None:
        """The kernel is gone, and nobody had asked for that."""
        if self._mirror is not None:
            self._mirror.kernel_changed(end)

    def command_done(self) -> None:
        """The kernel has carried out a command."""
        if self._at_work is not None:
            self._at_work.set()

    def close(self) -> None:
        """The notebook is being closed."""
        if self._mirror is not None:
            self._mirror.notebook_closed()
        if self._editor is not None:
            self._editor.close()

    async def interrupt(self, kernel: Kernel) -> None:
        """Stop what a command has set going."""
        if self._at_work is not None:
            await kernel.interrupt(self._at_work)

    async def _send(self, body: bytes) -> None:
        async with self._live.slot:
            kernel = self._live.kernel
            if kernel is None or kernel.is_over:
                raise KernelLost("The kernel is gone.", hint="Run a cell: that starts another.")
            done = self._at_work = anyio.Event()
            kernel.link.begin_request()
            try:
                with self._live.running_cells():
                    await kernel.link.send_marimo(body)
                    await self._until(done, kernel)
            except LinkClosed as error:
                raise KernelLost("The kernel ended.", hint="Run a cell: that starts another.") from error
            finally:
                self._at_work = None

    async def _until(self, done: anyio.Event, kernel: Kernel) -> None:
        wall = self._live.provisioner.options.limits.wall_seconds
        with anyio.move_on_after(wall):
            await wait_for_any(done, self._live.over)
            return
        await kernel.kill(f"it ran over its wall time limit of {wall:g} s", limit="wall")
