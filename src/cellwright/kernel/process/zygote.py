"""The starter's side of the base zygote: start it, ask it for cages, hear how they ended.

The zygote is exec'd with an empty environment and only the descriptors it needs, so nothing of this process (its
keys, its sockets) can reach a kernel. When it dies it is started again on the next request.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import anyio

from cellwright.errors import Unavailable, UserError
from cellwright.framing import FrameUnpacker, pack_json, read_json
from cellwright.kernel.process.zygote_process import ZygoteProcess, begin_zygote
from cellwright.kernel.task_groups import unwrap_single_error
from cellwright.remedies import parse_remedy, remedy
from cellwright.sandbox.host.control import CageControl
from cellwright.sandbox.spec import CageSpec

_START_SECONDS = 60
_END_SECONDS = 10


@dataclass(slots=True, kw_only=True)
class CagedProcess:
    """A started cage: its two sockets, and the handle that kills all of it."""

    kernel: socket.socket
    control: socket.socket
    pid: int
    pidfd: int
    ended: anyio.Event
    """Set when nothing of it is left."""

    def kill(self) -> None:
        """End every process in the cage, now."""
        try:
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        except ProcessLookupError:
            return

    async def end(self, control: CageControl) -> None:
        """End the cage, over the control line first, and wait until nothing of it is left; closes that line."""
        try:
            await control.stop()
            self.kill()
            with anyio.move_on_after(_END_SECONDS):
                await self.ended.wait()
        finally:
            control.close()
            os.close(self.pidfd)


@dataclass(slots=True)
class _Request:
    """A cage that was asked for, until it has ended or is given up."""

    answered: anyio.Event = field(default_factory=anyio.Event)
    ended: anyio.Event = field(default_factory=anyio.Event)
    answer: dict[str, Any] = field(default_factory=dict[str, Any])
    descriptors: list[int] = field(default_factory=list[int])


def _close_all(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


class Zygote:
    """One running zygote process."""

    def __init__(self, connection: socket.socket, process: subprocess.Popen[bytes]) -> None:
        self._socket = connection
        self.process = process
        self._sending = anyio.Lock()
        self._next = 0
        self._requests: dict[int, _Request] = {}
        self._frames = FrameUnpacker()
        self._descriptors: list[int] = []
        self._is_listening = anyio.Event()
        self._is_heard = False
        self._is_ready = anyio.Event()
        self.facts: dict[str, Any] = {}
        """What it says of itself once it is ready to fork kernels."""
        self.is_gone = anyio.Event()
        self.is_warm = anyio.Event()
        """Set when everything worth importing before a fork has been; kernels start well before that too."""

    @classmethod
    @asynccontextmanager
    async def open(cls, cache: Path, begun: ZygoteProcess | None = None) -> AsyncGenerator[Zygote]:
        """A zygote that listens; everything it started ends with it.

        `cache` keeps what is slow to find out, e.g. fonts; `begun` is its process, where that was started before.
        """
        try:
            await anyio.Path(cache).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"The cache {str(cache)!r} cannot be made: {error.strerror}.",
                hint="Set CELLWRIGHT_HOME, or HOME, to a directory of your own. A container's user without an entry in "
                "/etc/passwd has HOME=/.",
            ) from error
        begun = begun or begin_zygote(cache)
        zygote = cls(begun.connection, begun.process)
        try:
            with unwrap_single_error():
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(zygote._listen)
                    with anyio.move_on_after(_START_SECONDS):
                        await zygote._is_listening.wait()
                    if not zygote._is_heard:
                        raise Unavailable(
                            "The kernel zygote did not start.", hint=remedy("see_doctor", says="says what is missing")
                        )
                    yield zygote
                    tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await zygote._end()

    @property
    def is_alive(self) -> bool:
        """False once the process is gone; then open a new one."""
        return not self.is_gone.is_set()

    async def warm_up(self) -> dict[str, Any]:
        """Let it import what kernels need before anybody asks for one; what it then says of itself."""
        await self._send({"op": "warm"}, ())
        with anyio.move_on_after(_START_SECONDS):
            await self._is_ready.wait()
        if not self.facts:
            raise Unavailable(
                "The kernel zygote did not start.", hint=remedy("see_doctor", says="says what is missing")
            )
        return self.facts

    async def start(self, spec: CageSpec, *, command: list[str] | None = None) -> CagedProcess:
        """A new cage; its kernel process runs the guest, or `command` when the notebook has its own environment."""
        kernel, kernel_theirs = socket.socketpair()
        control, control_theirs = socket.socketpair()
        self._next += 1
        number, request = self._next, _Request()
        self._requests[number] = request
        try:
            with kernel_theirs, control_theirs:
                message = {"id": number, "spec": asdict(spec), "exec": command}
                await self._send(message, (kernel_theirs.fileno(), control_theirs.fileno()))
            with anyio.fail_after(_START_SECONDS):
                await request.answered.wait()
            if request.answer.get("op") != "started":
                reason = request.answer.get("reason", "the zygote is gone")
                known = parse_remedy(request.answer.get("remedy"))
                hint = known or remedy("see_doctor", says="says what is missing")
                raise Unavailable(f"The cage could not be started: {reason}.", hint=hint)
        except BaseException:
            kernel.close()
            control.close()
            # Its cage ends with these sockets; what is still said of it is for nobody.
            self._requests.pop(number, None)
            _close_all(request.descriptors)
            raise
        pid, (pidfd,) = request.answer["pid"], request.descriptors
        return CagedProcess(kernel=kernel, control=control, pid=pid, pidfd=pidfd, ended=request.ended)

    async def _send(self, message: dict[str, Any], descriptors: tuple[int, ...]) -> None:
        """One message at a time, and each of them whole: one with large terms takes several writes."""
        async with self._sending:
            with anyio.move_on_after(_START_SECONDS, shield=True) as patience:
                await self._write(memoryview(pack_json(message)), descriptors)
            if patience.cancelled_caught:
                # Half a message is in its socket: nothing it is told from now on would make sense.
                self.process.kill()
                raise Unavailable("The kernel zygote does not listen.", hint="Try again: it is started anew.")

    async def _write(self, data: memoryview, descriptors: tuple[int, ...]) -> None:
        while data:
            try:
                sent = socket.send_fds(self._socket, [data], descriptors)
            except BlockingIOError:
                await anyio.wait_writable(self._socket)
                continue
            except OSError as error:
                raise Unavailable("The kernel zygote is gone.", hint="Try again: it is started anew.") from error
            data, descriptors = data[sent:], ()

    async def _listen(self) -> None:
        try:
            while True:
                await anyio.wait_readable(self._socket)
                try:
                    data, descriptors, _, _ = socket.recv_fds(self._socket, 1 << 16, 16)
                except OSError:
                    return
                if not data:
                    return
                self._descriptors += descriptors
                for payload in self._frames.feed(data):
                    self._heard(read_json(payload))
        finally:
            self._lost()

    def _heard(self, message: dict[str, Any]) -> None:
        match message["op"]:
            case "listening":
                self._is_heard = True
                self._is_listening.set()
            case "ready":
                self.facts = message
                self._is_ready.set()
            case "warm":
                self.is_warm.set()
            case "started" | "refused":
                descriptors = [self._descriptors.pop(0)] if message["op"] == "started" else []
                if (request := self._requests.get(message["id"])) is None:
                    _close_all(descriptors)
                else:
                    request.answer, request.descriptors = message, descriptors
                    request.answered.set()
            case "ended":
                if (request := self._requests.pop(message["id"], None)) is not None:
                    request.ended.set()
            case other:
                raise AssertionError(f"zygote said {other!r}")

    def _lost(self) -> None:
        self.is_gone.set()
        self._is_listening.set()
        self._is_ready.set()
        self.is_warm.set()
        for request in self._requests.values():
            request.answered.set()
            request.ended.set()

    async def _end(self) -> None:
        """Closing our end tells the zygote to exit; its cages die with it."""
        self._socket.close()
        _close_all(self._descriptors)
        try:
            with anyio.fail_after(5):
                await anyio.to_thread.run_sync(self.process.wait, abandon_on_cancel=True)
        except TimeoutError:
            self.process.kill()
            self.process.wait()
