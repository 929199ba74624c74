"""Where clients come in: `/mcp` of the web server, and a connection of `cellwright mcp`. Loads little by itself."""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus
from starlette.types import Receive, Scope, Send

from cellwright.remedies import remedy
from cellwright.server.http.application import api_application
from cellwright.server.http.auth.dependencies import CALLER
from cellwright.server.http.auth.tokens import ApiCaller
from cellwright.server.http.errors import NotAdmitted
from cellwright.server.http.line_stream import LineStream
from cellwright.server.http.resources import ApiResources

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


async def serve_stdio(
    resources: ApiResources, control_room: Callable[[], str], version: str, starter: ApiCaller, client: LineStream
) -> None:
    """A client that this person started: it may steer, and its person may answer; its model may not."""
    caller = replace(starter, scope="steer")
    await _load()
    from cellwright.server.mcp.lines import serve_lines
    from cellwright.server.mcp.protocol import McpHost, mcp_server

    host = McpHost(
        api=api_application(resources),
        caller_of=lambda _: caller,
        may_answer=lambda _: True,
        control_room=control_room,
        version=version,
    )
    await serve_lines(mcp_server(host), client)


@asynccontextmanager
async def open_mcp_door(resources: ApiResources, origin: str, version: str) -> AsyncGenerator[McpDoor]:
    """What answers at `/mcp`, until the block ends."""
    async with anyio.create_task_group() as tasks:
        yield McpDoor(resources=resources, origin=origin, version=version, tasks=tasks)
        tasks.cancel_scope.cancel()


@dataclass(slots=True, kw_only=True)
class McpDoor:
    """Streamable HTTP, behind the web server's gates: whoever is known, and each with the scope of their token."""

    resources: ApiResources
    origin: str
    version: str
    tasks: TaskGroup
    _sessions: StreamableHTTPSessionManager | None = None
    _opening: anyio.Lock = field(default_factory=anyio.Lock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request. Raises `NotAdmitted`."""
        caller = scope.get(CALLER)
        if not isinstance(caller, ApiCaller):
            raise NotAdmitted("A token is needed.", hint=remedy("get_admitted"))
        async with self._opening:
            if self._sessions is None:
                await _load()
                self._sessions = await self.tasks.start(self._hold)
        from cellwright.server.mcp.sessions import as_user

        # A session belongs to the token it was opened with.
        await self._sessions.handle_request({**scope, "user": as_user(caller)}, receive, send)

    async def _hold(self, *, task_status: TaskStatus[Any]) -> None:
        from cellwright.server.mcp.protocol import McpHost
        from cellwright.server.mcp.sessions import open_sessions

        host = McpHost(
            api=api_application(self.resources),
            caller_of=_caller_of_request,
            may_answer=lambda caller: caller.may("approve"),
            control_room=lambda: self.origin,
            version=self.version,
        )
        async with open_sessions(host) as sessions:
            task_status.started(sessions)
            await anyio.sleep_forever()


def _caller_of_request(context: Any) -> ApiCaller:
    return context.request.scope[CALLER]


async def _load() -> None:
    # A second of imports, which only somebody who comes pays, and nobody who is here waits for.
    await anyio.to_thread.run_sync(importlib.import_module, "cellwright.server.mcp.sessions")
