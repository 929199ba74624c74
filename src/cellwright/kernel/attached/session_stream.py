"""The stream of a session: heard for as long as a notebook is attached, and waited on."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Final

import anyio
import anyio.abc
import websockets
import websockets.asyncio.client

from cellwright.kernel.attached.marimo_server import SessionClosed
from cellwright.kernel.attached.session_mirror import SessionMirror
from cellwright.kernel.attached.stream_messages import decode

_TOLD_SECONDS: Final = 10


class SessionStream:
    """What the session has told, and waiting for more."""

    def __init__(self) -> None:
        self.mirror = SessionMirror()
        self.lost: SessionClosed | None = None
        """Why nothing more will come."""
        self._heard = anyio.Event()

    async def listen(
        self,
        socket: websockets.asyncio.client.ClientConnection,
        why_closed: Callable[[], Awaitable[SessionClosed]],
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Take in what the session tells, until it ends. Started once the cells are known."""
        is_started = False
        try:
            async for frame in socket:
                message = decode(frame)
                if message is None:
                    continue
                self.mirror.hear(message, time.monotonic())
                if self.mirror.is_ready and not is_started:
                    is_started = True
                    task_status.started()
                self.pulse()
        except websockets.exceptions.ConnectionClosed as closed:
            ended = closed
        else:
            ended = None
        self.lost = await why_closed()
        self.pulse()
        if not is_started:
            raise self.lost from ended

    def pulse(self) -> None:
        """Wake whoever waits."""
        heard, self._heard = self._heard, anyio.Event()
        heard.set()

    async def next(self) -> None:
        """Until something more was told. Raises `SessionClosed` if nothing will be."""
        if self.lost is None:
            await self._heard.wait()
        if self.lost is not None:
            raise self.lost

    async def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Until it was told, or for a while: what an execution answered comes another way, a little earlier."""
        with anyio.move_on_after(_TOLD_SECONDS):
            while not is_so():
                await self.next()

    async def settle(self, socket: websockets.asyncio.client.ClientConnection) -> None:
        """Until the outcomes of before are told, which come one by one after the cells."""
        await self.wait_until(lambda: not self.mirror.awaited)
        await (await socket.ping())
