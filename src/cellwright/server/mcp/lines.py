"""One client behind `cellwright mcp`, as the SDK's server knows one."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel.server import Server
from mcp.shared.message import SessionMessage

from cellwright.server.http.line_stream import LineStream


async def serve_lines(server: Server[Any], client: LineStream) -> None:
    """Until the client ends; whoever called this ends the answer."""
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    await client.start()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_write, from_server, client)
        tasks.start_soon(_read, client, to_server)
        async with to_client:
            await server.run(from_client, to_client, server.create_initialization_options())
        tasks.cancel_scope.deadline = anyio.current_time() + 1


async def _read(client: LineStream, to_server: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    async with to_server, aclosing(client.lines()) as lines:
        async for line in lines:
            await to_server.send(_parsed(line))


def _parsed(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as problem:
        return problem


async def _write(from_server: MemoryObjectReceiveStream[SessionMessage], client: LineStream) -> None:
    async with from_server:
        async for each in from_server:
            message = each.message.model_dump(mode="json", by_alias=True, exclude_unset=True)
            # As ASCII: readers there are that end a line at U+2028, and a lone surrogate is no UTF-8.
            await client.write(json.dumps(message).encode())
