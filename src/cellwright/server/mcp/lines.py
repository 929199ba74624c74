"""One client behind `cellwright mcp`: its lines are the body of a request that goes on, ours that of the answer."""

from __future__ import annotations

from typing import Any, Final

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel.server import Server
from mcp.shared.message import SessionMessage
from starlette.types import Receive, Send

_MOST_BYTES: Final = 4 << 20
"""Of one line."""


async def serve_lines(server: Server[Any], receive: Receive, send: Send) -> None:
    """Until the client ends; whoever called this ends the answer."""
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/x-ndjson")]})
    # The head alone is not sent before there is something of the body.
    await send({"type": "http.response.body", "body": b"", "more_body": True})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_write, from_server, send)
        tasks.start_soon(_read, receive, to_server)
        async with to_client:
            await server.run(from_client, to_client, server.create_initialization_options())
        tasks.cancel_scope.deadline = anyio.current_time() + 1


async def _read(receive: Receive, to_server: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    begun = bytearray()
    async with to_server:
        while (message := await receive())["type"] == "http.request":
            begun += message.get("body", b"")
            *lines, rest = bytes(begun).split(b"\n")
            begun = bytearray(rest)
            for line in filter(bytes.strip, lines):
                await to_server.send(_parsed(line))
            if len(begun) > _MOST_BYTES or not message.get("more_body", False):
                return


def _parsed(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as problem:
        return problem


async def _write(from_server: MemoryObjectReceiveStream[SessionMessage], send: Send) -> None:
    async with from_server:
        async for each in from_server:
            line = each.message.model_dump_json(by_alias=True, exclude_unset=True)
            await send({"type": "http.response.body", "body": line.encode() + b"\n", "more_body": True})
