"""A server's standard input and output as the streams of an MCP client. Each line is hostile: bounded, then decoded."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import anyio
from anyio.abc import ByteStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from cellwright.kernel.process.live_program import LAST_WORDS
from cellwright.kernel.task_groups import unwrap_single_error
from cellwright.policy.display_text import shown_block
from cellwright.tools.mcp.server_line import ServerLine

LONGEST_MESSAGE: Final = 8 << 20
"""Bytes of one message; a longer one ends the connection."""
_MOST_BYTES: Final = 64 << 20
"""Of all messages between two of ours: one that talks without end is ended."""
_MOST_JUNK_LINES: Final = 1_000
"""Programs print what is no message; some of that is borne."""
_PIECE_BYTES: Final = 1 << 16
_SAID: Final = 1_500

Streams = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception],
    MemoryObjectSendStream[SessionMessage],
]


@dataclass(slots=True)
class CagedLine:
    """The line to one server, and why it ended."""

    line: ByteStream
    told: ServerLine
    _since_ours: int = 0
    _junk: int = 0

    def transport(self) -> AbstractAsyncContextManager[Streams]:
        """For an MCP client, once."""
        return self._open()

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[Streams]:
        arriving, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        sent, leaving = anyio.create_memory_object_stream[SessionMessage](0)
        with unwrap_single_error():
            async with arriving, received, sent, leaving, anyio.create_task_group() as tasks:
                tasks.start_soon(self._receive, arriving)
                tasks.start_soon(self._send, leaving, arriving)
                yield received, sent
                tasks.cancel_scope.cancel()

    async def _receive(self, arriving: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        rest = bytearray()
        async with arriving:
            try:
                while not self.told.why:
                    piece = await self.line.receive(_PIECE_BYTES)
                    self._since_ours += len(piece)
                    *lines, last = (bytes(rest) + piece).split(b"\n") if b"\n" in piece else (rest + piece,)
                    rest = bytearray(last)
                    for line in lines:
                        if (message := self._read(line)) is not None:
                            await arriving.send(message)
                    self._check(len(rest))
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
                self.told.why = self.told.why or "it has ended"

    def _check(self, pending: int) -> None:
        if pending > LONGEST_MESSAGE:
            self.told.why = f"it sent a message of more than {LONGEST_MESSAGE >> 20} MB, and was ended"
        elif self._since_ours > _MOST_BYTES:
            self.told.why = f"it sent more than {_MOST_BYTES >> 20} MB and no answer, and was ended"
        elif self._junk > _MOST_JUNK_LINES:
            self.told.why = "it prints what is no message, and was ended"

    def _read(self, line: bytes) -> SessionMessage | None:
        if line.startswith(LAST_WORDS):
            self.told.why = self.told.why or _ended(line[1:])
            return None
        if not line.strip():
            return None
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError:
            self._junk += 1
            return None

    async def _send(
        self,
        leaving: MemoryObjectReceiveStream[SessionMessage],
        arriving: MemoryObjectSendStream[SessionMessage | Exception],
    ) -> None:
        try:
            async for message in leaving:
                self._since_ours = 0
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await self.line.send(text.encode() + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            # Else a request would wait for an answer that cannot come.
            await arriving.aclose()


def _ended(said: bytes) -> str:
    """How a program ended, in words; they are its own and prove nothing."""
    try:
        told: Any = json.loads(said)
        code, words = int(told["exit"]), str(told["said"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return "it has ended"
    how = f"with exit code {code}" if code >= 0 else f"by signal {-code}"
    return f"it has ended {how}" + (f", saying: {shown_block(words.strip()[-_SAID:])}" if words.strip() else "")
