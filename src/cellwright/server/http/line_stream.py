"""Lines of a client both ways in one request: its lines are the body, which goes on, ours that of the answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

from starlette.types import Receive, Send

from cellwright.errors import Defect

MOST_BYTES: Final = 4 << 20
"""Of one line."""


class LineStream:
    """One client that a command of ours connects (`cli.daemon_pump`)."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send

    async def start(self) -> None:
        """The head of the answer."""
        headers = [(b"content-type", b"application/x-ndjson")]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        # The head alone is not sent before there is something of the body.
        await self._send({"type": "http.response.body", "body": b"", "more_body": True})

    async def lines(self) -> AsyncGenerator[bytes]:
        """What the client says, until it ends or says a line that is too long; empty lines are left out."""
        begun = bytearray()
        while (message := await self._receive())["type"] == "http.request":
            begun += message.get("body", b"")
            *lines, rest = bytes(begun).split(b"\n")
            begun = bytearray(rest)
            for line in filter(bytes.strip, lines):
                yield line
            if len(begun) > MOST_BYTES or not message.get("more_body", False):
                return

    async def write(self, line: bytes) -> None:
        """One line to the client, without its end. Raises `Defect` for more than one: the next would be a message."""
        if b"\n" in line or b"\r" in line:
            raise Defect("A message to a client has the end of a line in it.")
        await self._send({"type": "http.response.body", "body": line + b"\n", "more_body": True})
