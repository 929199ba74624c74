"""The caged process that runs programs: the smallest cage there is, and the host's end of the connection to it.

No project, no network, no environment, a handful of files; a request, one answer, nothing else.
"""

from __future__ import annotations

import importlib.metadata
import os
import secrets
import select
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

from cellwright.errors import Unavailable
from cellwright.framing import BadFrame, FrameUnpacker
from cellwright.kernel.process.zygote import CagedProcess
from cellwright.remedies import remedy
from cellwright.sandbox.host.control import CageControl
from cellwright.sandbox.spec import CageSpec, Limits, Tier
from cellwright.tools.actions import wire

_INSIDE = Path(__file__).with_name("inside")
_NOBODY = 54321
"""Whom a worker runs as when we are root."""

CAGE_LIMITS = Limits(memory_mb=1024, processes=512, open_files=512, disk_mb=1, inodes=64, tmp_mb=1)
"""For the worker and all its interpreters together; each program has its own, much smaller ones."""


def cage_spec(nowhere: Path, tier: Tier, limits: Limits) -> CageSpec:
    """A cage around the worker; `nowhere` is an empty directory in the place of a project."""
    return CageSpec(
        name=f"cellwright-actions-{os.getpid()}",
        tier=tier,
        project=str(nowhere),
        files="drop",
        software=(sys.base_prefix, str(_INSIDE), *_monty()),
        limits=limits,
        uid=_NOBODY,
        environment={},
        cwd="/tmp",
        protected=(),
    )


def command() -> list[str]:
    """What is executed in it: the interpreter Cellwright was made for, without its packages."""
    python = str(getattr(sys, "_base_executable", sys.executable))
    version = importlib.metadata.version("pydantic-monty-runtime")
    return [python, "-I", "-S", "-B", str(_INSIDE / "__main__.py"), *_monty(), version]


@cache
def _monty() -> tuple[str, str]:
    """Monty's binary and the folder of its client. Neither is loaded here: they run in the cage."""
    binary = _installed("pydantic-monty-runtime", "monty")
    return str(binary), str(_installed("pydantic-monty-client", "_monty.pyi").parent)


def _installed(package: str, file_name: str) -> Path:
    for file in importlib.metadata.files(package) or []:
        if file.name == file_name:
            return Path(str(file.locate())).resolve()
    raise Unavailable("Monty is not installed.", hint="Install Cellwright again: it is one of its packages.")


_READY_SECONDS = 60
_END_SECONDS = 10
_RECEIVE_BYTES = 1 << 18
_IN_PLACE_SECONDS = 0.002
"""Most answers take less than a millisecond, and waiting for them through the event loop costs a tenth of that."""
_AT_A_STRETCH_SECONDS = 0.01
"""After so long without it, everybody else may run."""


class WorkerLost(Exception):
    """The worker ended or was ended; `str()` says why."""


class WorkerTimeout(WorkerLost):
    """It did not answer in time, and was ended."""


class WorkerConnection:
    """Requests to one caged worker, one at a time."""

    def __init__(self, caged: CagedProcess) -> None:
        caged.kernel.setblocking(False)
        self._caged = caged
        self._socket = caged.kernel
        self._control = CageControl(caged.control)
        self._lock = anyio.Lock(fast_acquire=True)
        self._readable = select.poll()
        self._readable.register(self._socket, select.POLLIN)
        self._others_ran_at = 0.0
        self._request = 0
        self._frames = FrameUnpacker(wire.MAX_FRAME_BYTES)
        self._answered: bytes | None = None
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
        except (WorkerLost, BadFrame, TimeoutError) as error:
            reason = await self._why(str(error))
            raise Unavailable(
                f"The action worker did not start: {reason}", hint=remedy("see_doctor", says="says what is missing")
            ) from error
        if not isinstance(answer, wire.ReadyMessage):
            raise Unavailable("The action worker did not say that it is ready.")

    async def ask(self, request: dict[str, Any], *, seconds: float, is_brief: bool = True) -> wire.WorkerMessage:
        """The answer to one request. `WorkerLost` if there will be none; the worker is gone then.

        A brief one is waited for in place for a moment before the thread goes to somebody else.
        """
        async with self._lock:
            # What is answered in place never lets others run: not for long.
            if time.monotonic() - self._others_ran_at > _AT_A_STRETCH_SECONDS:
                await anyio.lowlevel.checkpoint()
                self._others_ran_at = time.monotonic()
            if self._ending is not None:
                raise WorkerLost(self._ending)
            try:
                return await self._ask(request, seconds, is_brief)
            except BadFrame as error:
                raise self.end(f"it broke the protocol: {error}") from error
            except TimeoutError as error:
                self.end(f"no answer within {seconds:.0f} s")
                raise WorkerTimeout(self._ending) from error
            except WorkerLost as error:
                raise self.end(await self._why(str(error))) from error
            except BaseException:
                # Cancelled: it still computes for nobody, and its answer would be taken for the next one's.
                self.end("what it did was cancelled")
                raise

    async def close(self) -> None:
        """End the cage; waits until nothing of it is left."""
        self.end("it was closed")
        self._control.close()
        try:
            with anyio.move_on_after(_END_SECONDS):
                await self._caged.ended.wait()
        finally:
            if not self._is_closed:
                self._is_closed = True
                anyio.notify_closing(self._socket)
                self._socket.close()
                os.close(self._caged.pidfd)

    def _has_hung_up(self) -> bool:
        try:
            if not self._readable.poll(0):
                return False
            return not self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    async def _ask(self, request: dict[str, Any], seconds: float, is_brief: bool) -> wire.WorkerMessage:
        # Not to be guessed: an answer sent before its question is never taken for one.
        self._request = secrets.randbits(48)
        frame = wire.encode({**request, "request": self._request})
        if self._answered is not None or not self._frames.is_empty:
            raise BadFrame("it spoke without being asked")
        rest = self._send_at_once(memoryview(frame))
        if is_brief and not rest and self._is_answered_in_place():
            answer = self._take_answer()
        else:
            with anyio.fail_after(seconds):
                while rest:
                    await self._until(anyio.wait_writable)
                    rest = self._send_at_once(rest)
                answer = await self._answer()
        if answer.request != self._request or isinstance(answer, wire.ReadyMessage):
            raise BadFrame("an answer to something else")
        return answer

    def _send_at_once(self, view: memoryview) -> memoryview:
        """Send what can be sent without waiting; what is left."""
        try:
            return view[self._socket.send(view) :]
        except BlockingIOError:
            return view
        except OSError as error:
            raise WorkerLost("it is gone") from error

    def _is_answered_in_place(self) -> bool:
        """Whether the answer came within a moment; the thread waits for that long."""
        until = time.monotonic() + _IN_PLACE_SECONDS
        while not self._has_answer():
            left = until - time.monotonic()
            if left <= 0 or not self._readable.poll(left * 1000):
                return False
            self._receive()
        return True

    async def _answer(self) -> wire.WorkerMessage:
        while not self._has_answer():
            if not self._receive():
                await self._until(anyio.wait_readable)
        return self._take_answer()

    def _has_answer(self) -> bool:
        if self._answered is None:
            self._answered = self._frames.take()
        return self._answered is not None

    def _take_answer(self) -> wire.WorkerMessage:
        body, self._answered = self._answered or b"", None
        if not self._frames.is_empty:
            raise BadFrame("it said more than was asked")
        return wire.decode(body)

    def _receive(self) -> bool:
        """Take what has come; False if nothing has."""
        try:
            chunk = self._socket.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return False
        except OSError as error:
            raise WorkerLost("it is gone") from error
        if not chunk:
            raise WorkerLost("it ended")
        self._frames.put(chunk)
        return True

    async def _until(self, is_possible: Callable[[socket.socket], Awaitable[None]]) -> None:
        try:
            await is_possible(self._socket)
        except (anyio.ClosedResourceError, ValueError) as error:
            raise WorkerLost("it was closed") from error

    def end(self, reason: str) -> WorkerLost:
        """End it, and remember why."""
        self._ending = self._ending or reason
        if not self._is_closed:
            self._caged.kill()
        return WorkerLost(self._ending)

    async def _why(self, otherwise: str) -> str:
        """How its process ended, if its cage can still say."""
        with anyio.move_on_after(1):
            try:
                end = await self._control.wait_kernel()
            except Unavailable as error:
                return error.message
            if end.limit is not None:
                return f"it reached the limit on {end.limit}"
            return f"it was ended by signal {end.signal}" if end.signal else f"it ended with code {end.exit_code}"
        return otherwise
