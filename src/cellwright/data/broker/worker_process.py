"""One worker process: started with its credential over a socket, asked one thing at a time, ended for certain."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import anyio
import anyio.to_thread
from anyio.abc import UNIXSocketStream

from cellwright.data.descriptor_frames import receive_frame, send_frame
from cellwright.errors import Unavailable
from cellwright.framing import BadFrame

WORKER_COMMAND: Final = (sys.executable, "-I", "-m", "cellwright.data.worker")
_CANCEL_SECONDS: Final = 1.5
"""Given to a driver to stop its statement; then the process is killed."""
_LOST: Final = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, BadFrame)


class WorkerProcess:
    """A process that runs one driver's session. Made by `start_worker`."""

    def __init__(self, process: subprocess.Popen[bytes], stream: UNIXSocketStream) -> None:
        self._process = process
        self._stream = stream
        self.is_lost = False
        """It answers no more."""
        self.used_at = anyio.current_time()
        self.server = ""

    async def ask(self, message: Mapping[str, Any], seconds: float) -> tuple[dict[str, Any], int]:
        """One request and its reply, with the descriptor it brings or -1; a cancelled one is cancelled at the server.

        Raises `Unavailable` if the process died or took far longer than it was given.
        """
        try:
            with anyio.fail_after(seconds):
                await send_frame(self._stream, message)
                reply = await receive_frame(self._stream)
        except anyio.get_cancelled_exc_class():
            await self._cancel()
            raise
        except TimeoutError:
            await self._cancel()
            raise Unavailable(f"The database did not answer within {seconds:g} s.", hint="Ask for less.") from None
        except _LOST:
            self.is_lost = True
            raise Unavailable(
                "The process that speaks with the database ended.", hint="Try again; the broker's log may say why."
            ) from None
        self.used_at = anyio.current_time()
        # Its session is closed: whoever asked this one next would be told so, too.
        self.is_lost = reply[0].get("failure") == "gone"
        return reply

    async def _cancel(self) -> None:
        """Let the driver stop the statement, and hear that it did; else the process is not used again."""
        with anyio.CancelScope(shield=True):
            self.is_lost = True
            with anyio.move_on_after(_CANCEL_SECONDS), contextlib.suppress(*_LOST):
                await send_frame(self._stream, {"kind": "cancel"})
                reply, descriptor = await receive_frame(self._stream)
                close_descriptor(descriptor)
                # It was at its end already, or it stopped: either way the session is in order.
                self.is_lost = reply.get("failure") not in {None, "cancelled"}

    async def end(self) -> None:
        """Gone, and with it its session."""
        with anyio.CancelScope(shield=True):
            self.is_lost = True
            await self._stream.aclose()
            await anyio.to_thread.run_sync(end_worker, self._process)


def end_worker(process: subprocess.Popen[bytes]) -> None:
    """See it to its end, once its socket is closed. Blocking."""
    try:
        # It ends by itself when nobody is at the other end: its session is closed in order then.
        process.wait(_CANCEL_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def close_descriptor(descriptor: int) -> None:
    """Close it, if there is one."""
    if descriptor >= 0:
        os.close(descriptor)


async def start_worker(opening: Mapping[str, Any], environment: Mapping[str, str], seconds: float) -> WorkerProcess:
    """A worker with an open session. Raises `WorkerFailed` as the worker says it, or `Unavailable`."""
    process, ours = await anyio.to_thread.run_sync(spawn_worker, WORKER_COMMAND, environment)
    stream = await UNIXSocketStream.from_socket(ours)
    worker = WorkerProcess(process, stream)
    try:
        reply, _ = await worker.ask({"kind": "open", **opening}, seconds)
    except BaseException:
        await worker.end()
        raise
    if reply.get("kind") != "opened":
        await worker.end()
        raise WorkerFailed(reply)
    worker.server = str(reply.get("server", ""))[:200]
    return worker


def spawn_worker(
    command: Sequence[str], environment: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """A process of its own, and the broker's end of the socket between them. Blocking."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            process = subprocess.Popen(
                [*command, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                cwd="/",
                env=dict(environment),
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
    ours.setblocking(False)
    return process, ours


class WorkerFailed(Exception):
    """What a worker could not do, as it says it: `failure`, `why`, `hint`."""

    def __init__(self, reply: Mapping[str, Any]) -> None:
        self.failure = str(reply.get("failure", "other"))[:40]
        self.why = " ".join(str(reply.get("why", "it did not say why")).split())[:2000]
        self.hint = " ".join(str(reply.get("hint", "")).split())[:500]
        super().__init__(self.why)
