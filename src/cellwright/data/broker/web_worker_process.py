"""One web worker process: handed sockets, and heard of until each exchange is over."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import anyio
import anyio.to_thread
from anyio.abc import UNIXSocketStream

from cellwright.data.broker.worker_process import WorkerFailed, end_worker, spawn_worker
from cellwright.data.descriptor_frames import receive_frame, send_frame
from cellwright.errors import Unavailable
from cellwright.framing import BadFrame

WEB_WORKER_COMMAND: Final = (sys.executable, "-I", "-m", "cellwright.data.web_worker")
_LOST: Final = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, BadFrame)
Hear = Callable[[Mapping[str, Any]], Awaitable[None]]
"""What a worker tells: `begun`, `ended` or `tried`."""


class WebWorkerProcess:
    """A process that completes requests of one connection. Made by `start_web_worker`."""

    def __init__(self, process: subprocess.Popen[bytes], stream: UNIXSocketStream) -> None:
        self._process = process
        self._stream = stream
        self._sending = anyio.Lock()
        self.is_lost = False
        """It answers no more, or is to take nothing more."""
        self.open = set[int]()
        """Exchanges that it has."""
        self.used_at = anyio.current_time()

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    async def tell(self, message: Mapping[str, Any], descriptor: int = -1) -> None:
        """Say something to it. Raises `Unavailable`."""
        self.used_at = anyio.current_time()
        try:
            async with self._sending:
                await send_frame(self._stream, message, descriptor)
        except _LOST:
            self.is_lost = True
            raise Unavailable("The process that speaks with the server ended.", hint="Try again.") from None

    async def hear(self, heard: Hear) -> None:
        """Pass on what it tells, until it is gone."""
        try:
            while True:
                message, _ = await receive_frame(self._stream)
                self.used_at = anyio.current_time()
                await heard(message)
        except _LOST:
            self.is_lost = True

    async def opened(self, opening: Mapping[str, Any], seconds: float) -> None:
        """Give it its connection. Raises `WorkerFailed`, `Unavailable`."""
        await self.tell({"kind": "open", **opening})
        try:
            with anyio.fail_after(seconds):
                reply, _ = await receive_frame(self._stream)
        except (TimeoutError, *_LOST):
            raise Unavailable("The process for the connection did not start.", hint="Try again.") from None
        if reply.get("kind") != "opened":
            raise WorkerFailed(reply)

    async def end(self) -> None:
        """Gone, and with it what it still had."""
        with anyio.CancelScope(shield=True):
            self.is_lost = True
            await self._stream.aclose()
            await anyio.to_thread.run_sync(end_worker, self._process)


async def start_web_worker(
    opening: Mapping[str, Any], environment: Mapping[str, str], seconds: float
) -> WebWorkerProcess:
    """A worker that is ready. Raises `WorkerFailed` as the worker says it, or `Unavailable`."""
    process, ours = await anyio.to_thread.run_sync(spawn_worker, WEB_WORKER_COMMAND, environment)
    worker = WebWorkerProcess(process, await UNIXSocketStream.from_socket(ours))
    try:
        await worker.opened(opening, seconds)
    except BaseException:
        await worker.end()
        raise
    return worker
