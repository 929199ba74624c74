"""What a kernel is told: frames from the host, and what the notebook asks of itself."""

from __future__ import annotations

import asyncio
import queue
import socket
from collections.abc import Callable, Iterable

from marimo._runtime.commands import CommandMessage

from cellwright_guest import wire

_RECEIVE_BYTES = 1 << 18


class OwnCommands(queue.Queue[CommandMessage]):
    """Commands the notebook gives itself, from a cell, a background task or a thread."""

    def __init__(self) -> None:
        super().__init__()
        self.wake: Callable[[], None] = lambda: None

    def put_nowait(self, item: CommandMessage) -> None:
        """Take one, and end the wait for the host."""
        super().put_nowait(item)
        self.wake()


class Inbox:
    """Frames from the host, awaited in the event loop so that a notebook's background tasks go on meanwhile."""

    def __init__(self, loop: asyncio.AbstractEventLoop, connection: socket.socket) -> None:
        self._loop = loop
        self._connection = connection
        self._buffer = bytearray()
        self._waiter: asyncio.Future[bool] | None = None
        self.is_closed = False
        self.descriptors: list[int] = []
        """What came with the frames, in their order."""

    def wake(self) -> None:
        """End the wait early: the notebook has something to do for itself."""
        self._loop.call_soon_threadsafe(self._end_wait, False)

    async def frame(self) -> tuple[int, bytes] | None:
        """The next whole frame; None when woken, or when the host is gone."""
        while True:
            frame = wire.take_frame(self._buffer)
            if frame is not None:
                return frame
            if not await self._readable():
                return None
            if not self._receive():
                return None

    def frame_now(self) -> tuple[int, bytes] | None:
        """The next whole frame, while nothing else goes on; None when the host is gone."""
        while (frame := wire.take_frame(self._buffer)) is None:
            if not self._receive():
                return None
        return frame

    def put_back(self, frames: Iterable[tuple[int, bytes]]) -> None:
        """These are read next, again."""
        self._buffer[:0] = b"".join(wire.HEADER.pack(len(body), lane) + body for lane, body in frames)

    def _receive(self) -> bool:
        chunk, descriptors, _, _ = socket.recv_fds(self._connection, _RECEIVE_BYTES, 4, socket.MSG_CMSG_CLOEXEC)
        self.descriptors += descriptors
        self._buffer += chunk
        self.is_closed = not chunk
        return bool(chunk)

    async def _readable(self) -> bool:
        self._waiter = self._loop.create_future()
        self._loop.add_reader(self._connection, self._end_wait, True)
        try:
            return await self._waiter
        finally:
            self._loop.remove_reader(self._connection)

    def _end_wait(self, is_readable: bool) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(is_readable)
