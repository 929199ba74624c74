"""The daemon's end of a connection. Whatever a door says ends at most its own connection."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import anyio
from anyio.abc import SocketAttribute, SocketStream, TaskGroup

from cellwright.errors import CellwrightError, Defect, UserError
from cellwright.framing import MAX_GREETING, BadFrame, FrameUnpacker, peer_uid
from cellwright.server.daemon.protocol import (
    MAX_REQUEST,
    PROTOCOL,
    DaemonAnswer,
    DaemonHello,
    DaemonRequest,
    DaemonWelcome,
    ErrorAnswer,
    FromDaemon,
    ToDaemon,
    pack_answer,
    read_request,
)

logger = logging.getLogger(__name__)

_HANDSHAKE_TIMEOUT_SECONDS: Final = 10
_MAX_CONCURRENT_REQUESTS: Final = 32
"""Requests of one connection that are worked on at the same time; more wait."""
_CONNECTION_LOST: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)
AnswerRequest = Callable[[DaemonRequest], Awaitable[DaemonAnswer]]


class DaemonConnections:
    """Speaks with every door at once."""

    def __init__(self, answer: AnswerRequest, *, uid: int, version: str) -> None:
        self.count = 0
        """How many doors are connected."""
        self._answer = answer
        self._uid = uid
        """Whose processes are heard."""
        self._version = version
        self._readings = set[anyio.CancelScope]()
        self._is_open = True

    async def hold(self, stream: SocketStream) -> None:
        """Speak with one door until it is gone, says what makes no sense, or `hear_no_more`."""
        async with stream:
            if peer_uid(stream.extra(SocketAttribute.raw_socket)) != self._uid:
                logger.warning("a process of another user was turned away")
                return
            if not self._is_open:
                return
            self.count += 1
            try:
                await _DaemonConnection(stream, self._answer, self._version).hold(self._readings)
            finally:
                self.count -= 1

    def hear_no_more(self) -> None:
        """Take no further request; what was asked is still answered."""
        self._is_open = False
        for reading in self._readings:
            reading.cancel()


class _DaemonConnection:
    """One connection."""

    def __init__(self, stream: SocketStream, answer: AnswerRequest, version: str) -> None:
        self._stream = stream
        self._answer = answer
        self._version = version
        self._sending = anyio.Lock()
        self._slots = anyio.Semaphore(_MAX_CONCURRENT_REQUESTS)

    async def hold(self, readings: set[anyio.CancelScope]) -> None:
        """What was asked is worked on to its end, whether or not anybody waits for the answer."""
        async with anyio.create_task_group() as working:
            with anyio.CancelScope() as reading:
                readings.add(reading)
                try:
                    await self._listen(working)
                finally:
                    readings.discard(reading)

    async def _listen(self, working: TaskGroup) -> None:
        try:
            requests = self._requests()
            with anyio.fail_after(_HANDSHAKE_TIMEOUT_SECONDS):
                await self._greet(await anext(requests))
            async for request in requests:
                if isinstance(request, DaemonHello):
                    raise BadFrame("a second hello")
                await self._slots.acquire()
                working.start_soon(self._work, request)
        except BadFrame as problem:
            logger.warning("a door said what makes no sense: %s", problem)
            await self._send(ErrorAnswer(number=0, error=UserError(f"The daemon read {problem}.")))
        except (TimeoutError, StopAsyncIteration, *_CONNECTION_LOST):
            pass

    async def _requests(self) -> AsyncIterator[ToDaemon]:
        unpacker = FrameUnpacker(MAX_GREETING)
        async for data in self._stream:
            for payload in unpacker.feed(data):
                yield read_request(payload)
                unpacker.limit = MAX_REQUEST

    async def _greet(self, request: ToDaemon) -> None:
        # Its version is its own concern: an older door must at least learn that this daemon is newer.
        if not isinstance(request, DaemonHello):
            raise BadFrame("no hello")
        await self._send(DaemonWelcome(protocol=PROTOCOL, version=self._version, pid=os.getpid()))

    async def _work(self, request: DaemonRequest) -> None:
        try:
            answer = await self._answer(request)
        except CellwrightError as error:
            answer = ErrorAnswer(number=request.number, error=error)
        except Exception as error:
            defect = Defect(f"The daemon failed: {type(error).__name__}.")
            logger.exception("defect %s", defect.report_id)
            answer = ErrorAnswer(number=request.number, error=defect)
        finally:
            self._slots.release()
        await self._send(answer)

    async def _send(self, message: FromDaemon) -> None:
        try:
            async with self._sending:
                await self._stream.send(pack_answer(message))
        except _CONNECTION_LOST:
            pass
