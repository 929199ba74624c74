"""The other end of `cellwright mcp` and `cellwright acp`: clients whose lines come over the daemon's socket."""

from __future__ import annotations

import importlib
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import anyio
import anyio.to_thread
from starlette.datastructures import Headers, QueryParams
from starlette.types import Receive, Scope, Send

from cellwright.errors import UserError
from cellwright.policy.masking.masker import Masker
from cellwright.server.daemon import messages
from cellwright.server.daemon.daemon import Daemon
from cellwright.server.executor import RunExecutor
from cellwright.server.http.auth.dependencies import CALLER
from cellwright.server.http.auth.tokens import ApiCaller
from cellwright.server.http.errors import Conflict
from cellwright.server.http.line_stream import LineStream
from cellwright.server.http.resources import ApiResources
from cellwright.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class LineClient:
    """A client that has come."""

    lines: LineStream
    caller: ApiCaller
    """Whoever started it."""
    folder: Path
    options: QueryParams
    resources_in: Callable[[Path], ApiResources]
    """What the API needs to work in a folder."""
    control_room: Callable[[], str]
    """Where a person answers else; empty: it is not open."""
    version: str


class LineClients:
    """Answers those of one protocol."""

    def __init__(
        self,
        daemon: Daemon,
        live: RunExecutor,
        settings: Settings,
        serve: Callable[[LineClient], Awaitable[None]],
    ) -> None:
        self._daemon = daemon
        self._live = live
        self._settings = settings
        self._serve = serve

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One client, until it ends or the daemon does. Raises `Conflict` for one of another version, `UserError`."""
        headers, own = Headers(scope=scope), self._daemon.version
        if (version := headers.get(messages.VERSION_HEADER, "")) != own.version:
            raise Conflict(f"The daemon is of version {own.version}, this is {version}.")
        folder = Path(unquote(headers.get(messages.FOLDER_HEADER, "")))
        if not folder.is_absolute() or not await anyio.to_thread.run_sync(folder.is_dir):
            raise UserError(f"{str(folder)!r} is not a folder.", hint="Start it in one that is there.")
        opened = await self._daemon.live_notebooks()

        def resources_in(folder: Path) -> ApiResources:
            masker = Masker.of(salt=secrets.token_bytes(16))
            return ApiResources(
                live=self._live,
                settings=self._settings,
                masker=masker,
                folder=folder,
                opened=opened,
                begins=self._daemon.starts,
            )

        client = LineClient(
            lines=LineStream(receive, send),
            caller=scope[CALLER],
            folder=folder,
            options=QueryParams(scope["query_string"]),
            resources_in=resources_in,
            control_room=lambda: self._daemon.web_origin,
            version=own.version,
        )
        async with anyio.create_task_group() as tasks:

            async def end() -> None:
                await self._daemon.wait_until_over()
                tasks.cancel_scope.cancel()

            tasks.start_soon(end)
            await self._serve(client)
            tasks.cancel_scope.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _serve_mcp(client: LineClient) -> None:
    # What answers it is loaded when the first one comes, here and below.
    await anyio.to_thread.run_sync(importlib.import_module, "cellwright.server.mcp.door")
    from cellwright.server.mcp.door import serve_stdio

    resources = client.resources_in(client.folder)
    await serve_stdio(resources, client.control_room, client.version, client.caller, client.lines)


async def _serve_acp(client: LineClient) -> None:
    await anyio.to_thread.run_sync(importlib.import_module, "cellwright.server.acp.agent")
    from cellwright.server.acp.agent import AcpHost, serve_acp

    host = AcpHost(
        resources_in=client.resources_in,
        starter=client.caller,
        control_room=client.control_room,
        version=client.version,
        models=tuple(client.options.getlist("model")),
        tools=tuple(client.options.getlist("tools")),
        budget_usd=client.options.get("budget"),
        is_marimo=client.options.get("client") == "marimo",
    )
    await serve_acp(host, client.lines)


LINE_CLIENTS: Final[Mapping[str, Callable[[LineClient], Awaitable[None]]]] = {
    messages.MCP_PATH: _serve_mcp,
    messages.ACP_PATH: _serve_acp,
}
"""Who is answered where."""
