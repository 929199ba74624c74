"""The host's end of a kernel's socket: whole frames in, whole frames out, and nothing believed.

A peer that sends a malformed, oversized or too frequent frame is broken or hostile either way: `LinkBroken` is
raised, the kernel ends, the host goes on.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass

import anyio
import msgspec

from cellwright_guest import wire

_RECEIVE_BYTES = 1 << 18
_decoder = msgspec.msgpack.Decoder(wire.FromGuest)


class LinkBroken(Exception):
    """The kernel does not speak our language, or too much of it; `str()` says in what way."""

    def __init__(self, message: str, *, limit: str | None = None) -> None:
        super().__init__(message)
        self.limit = limit


class LinkClosed(Exception):
    """The kernel closed its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarimoNotification:
    """One of marimo's own notifications, unopened."""

    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCaps:
    """How much a kernel may say."""

    bytes_per_request: int = 64 << 20
    burst_frames: int = 50_000
    frames_per_second: int = 5_000


class Link:
    """Typed frames over one socket."""

    def __init__(self, connection: socket.socket, caps: LinkCaps) -> None:
        connection.setblocking(False)
        self._socket = connection
        self._caps = caps
        self._buffer = bytearray()
        self._bytes_left = caps.bytes_per_request
        self._frames_left = float(caps.burst_frames)
        self._refilled_at = time.monotonic()
        self._sending = anyio.Lock()

    def begin_request(self) -> None:
        """A new request: the byte allowance starts again."""
        self._bytes_left = self._caps.bytes_per_request

    async def send(self, message: wire.FromHost, descriptors: Sequence[int] = ()) -> None:
        """One message, whole, with open files for the kernel to have as its own."""
        await self._send_frame(wire.encode(message), descriptors)

    async def send_marimo(self, body: bytes) -> None:
        """One of marimo's own commands, unopened."""
        await self._send_frame(wire.HEADER.pack(len(body), wire.MARIMO) + body)

    async def receive(self) -> wire.FromGuest | MarimoNotification:
        """The next message. Raises `LinkClosed` or `LinkBroken`."""
        while True:
            frame = self._take()
            if frame is not None:
                return self._decode(*frame)
            await self._fill()

    def close(self) -> None:
        """Give the socket back; whoever waits on it gets `LinkClosed`."""
        anyio.notify_closing(self._socket)
        self._socket.close()

    async def _send_frame(self, frame: bytes, descriptors: Sequence[int] = ()) -> None:
        if len(frame) - wire.HEADER.size > wire.MAX_FRAME_BYTES:
            raise ValueError(f"a frame of {len(frame)} bytes is over the cap")
        async with self._sending:
            view = memoryview(frame)
            while view:
                try:
                    sent = (
                        socket.send_fds(self._socket, [view], descriptors) if descriptors else self._socket.send(view)
                    )
                    view, descriptors = view[sent:], ()
                except BlockingIOError:
                    await anyio.wait_writable(self._socket)
                except OSError as error:
                    raise LinkClosed from error

    async def _fill(self) -> None:
        while True:
            try:
                chunk = self._socket.recv(_RECEIVE_BYTES)
                break
            except BlockingIOError:
                await self._readable()
            except OSError as error:
                raise LinkClosed from error
        if not chunk:
            raise LinkClosed
        self._bytes_left -= len(chunk)
        if self._bytes_left < 0:
            raise LinkBroken(f"more than {self._caps.bytes_per_request:,} bytes for one request", limit="output")
        self._buffer += chunk

    async def _readable(self) -> None:
        try:
            await anyio.wait_readable(self._socket)
        except (anyio.ClosedResourceError, ValueError) as error:
            raise LinkClosed from error

    def _take(self) -> tuple[int, bytes] | None:
        try:
            return wire.take_frame(self._buffer)
        except ValueError as error:
            raise LinkBroken(str(error)) from error

    def _decode(self, channel: int, body: bytes) -> wire.FromGuest | MarimoNotification:
        now = time.monotonic()
        refill = (now - self._refilled_at) * self._caps.frames_per_second
        self._frames_left = min(self._caps.burst_frames, self._frames_left + refill) - 1
        self._refilled_at = now
        if self._frames_left < 0:
            raise LinkBroken("too many frames")
        if channel == wire.MARIMO:
            return MarimoNotification(body=body)
        if channel != wire.TYPED:
            raise LinkBroken(f"an unknown channel {channel}")
        try:
            return _decoder.decode(body)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise LinkBroken(f"a malformed frame ({str(error)[:200]})") from error
