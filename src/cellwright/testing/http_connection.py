"""HTTP/1.1 on one connection, plain enough to be broken on purpose at any byte."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote, urlsplit

import anyio
from anyio.abc import SocketAttribute, SocketStream

_HEAD_LIMIT_BYTES = 65_536


class ClientGone(Exception):
    """The client closed its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """One request as it came."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    def json(self) -> dict[str, Any] | None:
        """The object in its body; None if it is none."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return None
        return value if isinstance(value, dict) else None


class HttpConnection:
    """One client. Requests come one after the other; each is answered before the next is read."""

    def __init__(self, stream: SocketStream) -> None:
        self._stream = stream
        self._waiting = b""
        self._is_chunked = False

    async def next_request(self) -> HttpRequest | None:
        """The next request; None when the client has no more, or speaks no HTTP."""
        try:
            return await self._read_request()
        except (ClientGone, ValueError):
            return None

    async def respond(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """A whole response."""
        await self.begin(status, headers or {}, length=len(body))
        await self.send(body)
        await self.finish()

    async def begin(self, status: int, headers: Mapping[str, str], *, length: int | None = None) -> None:
        """The head of a response. Without a length the body comes in chunks."""
        self._is_chunked = length is None
        body = {"transfer-encoding": "chunked"} if length is None else {"content-length": str(length)}
        sent = {"content-type": "application/json"} | dict(headers) | body
        phrase = next((known.phrase for known in HTTPStatus if known == status), "Unknown")
        lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in sent.items())]
        await self._write("\r\n".join([*lines, "", ""]).encode("latin-1"))

    async def send(self, data: bytes) -> None:
        """A part of the body, in one write."""
        if not data:
            return
        await self._write(b"%x\r\n%b\r\n" % (len(data), data) if self._is_chunked else data)

    async def finish(self) -> None:
        """The end of the body."""
        if self._is_chunked:
            await self._write(b"0\r\n\r\n")

    async def wait_until_gone(self) -> None:
        """Returns when the client closes its end."""
        while True:
            try:
                self._waiting += await self._receive()
            except ClientGone:
                return

    async def close(self) -> None:
        """Close in good order, wherever the response is."""
        await self._stream.aclose()

    async def reset(self) -> None:
        """Close as if the cable were cut: the client sees a reset, not an end."""
        raw: socket.socket = self._stream.extra(SocketAttribute.raw_socket)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await self._stream.aclose()

    async def _read_request(self) -> HttpRequest:
        start, *lines = (await self._read_head()).decode("latin-1").split("\r\n")
        method, target, _ = start.split(" ", 2)
        pairs = (line.split(":", 1) for line in lines if line)
        headers = {name.strip().lower(): value.strip() for name, value in pairs}
        parts, body = urlsplit(target), await self._read_body(headers)
        return HttpRequest(method=method, path=unquote(parts.path), query=parts.query, headers=headers, body=body)

    async def _read_head(self) -> bytes:
        while (end := self._waiting.find(b"\r\n\r\n")) < 0:
            if len(self._waiting) > _HEAD_LIMIT_BYTES:
                raise ClientGone
            self._waiting += await self._receive()
        head, self._waiting = self._waiting[:end], self._waiting[end + 4 :]
        return head

    async def _read_body(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("expect", "").lower() == "100-continue":
            await self._write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return await self._read_chunks()
        return await self._take(int(headers.get("content-length", "0")))

    async def _read_chunks(self) -> bytes:
        body = b""
        while True:
            while (end := self._waiting.find(b"\r\n")) < 0:
                self._waiting += await self._receive()
            size, self._waiting = int(self._waiting[:end].split(b";")[0], 16), self._waiting[end + 2 :]
            body += await self._take(size)
            await self._take(2)
            if size == 0:
                return body

    async def _take(self, count: int) -> bytes:
        while len(self._waiting) < count:
            self._waiting += await self._receive()
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        return taken

    async def _receive(self) -> bytes:
        try:
            return await self._stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise ClientGone from None

    async def _write(self, data: bytes) -> None:
        try:
            await self._stream.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise ClientGone from None
