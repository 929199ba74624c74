"""The host's end of a cage: interrupt, how it ended, what changed, what to keep.

Whoever waits reads: no background task, so a `CageControl` needs no lifetime of its own. Nothing that arrives here is
trusted: frames, names, sizes and numbers are checked before they are used.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from cellwright import framing
from cellwright.errors import Unavailable
from cellwright.remedies import remedy
from cellwright.sandbox import control_frames
from cellwright.sandbox.control_frames import LIMITS, KernelExit, integer, items, read_exit
from cellwright.sandbox.host.file_changes import (
    ChangeRefused,
    FileChange,
    KeepReport,
    LeftFiles,
    MissingLeftFile,
    read_change,
)
from cellwright.sandbox.host.keep_terms import KeepTerms, keep_changes, progress_lines
from cellwright.sandbox.host.project_writer import ProjectWriter
from cellwright.sandbox.linux import proxy_listener
from cellwright.sandbox.spec import BRANCH_SLOTS, MEGABYTE, Tier

_MAX_CHANGES = 1_000_000
_MAX_FILE_BYTES = 1 << 40
_MOST_QUEUED = 32
_MOST_LAYERS = BRANCH_SLOTS + 1
"""Limit of layers: one for each branch root a branch came through, and the cage's own."""
_CLOCK_GRAIN_NS = 10_000_000
_ANSWER_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchSlot:
    """Which process of a cage is meant, by its root, and since when its changes count."""

    number: int = 0
    is_whole: bool = True
    """True: since the cage was made. False: since this branch was."""


MAIN = BranchSlot()
"""The kernel a cage was made for."""


class CageControl:
    """Speaks with the first process of one cage over `sock` (a connected stream socket).

    With a `proxy_port` it also takes a descriptor the cage hands over, its listening socket; one for each root of a
    branch, which is only passed on to the kernel that is forked; and those of the layers in which its changes are.
    """

    def __init__(self, sock: socket.socket, *, proxy_port: int | None = None, tier: Tier = "A") -> None:
        sock.setblocking(False)
        self._has_own_root = tier in {"A", "B"}
        self._proxy_port = proxy_port
        self._descriptors: list[int] = []
        self._listener: socket.socket | None = None
        self._takes_descriptors = False
        self._handing_over = anyio.Lock()
        self._socket = sock
        self._unpacker = control_frames.ControlUnpacker()
        self._reading = anyio.Lock()
        self._commanding = anyio.Lock()
        self._request = 0
        self._answers: list[dict[str, Any]] = []
        self._data: list[bytes] = []
        self._room = anyio.Event()
        self._end: KernelExit | None = None
        self._branch_ends: dict[int, str | None] = {}
        self._failure: str | None = None
        self._is_started = False
        self._is_closed = False
        self._since_ns = time.time_ns() - _CLOCK_GRAIN_NS

    async def wait_started(self) -> None:
        """Until the kernel runs confined; `Unavailable` with the reason if it never will."""
        await self._until(lambda: self._is_started)

    async def listener(self) -> socket.socket:
        """The cage's way out, once: a socket that accepts what the kernel connects. The caller closes it."""
        await self._until_within_deadline(lambda: self._listener is not None)
        listener, self._listener = self._listener, None
        assert listener is not None
        return listener

    async def wait_kernel(self) -> KernelExit:
        """Until the kernel has ended. A cage killed from outside counts as SIGKILL."""
        try:
            await self._until(lambda: self._end is not None or MAIN.number in self._branch_ends)
        except Unavailable:
            if self._failure is not None or not self._is_started:
                raise
        return self._end or KernelExit(exit_code=None, signal=9)

    async def interrupt(self, slot: BranchSlot = MAIN) -> None:
        """Raise KeyboardInterrupt in the kernel's main thread."""
        await self.signal(signal.SIGINT, slot)

    async def signal(self, number: int, slot: BranchSlot = MAIN) -> None:
        """Send any signal to the kernel's process."""
        await self._ask("signal", signal=number, branch=slot.number)

    async def command(self, name: str, **arguments: object) -> dict[str, Any]:
        """Have init carry out a command; `Unavailable` with its reason if it cannot."""
        try:
            return await self._ask(name, **arguments)
        except ChangeRefused as refusal:
            raise Unavailable(f"The cage cannot do that: {refusal}.") from refusal

    async def make_branch_root(self, of: BranchSlot) -> tuple[BranchSlot, int] | None:
        """Have init make a root for a branch of `of`; its slot and the open root for the kernel to enter. Close it.

        None if as many are made as there may be.
        """
        async with self._taking_descriptors():
            answer = await self.command("branch", of=of.number)
            if "branch" not in answer:
                return None
            if not self._descriptors:
                raise self._break("it made a root and did not hand it over")
            number = integer(answer["branch"])
            # Who was there before has ended.
            self._branch_ends.pop(number, None)
            return BranchSlot(number=number), self._descriptors.pop()

    async def drop_branch(self, slot: BranchSlot) -> None:
        """End everything in a branch's place, which is free then."""
        # Init forgets it: whoever waits for its end would hear no more of it.
        self._branch_ends.setdefault(slot.number, None)
        await self.command("unbranch", branch=slot.number)

    async def wait_branch(self, number: int) -> str | None:
        """Until the branch's process has ended; the limit that ended it, if one did."""
        await self._until(lambda: number in self._branch_ends)
        return self._branch_ends[number]

    async def changes(self, slot: BranchSlot = MAIN) -> tuple[FileChange, ...]:
        """Every file of the project the notebook created, modified or deleted so far; `Unavailable` if none can say."""
        found: list[FileChange] = []
        asked = self._conversation("changes", branch=slot.number, whole=slot.is_whole)
        try:
            async with self._commanding, aclosing(asked) as answers:
                async for answer in answers:
                    found += [read_change(raw) for raw in items(answer.get("changes"))]
                    if len(found) > _MAX_CHANGES:
                        raise self._break("too many changed files")
                    if answer.get("more") is not True:
                        break
        except ChangeRefused as refusal:
            raise Unavailable(f"The cage cannot list its changes: {refusal}.") from refusal
        return tuple(found)

    async def keep(
        self, project: Path, *, hidden: tuple[str, ...] = (), slot: BranchSlot = MAIN, terms: KeepTerms | None = None
    ) -> KeepReport:
        """Write the notebook's changes into the project on the host, all of them or none; ends all it has started.

        What is refused stays as it was. Killed in its last moments, when everything takes its place, it leaves each
        file the old or the new one, and nothing is gone that was only renamed.
        """
        terms = terms or KeepTerms()
        try:
            left = await self._take_left_files(slot)
        except ChangeRefused as refusal:
            raise Unavailable(f"The cage cannot hand over its files: {refusal}.") from refusal
        write = partial(
            ProjectWriter,
            project,
            left,
            since_ns=self._since_ns,
            hidden=hidden,
            most_bytes=terms.limits.disk_mb * MEGABYTE,
            seconds=terms.limits.keep_seconds,
        )
        try:
            async with progress_lines(terms.on_progress) as progress:
                changes = await self.changes(slot)
                return replace(await keep_changes(write, changes, terms, progress), changes=changes)
        finally:
            left.close()

    async def _take_left_files(self, slot: BranchSlot) -> LeftFiles:
        """The layers in which the changes are, after every process of the cage but its first has ended."""
        async with self._taking_descriptors():
            answer = await self._ask("leave", branch=slot.number, whole=slot.is_whole)
            if len(self._descriptors) != integer(answer.get("layers")):
                raise self._break("it did not hand over its files")
            layers, self._descriptors = self._descriptors, []
            try:
                return LeftFiles(layers, is_in_memory=self._has_own_root)
            except MissingLeftFile as error:
                raise self._break(str(error)) from None

    @asynccontextmanager
    async def _taking_descriptors(self) -> AsyncGenerator[None]:
        """What is handed over in this block is taken; of that, what nobody has picked up is closed at its end."""
        async with self._handing_over:
            self._takes_descriptors = True
            try:
                yield
            finally:
                self._takes_descriptors = False
                self._drop_descriptors()

    async def read(self, path: str, slot: BranchSlot = MAIN) -> AsyncGenerator[bytes]:
        """The bytes of a file that `changes` told of, as it is now; `ChangeRefused` if it cannot be had. Close it."""
        asked = self._conversation("read", path=path, branch=slot.number, whole=slot.is_whole)
        async with self._commanding, aclosing(asked) as answers:
            left = integer((await anext(answers)).get("bytes"))
            if not 0 <= left <= _MAX_FILE_BYTES:
                raise self._break("impossible file size")
            while left:
                chunk = await self._next_data()
                if len(chunk) > left:
                    raise self._break("more data than announced")
                left -= len(chunk)
                yield chunk

    async def stop(self) -> None:
        """Tell the cage to end; it takes everything inside with it. Closes the socket."""
        with suppress(OSError, Unavailable), anyio.move_on_after(1):
            await self._send({"do": "stop", "id": 0})
        self.close()

    def close(self) -> None:
        """Close the socket, which also ends the cage."""
        if not self._is_closed:
            self._is_closed = True
            # Whoever waits on the socket would never hear of its end otherwise.
            with suppress(anyio.NoEventLoopError):
                anyio.notify_closing(self._socket)
            self._socket.close()
            self._drop_descriptors()
            if self._listener is not None:
                self._listener.close()

    async def _ask(self, command: str, **arguments: object) -> dict[str, Any]:
        async with self._commanding, aclosing(self._conversation(command, **arguments)) as answers:
            return await anext(answers)

    async def _conversation(self, command: str, **arguments: object) -> AsyncGenerator[dict[str, Any]]:
        """Send one command and read its answers; the caller holds the command lock."""
        self._request += 1
        self._forget()
        try:
            with anyio.fail_after(_ANSWER_TIMEOUT_SECONDS):
                await self._send({"do": command, "id": self._request, **arguments})
            while True:
                await self._until_within_deadline(lambda: bool(self._answers))
                answer = self._answers.pop(0)
                if "error" in answer:
                    raise ChangeRefused(str(answer["error"])[:500])
                yield answer
        finally:
            self._request += 1
            self._forget()

    def _forget(self) -> None:
        self._answers.clear()
        self._data.clear()
        self._room.set()

    async def _next_data(self) -> bytes:
        await self._until_within_deadline(lambda: bool(self._data) or bool(self._answers))
        if not self._data:
            raise ChangeRefused(str(self._answers.pop(0).get("error", "the cage stopped sending"))[:500])
        self._room.set()
        return self._data.pop(0)

    async def _until_within_deadline(self, is_true: Callable[[], bool]) -> None:
        try:
            with anyio.fail_after(_ANSWER_TIMEOUT_SECONDS):
                await self._until(is_true)
        except TimeoutError:
            raise self._break("no answer in time") from None

    async def _until(self, is_true: Callable[[], bool]) -> None:
        while not is_true():
            async with self._reading:
                if not is_true():
                    await self._read_some()

    async def _read_some(self) -> None:
        if self._failure is not None:
            raise Unavailable(
                f"The cage could not start: {self._failure}", hint=remedy("see_doctor", says="says what is missing")
            )
        if self._is_closed:
            raise Unavailable("The cage is gone.")
        try:
            kind, payload = self._unpacker.next() or (None, b"")
            message = framing.read_json(payload) if kind == control_frames.JSON else None
        except framing.BadFrame as error:
            raise self._break(str(error)) from None
        if kind is None:
            data = await self._receive()
            if data == b"":
                self.close()
                raise Unavailable("The cage is gone.")
            self._unpacker.feed(data or b"")
        elif message is not None:
            self._take(message)
        elif control_frames.request_of(payload) == self._request:
            self._data.append(payload[control_frames.REQUEST_BYTES :])
            # Whoever reads on behalf of somebody slower stops reading, so that nothing piles up here.
            if len(self._data) >= _MOST_QUEUED:
                self._room = anyio.Event()
                await self._room.wait()

    async def _receive(self) -> bytes | None:
        """What has come; nothing at the end, None if it is not here yet."""
        try:
            await anyio.wait_readable(self._socket)
        except (anyio.ClosedResourceError, ValueError):
            return b""
        try:
            if self._proxy_port is None and not self._takes_descriptors:
                # Descriptors nobody asked for are closed by the operating system.
                return self._socket.recv(1 << 18)
            most = _MOST_LAYERS if self._takes_descriptors else 1
            data, descriptors, _, _ = socket.recv_fds(self._socket, 1 << 18, most, socket.MSG_CMSG_CLOEXEC)
            self._descriptors += descriptors
            self._drop_descriptors(after=most)
            return data
        except BlockingIOError:
            return None
        except ConnectionError:
            return b""

    def _take(self, message: dict[str, Any]) -> None:
        match message.get("event"):
            case "started" if not self._is_started:
                self._is_started = True
                # Its own moment counts only where that is possible: a later one would let it overwrite newer files.
                if self._since_ns <= (since_ns := integer(message.get("since_ns"))) <= time.time_ns():
                    self._since_ns = since_ns
            case "listening" if self._proxy_port is not None:
                port, self._proxy_port = self._proxy_port, None
                self._listener = proxy_listener.adopt(self._descriptors.pop(), port) if self._descriptors else None
                if self._listener is None:
                    raise self._break("what it handed over is no listening socket of its own")
            case "failed":
                self._failure = str(message.get("reason"))[:2000]
            case "ended":
                self._end = read_exit(message)
            case "branch-ended":
                limit = message.get("limit")
                self._branch_ends[integer(message.get("branch"))] = limit if limit in LIMITS else None
            case _ if message.get("id") == self._request and len(self._answers) < _MOST_QUEUED:
                self._answers.append(message)
            case _:
                pass

    def _drop_descriptors(self, *, after: int = 0) -> None:
        for descriptor in self._descriptors[after:]:
            os.close(descriptor)
        del self._descriptors[after:]

    async def _send(self, message: dict[str, Any]) -> None:
        data = memoryview(control_frames.pack_json(message))
        while data:
            if self._is_closed:
                raise Unavailable("The cage is gone.")
            try:
                sent = self._socket.send(data)
            except BlockingIOError:
                await anyio.wait_writable(self._socket)
                continue
            except ConnectionError:
                self.close()
                raise Unavailable("The cage is gone.") from None
            data = data[sent:]

    def _break(self, reason: str) -> Unavailable:
        """The other side does not keep to the protocol: end it."""
        self.close()
        return Unavailable(f"The cage broke off: {reason}.", hint="Run the notebook again.")
