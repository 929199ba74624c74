"""The way to a server at an address: through an egress of its own that lets nothing through but that host.

The address is looked at before it is connected to, as for a notebook; no redirect leads elsewhere; an answer has a
limit.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio
import httpx2

from cellwright.kernel.task_groups import unwrap_single_error
from cellwright.sandbox.egress import Egress
from cellwright.tools.mcp.server_line import ServerLine

_MOST_BYTES: Final = 64 << 20
"""Of one answer, a stream of events as a whole."""
_CONNECT_SECONDS: Final = 20.0
_READ_SECONDS: Final = 600.0


class AnswerTooLong(httpx2.TransportError):
    """The server sent more than one answer may have."""


@asynccontextmanager
async def http_client(
    egress: Egress, certificates: Path | None, token: str, told: ServerLine
) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client whose only way is this egress; `token` goes with every request."""
    listener = socket.create_server(("127.0.0.1", 0))
    proxy = f"http://127.0.0.1:{listener.getsockname()[1]}"
    trust = ssl.create_default_context()
    if certificates is not None:
        trust.load_verify_locations(certificates)
    with unwrap_single_error():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(egress.serve, listener)
            transport = _BoundedTransport(httpx2.AsyncHTTPTransport(verify=trust, proxy=proxy, trust_env=False), told)
            async with httpx2.AsyncClient(
                transport=transport,
                headers={"authorization": f"Bearer {token}"} if token else {},
                timeout=httpx2.Timeout(_READ_SECONDS, connect=_CONNECT_SECONDS),
                follow_redirects=False,
                trust_env=False,
            ) as client:
                yield client
            tasks.cancel_scope.cancel()


class _BoundedTransport(httpx2.AsyncBaseTransport):
    def __init__(self, inner: httpx2.AsyncHTTPTransport, told: ServerLine) -> None:
        self._inner = inner
        self._told = told

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        # What a bomb unpacks to is not in what was counted.
        request.headers["accept-encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _BoundedStream(response.stream, self._told)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, told: ServerLine) -> None:
        self._inner = inner
        self._told = told

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._inner:
            size += len(piece)
            if size > _MOST_BYTES:
                self._told.why = f"it sent more than {_MOST_BYTES >> 20} MB in one answer, and was left"
                raise AnswerTooLong(self._told.why)
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
