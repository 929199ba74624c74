"""The socket on which a cell's request comes and its answer goes: one exchange, read strictly, with a deadline."""

from __future__ import annotations

import select
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

import anyio
import anyio.lowlevel
import h11

from cellwright.data.exchanges.requests import CellRequest
from cellwright.http_heads import end_to_end, in_short, read_message_head

MAX_HEAD: Final = 1 << 16
_END_OF_HEAD: Final = b"\r\n\r\n"
_PIECE: Final = 1 << 16
_LOOK_SECONDS: Final = 1.0
"""Between two looks at a client that said that it will say no more."""


_SETTLE_SECONDS: Final = 5.0


class ClientLeft(Exception):
    """The client hung up."""


class BadRequest(Exception):
    """What came is no clear request; the message says why."""


class ClientLine:
    """One exchange with a client."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._socket = connection
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
        self._early = b""
        """What came with the head and is the body's."""
        self._has_body = True
        """Until the head says otherwise."""
        self._body_read = anyio.Event()
        self.has_answered = False
        """A head was sent: nothing else can be said in its place."""
        self.received = 0
        """Bytes of the request's body."""

    async def request(self) -> CellRequest:
        """The head. Raises `BadRequest`, `ClientLeft`."""
        raw = await self._head()
        head = read_message_head(self._http, raw)
        if isinstance(head, str):
            raise BadRequest(head)
        assert isinstance(head, h11.Request)
        headers = end_to_end(head.headers.raw_items())
        plain = tuple((name.decode("ascii").lower(), value.decode("latin-1")) for name, value in headers)
        framing = {name: value for name, value in head.headers if name in {b"content-length", b"transfer-encoding"}}
        self._has_body = int(framing.get(b"content-length", b"0")) > 0 or b"transfer-encoding" in framing
        method, target = head.method.decode("ascii"), head.target.decode("latin-1")
        return CellRequest(method=method, target=target, headers=plain, has_body=self._has_body)

    async def body(self) -> AsyncIterator[bytes]:
        """The request's body, piece by piece. Raises `BadRequest`, `ClientLeft`."""
        if self._http.they_are_waiting_for_100_continue:
            await self._send(h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue"))
        while True:
            await anyio.lowlevel.checkpoint()
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                raise BadRequest(in_short(error)) from None
            if isinstance(event, h11.Data):
                self.received += len(event.data)
                yield bytes(event.data)
            elif event is h11.NEED_DATA:
                if not (data := await self._receive()):
                    raise ClientLeft
                self._http.receive_data(data)
            else:
                self._body_read.set()
                return

    async def answer(self, status: int, reason: bytes, headers: list[tuple[bytes, bytes]]) -> None:
        """The head of the answer; how its body ends is said by h11. Raises `ClientLeft`."""
        self.has_answered = True
        await self._send(h11.Response(status_code=status, reason=reason, headers=[*headers, (b"Connection", b"close")]))

    async def say(self, data: bytes) -> None:
        """A piece of the answer's body. Raises `ClientLeft`."""
        if data:
            await self._send(h11.Data(data=data))

    async def finish(self) -> None:
        """The end of the answer. Raises `ClientLeft`."""
        await self._send(h11.EndOfMessage())

    async def answer_text(self, status: int, why: str) -> None:
        """An answer of our own: the reason is in the status line, and is the body. Raises `ClientLeft`."""
        line = "".join(each if " " <= each <= "~" else "?" for each in why)[:500]
        text = f"{why}\n".encode()
        headers = [(b"Content-Type", b"text/plain; charset=utf-8"), (b"Content-Length", b"%d" % len(text))]
        await self.answer(status, line.encode("ascii"), headers)
        await self.say(text)
        await self.finish()

    async def left(self) -> None:
        """Until the client is gone. What it says beyond its request is not heard."""
        if self._has_body:
            # Until then whoever reads it hears it, too.
            await self._body_read.wait()
        try:
            while await self._receive():
                pass
        except ClientLeft:
            return
        # A client may say that it says no more, and still listen: one that does neither has hung up.
        look = select.poll()
        look.register(self._socket, 0)
        while True:
            if look.poll(0):
                return
            await anyio.sleep(_LOOK_SECONDS)

    async def settle(self) -> None:
        """Hear the rest of a body that nobody wants: a client that still writes would not read the answer."""
        if not self._has_body or self._body_read.is_set():
            return
        with anyio.move_on_after(_SETTLE_SECONDS), suppress(ClientLeft, OSError):
            self._socket.shutdown(socket.SHUT_WR)
            while await self._receive():
                pass

    def close(self) -> None:
        """Nothing more comes or goes."""
        self._socket.close()

    async def _head(self) -> bytes:
        early = bytearray()
        while (end := early.find(_END_OF_HEAD, 0, MAX_HEAD)) < 0:
            if len(early) >= MAX_HEAD:
                raise BadRequest(f"there are more than {MAX_HEAD:,} bytes of headers")
            if not (data := await self._receive()):
                raise ClientLeft
            early += data
        self._early = bytes(early[end + len(_END_OF_HEAD) :])
        return bytes(early[:end])

    async def _receive(self) -> bytes:
        if self._early:
            data, self._early = self._early, b""
            return data
        await anyio.lowlevel.checkpoint()
        while True:
            try:
                return self._socket.recv(_PIECE)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
            except OSError:
                raise ClientLeft from None

    async def _send(self, event: h11.Event) -> None:
        view = memoryview(self._http.send(event) or b"")
        while view:
            try:
                view = view[self._socket.send(view) :]
            except BlockingIOError:
                await anyio.wait_writable(self._socket)
            except OSError:
                raise ClientLeft from None
