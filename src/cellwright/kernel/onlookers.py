"""Whoever watches an open notebook: observers, who are told every event, and one editor, with words of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import anyio
import anyio.abc
from anyio.streams.memory import MemoryObjectSendStream

from cellwright.errors import Unavailable
from cellwright.kernel.live_kernel import LiveKernel
from cellwright.kernel.observation import Event
from cellwright_guest import wire

_MOST_WAITING: Final = 10_000
"""How far a reader may fall behind before it loses its stream: nobody holds up the kernel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorLane:
    """Where an editor speaks with marimo's kernel in marimo's own words. The host never opens them."""

    notifications: anyio.abc.ObjectReceiveStream[bytes]
    send: Callable[[bytes], Awaitable[None]]
    """One JSON-encoded marimo command."""


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

    def tell(self, event: Event) -> None:
        """Pass an event on."""
        for stream in list(self._streams):
            try:
                stream.send_nowait(event)
            except (anyio.WouldBlock, anyio.BrokenResourceError):
                self._streams.remove(stream)


class EditorSeat:
    """The place of the one editor a notebook may have."""

    def __init__(self, live: LiveKernel) -> None:
        self._live = live
        self._editor: MemoryObjectSendStream[bytes] | None = None

    @asynccontextmanager
    async def lane(self) -> AsyncGenerator[EditorLane]:
        """marimo's own commands in and notifications out; on only while somebody is here."""
        async with self._live.turn:
            kernel = await self._live.ready()
            if self._editor is not None:
                raise Unavailable("An editor is attached to this notebook already.", hint="Close it first.")
            # First: a kernel that ends at this moment must leave the seat free.
            await kernel.link.send(wire.Watch(marimo=True))
            self._editor, notifications = anyio.create_memory_object_stream[bytes](_MOST_WAITING)
        try:
            yield EditorLane(notifications=notifications, send=kernel.link.send_marimo)
        finally:
            self._editor.close()
            notifications.close()
            self._editor = None
            if not kernel.is_over:
                with anyio.CancelScope(shield=True):
                    await kernel.link.send(wire.Watch(marimo=False))

    def tell(self, body: bytes) -> None:
        """Pass a notification on. An editor that falls far behind loses its stream."""
        if self._editor is not None:
            try:
                self._editor.send_nowait(body)
            except (anyio.WouldBlock, anyio.BrokenResourceError):
                self._editor.close()
            except anyio.ClosedResourceError:
                return
