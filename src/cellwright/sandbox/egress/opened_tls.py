"""The inside of a TLS connection that ends here, read and written like any other connection."""

from __future__ import annotations

import ssl
from contextlib import suppress
from typing import Final

import anyio
import anyio.lowlevel

from cellwright.sandbox.egress.buffered_socket import BufferedSocket

_RECORD: Final = 16 << 10


class OpenedTls(BufferedSocket):
    """What a client says inside its TLS connection. Made by `accept`; the outer connection stays the caller's."""

    def __init__(self, outer: BufferedSocket, context: ssl.SSLContext) -> None:
        self._outer = outer
        self._early = bytearray()
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        # A read may have to answer while somebody else writes: what goes out must not be mixed.
        self._sending = anyio.Lock()

    @classmethod
    async def accept(cls, outer: BufferedSocket, context: ssl.SSLContext) -> OpenedTls:
        """Greet the client as the host of this context. Raises `ssl.SSLError`, and `OSError` when it leaves."""
        line = cls(outer, context)
        while True:
            try:
                line._tls.do_handshake()
            except ssl.SSLWantReadError:
                await line._flush()
                if not await line._fill():
                    raise ConnectionError("it hung up in the middle of the TLS greeting") from None
            except ssl.SSLError:
                # The client is told why, as an alert.
                with suppress(OSError):
                    await line._flush()
                raise
            else:
                await line._flush()
                return line

    async def _read(self, most: int) -> bytes:
        while True:
            await anyio.lowlevel.checkpoint()
            try:
                return self._tls.read(most)
            except ssl.SSLWantReadError:
                await self._flush()
                if not await self._fill():
                    return b""
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return b""

    async def send(self, data: bytes) -> None:
        """All of it."""
        view = memoryview(data)
        while view:
            view = view[self._tls.write(view[:_RECORD]) :]
            await self._flush()

    def end_sending(self) -> None:
        """Nothing more will come from us."""
        # It waits for the other side's farewell, which we do not need; ours is written then.
        with suppress(ssl.SSLError, ValueError):
            self._tls.unwrap()
        self._outer.send_now(self._outgoing.read())
        self._outer.end_sending()

    async def _fill(self) -> bool:
        data = await self._outer.receive()
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()
        return bool(data)

    async def _flush(self) -> None:
        if not self._outgoing.pending:
            return
        async with self._sending:
            while data := self._outgoing.read():
                await self._outer.send(data)
