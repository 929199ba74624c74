"""The API on the daemon's socket: its own routes, and those that need the process that executes runs.

Whoever connects is this system user: the server checks that when it accepts the connection, before it reads a byte.
"""

from __future__ import annotations

import secrets
from urllib.parse import unquote

from fastapi import APIRouter, FastAPI
from starlette.datastructures import Headers
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from cellwright.background import current_person
from cellwright.errors import RefusedByPolicy
from cellwright.policy.masking.masker import Masker
from cellwright.remedies import remedy
from cellwright.server.daemon import messages
from cellwright.server.daemon.daemon import Daemon
from cellwright.server.daemon.line_clients import LINE_CLIENTS, LineClients
from cellwright.server.daemon.notebook_routes import notebook_routes
from cellwright.server.daemon.run_message import StartRunBody
from cellwright.server.executor import RunExecutor
from cellwright.server.http.addresses import API
from cellwright.server.http.auth.dependencies import CALLER, RunName, Steerer
from cellwright.server.http.auth.middleware import BodyLimitMiddleware, RequestLimits, ResponseMiddleware
from cellwright.server.http.auth.tokens import ApiCaller
from cellwright.server.http.problems import add_error_handlers
from cellwright.server.http.resources import ApiResources
from cellwright.server.http.routes import changes, research, run_events, run_steering
from cellwright.server.http.schemas import runs as shapes
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
        begins=daemon.starts,
    )
    runs = APIRouter()

    @runs.put("/runs/{run}")
    async def start_run(_: Steerer, run: RunName, said: StartRunBody) -> shapes.RunName:
        return shapes.RunName(run=await daemon.starts.begin(said.goal, run=run, connection=said.connection))

    notebooks = notebook_routes(daemon, live, settings)
    routers = (runs, run_events.router, notebooks, run_steering.router, research.router, changes.router)
    for router in (_daemon_routes(daemon), *routers):
        app.include_router(router, prefix=API)
    add_error_handlers(app, str)
    for path, serve in LINE_CLIENTS.items():
        app.router.routes.append(Route(path, LineClients(daemon, live, settings, serve), methods=["POST"]))
    app.add_middleware(BodyLimitMiddleware, limits=RequestLimits(), endless=frozenset(LINE_CLIENTS))
    app.add_middleware(LocalCallerMiddleware)
    app.add_middleware(ResponseMiddleware, mask=str)
    return app


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
