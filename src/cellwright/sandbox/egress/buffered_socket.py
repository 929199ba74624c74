"""One connection, read and written without ever holding more than a bounded piece of it."""

from __future__ import annotations

import errno
import os
import socket
from contextlib import suppress

import anyio
import anyio.lowlevel

from cellwright.policy.hosts import Address

_PIECE = 64 << 10


class HttpViolation(Exception):
    """The other side does not keep to HTTP."""


class BufferedSocket:
    """A connected socket with what was read from it too early."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = sock
        self._early = bytearray()

    @classmethod
    async def connect(cls, address: Address, port: int) -> BufferedSocket:
        """A connection to exactly this address."""
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            line = cls(sock)
            code = sock.connect_ex((str(address), port))
            if code == errno.EINPROGRESS:
                await anyio.wait_writable(sock)
                code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                raise OSError(code, os.strerror(code))
        except BaseException:
            sock.close()
            raise
        return line

    def __enter__(self) -> BufferedSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing more is said or heard."""
        self._socket.close()

    @property
    def leads_to_itself(self) -> bool:
        """Whether both ends have the same address: then the other end is this machine."""
        return self._socket.getsockname()[0] == self._socket.getpeername()[0]

    async def receive(self, most: int = _PIECE) -> bytes:
        """Some bytes; none at all when the other side has ended."""
        # Bytes that are there already would otherwise let nobody else have a turn, nor any deadline pass.
        await anyio.lowlevel.checkpoint()
        if self._early:
            data = bytes(self._early[:most])
            del self._early[:most]
            return data
        return await self._read(most)

    async def _read(self, most: int) -> bytes:
        while True:
            try:
                return self._socket.recv(most)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)

    def give_back(self, data: bytes) -> None:
        """Read this again next."""
        self._early[:0] = data

    async def send(self, data: bytes) -> None:
        """All of it."""
        view = memoryview(data)
        while view:
            try:
                view = view[self._socket.send(view) :]
            except BlockingIOError:
                await anyio.wait_writable(self._socket)

    def send_now(self, data: bytes) -> None:
        """As much as goes without waiting."""
        with suppress(OSError):
            self._socket.send(data)

    async def wait_until_gone(self) -> None:
        """Until the other side has ended; for ever if it says something more first."""
        with suppress(OSError):
            if not self._early:
                self._early += await self._read(_PIECE)
        if self._early:
            await anyio.sleep_forever()

    def end_sending(self) -> None:
        """Nothing more will come from us."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            # It is gone already.
            return

    async def read_until(self, mark: bytes, *, most: int) -> bytes:
        """Everything before `mark`, which is taken too; empty when the other side ended before it began."""
        looked_at = 0
        while (end := self._early.find(mark, looked_at, most + len(mark))) < 0:
            if len(self._early) >= most + len(mark):
                raise HttpViolation(f"more than {most:,} bytes of headers")
            looked_at = max(0, len(self._early) - len(mark) + 1)
            piece = await self._read(_PIECE)
            if not piece:
                if self._early:
                    raise HttpViolation("it ended in the middle of a head")
                return b""
            self._early += piece
        data = bytes(self._early[:end])
        del self._early[: end + len(mark)]
        return data
