"""The guest's end of the socket to the host: frames out and in, and the streams that marimo writes to.

Everything happens in the thread that runs the cells. A frame is never left half written: an interrupt that arrives in
the middle of one is kept until it is out. Frames from the host are awaited in the event loop, so that a notebook's
background tasks go on meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import queue
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import Literal

from marimo._messaging.cell_output import CellChannel
from marimo._messaging.mimetypes import ConsoleMimeType
from marimo._messaging.notification_utils import CellNotificationUtils
from marimo._messaging.types import KernelMessage, Stderr, Stdin, Stdout, Stream
from marimo._runtime.commands import CommandMessage
from marimo._types.ids import CellId_t
from marimo._utils.signals import SigintHandler

from cellwright_guest import wire

_BURST_FRAMES = 64
_FRAMES_PER_SECOND = 50
_BUFFER_CHARACTERS = 8_192
_HELD_BYTES = 1 << 16


class HostSocket:
    """The guest's end of the socket. Only the process that opened it may speak."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._owner = 0
        # A cell's own threads may print; frames of two threads must not mix.
        self._lock = threading.Lock()
        self._held = b""
        self.is_watched = False

    def open(self, connection: socket.socket) -> None:
        """Start speaking on `connection`, a blocking stream socket."""
        self._socket = connection
        self._owner = os.getpid()

    def send(self, message: wire.FromGuest) -> None:
        """One typed message, whole."""
        self._write(wire.encode(message))

    def hold(self, message: wire.FromGuest) -> None:
        """One typed message that may wait for the next, which must follow soon: together they wake the host once."""
        frame = wire.encode(message)
        if len(self._held) + len(frame) > _HELD_BYTES:
            self._write(frame)
        else:
            self._held += frame

    def flush(self) -> None:
        """Nothing follows: what is held goes out."""
        if self._held:
            self._write(b"")

    def send_marimo(self, body: bytes) -> None:
        """One of marimo's own notifications, if anybody watches."""
        if self.is_watched and len(body) <= wire.MAX_FRAME_BYTES:
            self._write(wire.HEADER.pack(len(body), wire.MARIMO) + body)

    @property
    def is_ours(self) -> bool:
        """False in a process that a cell forked: its words must not mix with ours."""
        return self._owner == os.getpid()

    def _write(self, frame: bytes) -> None:
        if self._socket is None or not self.is_ours:
            return
        with SigintHandler.defer(), self._lock:
            held, self._held = self._held, b""
            self._socket.sendall(held + frame)


class GuestStream(Stream):
    """marimo's notification stream: opaque to us, and silent while no editor watches."""

    def __init__(self, host: HostSocket) -> None:
        self._host = host

    def write(self, data: KernelMessage) -> None:
        """Pass one serialised notification on."""
        self._host.send_marimo(data)

    def copy_for_thread(self) -> Stream:
        """Threads of `mo.Thread` share the stream; frames are whole, so nothing mixes."""
        return self


class ConsoleWriter:
    """What the running cell prints: capped per cell, sent at once until it floods, then in larger pieces."""

    def __init__(self, host: HostSocket) -> None:
        self.host = host
        self.request = 0
        self.cell = ""
        self.cap = 1 << 20
        self._left = self.cap
        self._dropped = 0
        self._buffer: list[str] = []
        self._buffered = 0
        self._buffer_stream: Literal["stdout", "stderr"] = "stdout"
        self._frames_left = float(_BURST_FRAMES)
        self._refilled_at = 0.0

    def begin(self, request: int, cell: str) -> None:
        """A new cell speaks from here on."""
        self.request, self.cell = request, cell
        self._left, self._dropped = self.cap, 0

    def write(self, stream: Literal["stdout", "stderr"], text: str) -> None:
        """Take `text`; it reaches the host now, or with the next flush when the cell floods."""
        if len(text) > self._left:
            self._dropped += len(text) - self._left
            text = text[: self._left]
        self._left -= len(text)
        if not text:
            return
        if stream != self._buffer_stream:
            self.flush()
            self._buffer_stream = stream
        self._buffer.append(text)
        self._buffered += len(text)
        if self._buffered >= _BUFFER_CHARACTERS or (text.endswith("\n") and self._may_send()):
            self.flush()

    def flush(self) -> None:
        """Send what is held back."""
        if not self._buffer:
            return
        text = "".join(self._buffer)
        self._buffer.clear()
        self._buffered = 0
        text = encodable(text)
        self.host.send(wire.Console(request=self.request, cell=self.cell, stream=self._buffer_stream, text=text))
        if self.host.is_watched and self.cell:
            CellNotificationUtils.broadcast_console_output(
                channel=CellChannel.STDOUT if self._buffer_stream == "stdout" else CellChannel.STDERR,
                mimetype="text/plain",
                data=text,
                cell_id=CellId_t(self.cell),
                status=None,
            )

    def end(self) -> None:
        """The cell is done: everything out, and a note if something was dropped."""
        self.flush()
        if self._dropped:
            note = f"\n… {self._dropped:,} more characters were printed and dropped (cap: {self.cap:,}) …\n"
            self.host.send(wire.Console(request=self.request, cell=self.cell, stream="stderr", text=note))
            self._dropped = 0

    def _may_send(self) -> bool:
        now = time.monotonic()
        self._frames_left = min(_BURST_FRAMES, self._frames_left + (now - self._refilled_at) * _FRAMES_PER_SECOND)
        self._refilled_at = now
        if self._frames_left < 1:
            return False
        self._frames_left -= 1
        return True


def encodable(text: str) -> str:
    """Without lone surrogates (`os.fsdecode` of a strange file name): one would make the whole frame unencodable."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class _CellConsole:
    """What `sys.stdout` and `sys.stderr` have in common while a cell runs."""

    _stream: Literal["stdout", "stderr"]
    _descriptor: int

    def __init__(self, console: ConsoleWriter) -> None:
        self._console = console

    def _write_with_mimetype(self, data: str, mimetype: ConsoleMimeType) -> int:
        if mimetype == "application/vnd.marimo+traceback":
            # marimo prints the traceback as HTML for its frontend; ours travels in the cell's error.
            return len(data)
        if self._console.host.is_ours:
            self._console.write(self._stream, data)
        else:
            os.write(self._descriptor, data.encode("utf-8", "replace"))
        return len(data)

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        """The descriptor child processes write to; its text joins the cell's console when the cell ends."""
        return self._descriptor

    def flush(self) -> None:
        """Everything printed so far reaches the host."""
        if self._console.host.is_ours:
            self._console.flush()


class CellStdout(_CellConsole, Stdout):
    """`sys.stdout` while a cell runs."""

    _stream = "stdout"
    _descriptor = 1


class CellStderr(_CellConsole, Stderr):
    """`sys.stderr` while a cell runs."""

    _stream = "stderr"
    _descriptor = 2


class NoStdin(Stdin):
    """`sys.stdin`: nobody is there to type."""

    def _readline_with_prompt(self, prompt: str = "", password: bool = False) -> str:
        what = "getpass()" if password else "input()"
        raise EOFError(
            f"{what} cannot be answered here: nobody is at this kernel's keyboard. "
            "Use a `mo.ui` element, or pass the value in as data."
        )

    def read(self, size: int | None = -1) -> str:
        """Refused like `input()`."""
        return self._readline_with_prompt()


class DescriptorCapture:
    """What child processes and C code print to descriptors 1 and 2, read back after each cell.

    An unlinked file instead of a pipe: nobody has to drain it, so no thread is needed and nothing can block.
    """

    def __init__(self, directory: str) -> None:
        self._file = os.open(directory, os.O_TMPFILE | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o600)
        for descriptor in (1, 2):
            os.dup2(self._file, descriptor)

    @property
    def descriptor(self) -> int:
        """The file itself, besides 1 and 2."""
        return self._file

    def close(self) -> None:
        """Let go of the file; 1 and 2 still lead there until another capture takes them."""
        os.close(self._file)

    def drain(self, take: Callable[[str], None], cap: int) -> None:
        """Hand over what was written since the last call, at most `cap` bytes."""
        size = os.fstat(self._file).st_size
        if not size:
            return
        text = os.pread(self._file, min(size, cap), 0).decode("utf-8", "replace")
        os.ftruncate(self._file, 0)
        take(text)


_RECEIVE_BYTES = 1 << 18
TOO_SOON = (-1, b"")
"""No frame: none was there in time."""


class OwnCommands(queue.Queue[CommandMessage]):
    """Commands the notebook gives itself, from a cell, a background task or a thread."""

    def __init__(self) -> None:
        super().__init__()
        self.wake: Callable[[], None] = lambda: None

    def put_nowait(self, item: CommandMessage) -> None:
        """Take one, and end the wait for the host."""
        super().put_nowait(item)
        self.wake()


class FrameQueue:
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
        while (frame := wire.take_frame(self._buffer)) is None:
            if not await self._readable() or not self._receive():
                return None
        return frame

    def frame_now(self) -> tuple[int, bytes] | None:
        """The next whole frame, while nothing else goes on; None when the host is gone."""
        while (frame := wire.take_frame(self._buffer)) is None:
            if not self._receive():
                return None
        return frame

    def frame_or_interrupt(self, seconds: float | None = None) -> tuple[int, bytes] | None:
        """The same, but an interrupt ends the wait, and no frame is lost by it; `TOO_SOON` if none came in time."""
        while (frame := wire.take_frame(self._buffer)) is None:
            ready = select.poll()
            ready.register(self._connection, select.POLLIN)
            if not ready.poll(None if seconds is None else seconds * 1000):
                return TOO_SOON
            # What was received must be in the buffer before anything is raised.
            with SigintHandler.defer():
                if not self._receive():
                    return None
        return frame

    def put_back(self, frames: Iterable[tuple[int, bytes]]) -> None:
        """These are read next, again."""
        self._buffer[:0] = b"".join(wire.HEADER.pack(len(body), channel) + body for channel, body in frames)

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
