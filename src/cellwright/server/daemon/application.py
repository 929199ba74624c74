"""The API on the daemon's socket: its own routes, and those that need the process that executes runs.

Whoever connects is this system user: the server checks that when it accepts the connection, before it reads a byte.
"""

from __future__ import annotations

import importlib
import secrets
from pathlib import Path
from urllib.parse import unquote

import anyio
import anyio.to_thread
from fastapi import APIRouter, FastAPI
from starlette.datastructures import Headers
from starlette.responses import StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from cellwright.agents.drafts import DraftCursor
from cellwright.background import current_person
from cellwright.errors import RefusedByPolicy, UserError
from cellwright.journal.names import stream_of
from cellwright.policy.masking.masker import Masker
from cellwright.remedies import remedy
from cellwright.server.daemon import messages
from cellwright.server.daemon.daemon import Daemon
from cellwright.server.daemon.notebook_routes import notebook_routes
from cellwright.server.daemon.run_message import StartRunBody
from cellwright.server.executor import RunExecutor
from cellwright.server.http.addresses import API
from cellwright.server.http.auth.dependencies import CALLER, Reader, RunName, Steerer, check_run
from cellwright.server.http.auth.middleware import BodyLimitMiddleware, RequestLimits, ResponseMiddleware
from cellwright.server.http.auth.tokens import ApiCaller
from cellwright.server.http.errors import Conflict
from cellwright.server.http.problems import add_error_handlers
from cellwright.server.http.resources import ApiResources
from cellwright.server.http.routes import changes, run_steering
from cellwright.server.http.schemas import runs as shapes
from cellwright.server.http.sse import StreamPages, event_stream
from cellwright.settings import Settings


def daemon_application(daemon: Daemon, live: RunExecutor, settings: Settings) -> FastAPI:
    """What commands reach over the socket."""
    app = FastAPI(title="Cellwright daemon", openapi_url=None, redirect_slashes=False)
    app.state.resources = ApiResources(
        live=live,
        settings=settings,
        masker=Masker.of(salt=secrets.token_bytes(16)),
        # No route here reads a path relative to a folder.
        folder=settings.user_home,
    )
    runs = APIRouter()

    @runs.put("/runs/{run}")
    async def start_run(_: Steerer, run: RunName, said: StartRunBody) -> shapes.RunName:
        return shapes.RunName(run=await live.start(said.goal, run=run, connection=said.connection))

    pages = StreamPages(live.records.log)

    @runs.get("/runs/{run}/events")
    async def follow_run(_: Reader, run: RunName, after: int = 0) -> StreamingResponse:
        await check_run(app.state.resources, run)
        return event_stream(pages.follow(stream_of(run), after, DraftCursor(drafts=live.drafts, run=run)))

    notebooks = notebook_routes(daemon, live, settings)
    for router in (_daemon_routes(daemon), runs, notebooks, run_steering.router, changes.router):
        app.include_router(router, prefix=API)
    add_error_handlers(app, str)
    app.router.routes.append(Route(messages.MCP_PATH, McpLines(daemon, live, settings), methods=["POST"]))
    app.add_middleware(BodyLimitMiddleware, limits=RequestLimits(), endless=messages.MCP_PATH)
    app.add_middleware(LocalCallerMiddleware)
    app.add_middleware(ResponseMiddleware, mask=str)
    return app


class McpLines:
    """The other end of `cellwright mcp`."""

    def __init__(self, daemon: Daemon, live: RunExecutor, settings: Settings) -> None:
        self._daemon = daemon
        self._live = live
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One client, until it ends or the daemon does. Raises `Conflict` for one of another version, `UserError`."""
        headers, own = Headers(scope=scope), self._daemon.version
        if (version := headers.get(messages.VERSION_HEADER, "")) != own.version:
            raise Conflict(f"The daemon is of version {own.version}, this is {version}.")
        folder = Path(unquote(headers.get(messages.FOLDER_HEADER, "")))
        if not folder.is_absolute() or not await anyio.to_thread.run_sync(folder.is_dir):
            raise UserError(f"{str(folder)!r} is not a folder.", hint="Start it in one that is there.")
        # What answers it is loaded when the first one comes.
        await anyio.to_thread.run_sync(importlib.import_module, "cellwright.server.mcp.door")
        from cellwright.server.mcp.door import serve_stdio

        resources = ApiResources(
            live=self._live,
            settings=self._settings,
            masker=Masker.of(salt=secrets.token_bytes(16)),
            folder=folder,
            opened=await self._daemon.live_notebooks(),
        )
        async with anyio.create_task_group() as tasks:

            async def end() -> None:
                await self._daemon.wait_until_over()
                tasks.cancel_scope.cancel()

            tasks.start_soon(end)
            await serve_stdio(resources, lambda: self._daemon.web_origin, own.version, scope, receive, send)
            tasks.cancel_scope.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class LocalCallerMiddleware:
    """Lets every request in as the person whose process sent it; never for a socket that others can reach."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request. Raises `RefusedByPolicy` for one that a browser sent for some page."""
        headers = Headers(scope=scope)
        if "origin" in headers:
            raise RefusedByPolicy("A page may not ask here.", hint=remedy("get_address"))
        person = unquote(headers.get(messages.PERSON_HEADER, "")) or current_person()
        scope[CALLER] = ApiCaller(token="", person=person, scope="admin", interface="cli")
        await self._app(scope, receive, send)


def _daemon_routes(daemon: Daemon) -> APIRouter:
    router = APIRouter(prefix="/daemon")

    @router.get("/version")
    async def show_version() -> messages.DaemonVersion:
        return daemon.version

    @router.get("")
    async def show_status() -> messages.DaemonStatus:
        return await daemon.status()

    @router.post("/stop", status_code=204)
    async def stop_daemon(said: messages.StopDaemonBody) -> None:
        daemon.stop(said.when, said.why)

    @router.post("/web")
    async def open_web(said: messages.OpenWebBody) -> messages.WebAddress:
        return await daemon.open_web(said.options)

    return router
