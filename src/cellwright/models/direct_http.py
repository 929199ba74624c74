"""Straight to an endpoint over HTTP/1.1, with a fifth of the CPU that httpx's own transport takes for a short answer.

It stands under httpx's client and every SDK on top of that. Proxies are not its business: they go the usual way.
"""

from __future__ import annotations

import select
import ssl
from collections import defaultdict
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from functools import partial
from typing import Final, Protocol

import anyio
import httpx2
from anyio.abc import ByteStream, SocketAttribute

from cellwright.models.http_wire import Head, NotHttp, read_head, written

_READ_BYTES: Final = 1 << 16
_IDLE_SECONDS: Final = 5.0
"""Servers close idle connections when they like; a request on one that is just being closed is lost."""

_Origin = tuple[str, str, int]


class _PutBack(Protocol):
    """Takes a connection back once its answer was read, or left."""

    async def __call__(self, *, may_stay: bool) -> None: ...


class DirectTransport(httpx2.AsyncBaseTransport):
    """Connections to wherever requests go, each kept for the next request once its answer was read."""

    def __init__(self, trust: ssl.SSLContext, *, at_once: int, idle_at_most: int) -> None:
        trust.set_alpn_protocols(["http/1.1"])
        self._trust = trust
        self._idle = defaultdict[_Origin, list[_Connection]](list)
        self._idle_at_most = idle_at_most
        self._places = anyio.Semaphore(at_once, fast_acquire=True)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, its body still to be read. Raises httpx's errors."""
        url, limits = request.url, request.extensions.get("timeout", {})
        asked = await _written(request)
        origin = url.scheme, url.raw_host.decode("ascii"), url.port or (443 if url.scheme == "https" else 80)
        connection = await self._kept(origin) or await self._connected(origin, limits)
        try:
            with _as_httpx(httpx2.ReadTimeout, httpx2.ReadError), anyio.fail_after(limits.get("read")):
                head = await connection.exchange(asked, request.method)
        except BaseException:
            await connection.aclose()
            raise
        is_ascii = all(value.isascii() for _, value in head.lines)
        return httpx2.Response(
            head.status,
            # Said outright: it would be guessed anew each time that a line is looked up.
            headers=httpx2.Headers(head.lines, encoding="ascii" if is_ascii else None),
            stream=_Stream(connection, head, partial(self._put_back, origin, connection), limits.get("read")),
            extensions={"http_version": b"HTTP/1.1", "reason_phrase": head.reason},
        )

    async def aclose(self) -> None:
        """Close every connection that nobody is using."""
        for connections in self._idle.values():
            while connections:
                await connections.pop().aclose()

    async def _kept(self, origin: _Origin) -> _Connection | None:
        """The one used last, which is the most likely to be open still."""
        connections = self._idle[origin]
        while connections:
            connection = connections.pop()
            if connection.is_fresh:
                return connection
            await connection.aclose()
        return None

    async def _put_back(self, origin: _Origin, connection: _Connection, *, may_stay: bool) -> None:
        idle = self._idle[origin]
        if may_stay and len(idle) < self._idle_at_most:
            connection.rest()
            idle.append(connection)
        else:
            await connection.aclose()

    async def _connected(self, origin: _Origin, limits: dict[str, float | None]) -> _Connection:
        scheme, host, port = origin
        with _as_httpx(httpx2.PoolTimeout, httpx2.ConnectError), anyio.fail_after(limits.get("pool")):
            await self._places.acquire()
        try:
            with _as_httpx(httpx2.ConnectTimeout, httpx2.ConnectError), anyio.fail_after(limits.get("connect")):
                if scheme == "http":
                    stream: ByteStream = await anyio.connect_tcp(host, port)
                else:
                    stream = await anyio.connect_tcp(
                        host, port, tls=True, ssl_context=self._trust, tls_standard_compatible=False
                    )
        except BaseException:
            self._places.release()
            raise
        return _Connection(stream, self._places)


class _Connection:
    """One connection: a request and its answer at a time."""

    def __init__(self, stream: ByteStream, places: anyio.Semaphore) -> None:
        self._stream = stream
        self._places = places
        self._is_closed = False
        self._idle_since = anyio.current_time()
        self._news = select.poll()
        self._news.register(stream.extra(SocketAttribute.raw_socket), select.POLLIN)
        self.buffer = bytearray()
        """What was read and belongs to nobody yet."""

    @property
    def is_fresh(self) -> bool:
        """Whether another request may go over it. What comes unasked is the other side's farewell."""
        return anyio.current_time() - self._idle_since < _IDLE_SECONDS and not self._news.poll(0)

    async def exchange(self, asked: bytes, method: str) -> Head:
        """Send a request; how its answer begins."""
        try:
            await self._stream.send(asked)
        except anyio.BrokenResourceError:
            # Who refuses a request before it is whole may have said why.
            pass
        while (head := read_head(self.buffer, method)) is None:
            await self.read()
        return head

    async def read(self) -> None:
        """Some more into the buffer. Raises `anyio.EndOfStream`."""
        self.buffer += await self._stream.receive(_READ_BYTES)

    def rest(self) -> None:
        """From now on it is idle."""
        self._idle_since = anyio.current_time()

    async def aclose(self) -> None:
        """Once and for all, also while being cancelled."""
        if not self._is_closed:
            self._is_closed = True
            with anyio.CancelScope(shield=True):
                await self._stream.aclose()
            self._places.release()


class _Stream(httpx2.AsyncByteStream):
    """The body of an answer. Closed before its end, it closes the connection: the provider need not go on."""

    def __init__(self, connection: _Connection, head: Head, put_back: _PutBack, seconds: float | None) -> None:
        self._connection = connection
        self._head = head
        self._put_back = put_back
        self._seconds = seconds
        self._is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body, connection = self._head.body, self._connection
        while True:
            with _as_httpx(httpx2.ReadTimeout, httpx2.ReadError):
                piece = body.take(connection.buffer)
            if piece:
                yield piece
            if body.is_over:
                return
            try:
                with _as_httpx(httpx2.ReadTimeout, httpx2.ReadError), anyio.fail_after(self._seconds):
                    await connection.read()
            except httpx2.RemoteProtocolError:
                if not body.may_end:
                    raise
                return

    async def aclose(self) -> None:
        """Give the connection back for the next request, if it can carry one."""
        if not self._is_closed:
            self._is_closed = True
            is_over = self._head.body.is_over and not self._connection.buffer
            await self._put_back(may_stay=is_over and self._head.may_stay)


async def _written(request: httpx2.Request) -> bytes:
    if "transfer-encoding" in request.headers:
        raise httpx2.LocalProtocolError("Only a body of known length can be sent.")
    try:
        return written(request.method, request.url.raw_path, request.headers.raw, await request.aread())
    except NotHttp as problem:
        raise httpx2.LocalProtocolError(f"The request has {problem}.") from problem


@contextmanager
def _as_httpx(late: type[httpx2.TimeoutException], broken: type[httpx2.NetworkError]) -> Generator[None]:
    """What goes wrong here, as httpx says it."""
    try:
        yield
    except TimeoutError as error:
        raise late("It took too long.") from error
    except NotHttp as problem:
        raise httpx2.RemoteProtocolError(f"The server sent {problem}.") from problem
    except anyio.EndOfStream as error:
        raise httpx2.RemoteProtocolError("The server closed the connection before its answer was whole.") from error
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as error:
        raise broken(str(error) or "The connection was lost.") from error
