"""The host's end of one worker: a request, one answer, nothing else.

What does not fit ends the worker, never the host.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from cellwright.errors import Unavailable
from cellwright.sandbox.actions import wire
from cellwright.sandbox.actions.place import CagedWorker
from cellwright.sandbox.control import CageControl

_READY_SECONDS = 60
_END_SECONDS = 10
_RECEIVE_BYTES = 1 << 18


class WorkerLost(Exception):
    """The worker ended or was ended; `str()` says why."""


class TooSlow(WorkerLost):
    """It did not answer in time, and was ended."""


class Conversation:
    """Requests to one caged worker, one at a time."""

    def __init__(self, caged: CagedWorker) -> None:
        caged.kernel.setblocking(False)
        self._caged = caged
        self._socket = caged.kernel
        self._control = CageControl(caged.control)
        self._turn = anyio.Lock(fast_acquire=True)
        self._request = 0
        self._buffer = bytearray()
        self._ending: str | None = None
        self._is_closed = False

    @property
    def pid(self) -> int:
        """The cage's first process, as the host sees it."""
        return self._caged.pid

    @property
    def is_over(self) -> bool:
        """True once it cannot be asked any more."""
        return self._ending is not None or self._caged.ended.is_set() or self._has_hung_up()

    async def until_ready(self) -> None:
        """Until it listens; `Unavailable` with the reason if it never does."""
        try:
            with anyio.fail_after(_READY_SECONDS):
                answer = await self._answer()
        except (WorkerLost, wire.BadFrame, TimeoutError) as error:
            reason = await self._why(str(error))
            raise Unavailable(f"The action worker did not start: {reason}", hint="See `cellwright doctor`.") from error
        if not isinstance(answer, wire.Ready):
            raise Unavailable("The action worker did not say that it is ready.")

    async def ask(self, request: dict[str, Any], *, seconds: float) -> wire.Answer:
        """The answer to one request. `WorkerLost` if there will be none; the worker is gone then."""
        async with self._turn:
            if self._ending is not None:
                raise WorkerLost(self._ending)
            try:
                return await self._ask(request, seconds)
            except wire.BadFrame as error:
                raise self._end(f"it broke the protocol: {error}") from error
            except TimeoutError as error:
                self._end(f"no answer within {seconds:.0f} s")
                raise TooSlow(self._ending) from error
            except WorkerLost as error:
                raise self._end(await self._why(str(error))) from error
            except BaseException:
                # Cancelled: it still computes for nobody, and its answer would be taken for the next one's.
                self._end("what it did was cancelled")
                raise

    def condemn(self, reason: str) -> None:
        """End it, and remember why."""
        self._end(reason)

    async def close(self) -> None:
        """End the cage; waits until nothing of it is left."""
        self._end("it was closed")
        self._control.close()
        try:
            with anyio.move_on_after(_END_SECONDS):
                await self._caged.ended.wait()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            anyio.notify_closing(self._socket)
            self._socket.close()
            os.close(self._caged.pidfd)

    def _has_hung_up(self) -> bool:
        try:
            return not self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    async def _ask(self, request: dict[str, Any], seconds: float) -> wire.Answer:
        # Not to be guessed: an answer sent before its question is never taken for one.
        self._request = secrets.randbits(48)
        frame = wire.encode({**request, "request": self._request})
        if self._buffer:
            raise wire.BadFrame("it spoke without being asked")
        with anyio.fail_after(seconds):
            await self._send(frame)
            answer = await self._answer()
        if answer.request != self._request or isinstance(answer, wire.Ready):
            raise wire.BadFrame("an answer to something else")
        return answer

    async def _send(self, frame: bytes) -> None:
        view = memoryview(frame)
        while view:
            try:
                view = view[self._socket.send(view) :]
            except BlockingIOError:
                await self._until(anyio.wait_writable)
            except OSError as error:
                raise WorkerLost("it is gone") from error

    async def _answer(self) -> wire.Answer:
        head = wire.LENGTH.size
        await self._fill(head)
        (length,) = wire.LENGTH.unpack_from(self._buffer)
        if length > wire.MAX_FRAME_BYTES:
            raise wire.BadFrame(f"an answer of {length:,} bytes")
        await self._fill(head + length)
        if len(self._buffer) > head + length:
            raise wire.BadFrame("it said more than was asked")
        body = bytes(self._buffer[head:])
        self._buffer.clear()
        return wire.decode(body)

    async def _fill(self, size: int) -> None:
        while len(self._buffer) < size:
            try:
                chunk = self._socket.recv(_RECEIVE_BYTES)
            except BlockingIOError:
                await self._until(anyio.wait_readable)
                continue
            except OSError as error:
                raise WorkerLost("it is gone") from error
            if not chunk:
                raise WorkerLost("it ended")
            self._buffer += chunk

    async def _until(self, is_possible: Callable[[socket.socket], Awaitable[None]]) -> None:
        try:
            await is_possible(self._socket)
        except (anyio.ClosedResourceError, ValueError) as error:
            raise WorkerLost("it was closed") from error

    def _end(self, reason: str) -> WorkerLost:
        self._ending = self._ending or reason
        if not self._is_closed:
            self._caged.kill()
        return WorkerLost(self._ending)

    async def _why(self, told: str) -> str:
        """How its process ended, if its cage can still say."""
        with anyio.move_on_after(1):
            try:
                end = await self._control.wait_kernel()
            except Unavailable as error:
                return error.message
            if end.limit is not None:
                return f"it reached the limit on {end.limit}"
            return f"it was ended by signal {end.signal}" if end.signal else f"it ended with code {end.exit_code}"
        return told
