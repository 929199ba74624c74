"""The API on the daemon's socket: its own routes, and those that need the process that executes runs.

Whoever connects is this system user: the server checks that when it accepts the connection, before it reads a byte.
"""

from __future__ import annotations

import secrets
from typing import Protocol
from urllib.parse import unquote

from fastapi import APIRouter, FastAPI
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from cellwright.background import current_person
from cellwright.errors import RefusedByPolicy
from cellwright.policy import Masker
from cellwright.remedies import remedy
from cellwright.server.daemon.messages import (
    PERSON_HEADER,
    DaemonStatus,
    DaemonVersion,
    OpenWebBody,
    StartRunBody,
    StopDaemonBody,
    WebAddress,
    When,
)
from cellwright.server.executor import LiveRuns
from cellwright.server.http.addresses import API, WebOptions
from cellwright.server.http.auth.dependencies import CALLER, RunName, Steerer
from cellwright.server.http.auth.middleware import BodyLimitMiddleware, RequestLimits, ResponseMiddleware
from cellwright.server.http.auth.tokens import ApiCaller
from cellwright.server.http.problems import add_error_handlers
from cellwright.server.http.resources import ApiResources
from cellwright.server.http.routes.changes import changes_routes
from cellwright.server.http.routes.run_steering import add_steering
from cellwright.server.http.schemas import runs as shapes
from cellwright.settings import Settings


class DaemonControl(Protocol):
    """The daemon, as its own routes need it."""

    @property
    def version(self) -> DaemonVersion:
        """Which one it is."""
        ...

    async def status(self) -> DaemonStatus:
        """How it is doing."""
        ...

    def stop(self, when: When, why: str) -> None:
        """End now, or as soon as no run is at work."""
        ...

    async def open_web(self, options: WebOptions | None) -> WebAddress:
        """A fresh address; the web server is opened first if it is not open and there are options."""
        ...


def daemon_application(daemon: DaemonControl, live: LiveRuns, settings: Settings) -> FastAPI:
    """What commands reach over the socket."""
    resources = ApiResources(
        live=live,
        settings=settings,
        masker=Masker.of(salt=secrets.token_bytes(16)),
        # No route here reads a path relative to a folder.
        folder=settings.user_home,
    )
    app = FastAPI(title="Cellwright daemon", openapi_url=None, redirect_slashes=False)
    runs = APIRouter()
    _add_start(runs, live)
    add_steering(runs, resources)
    for router in (_daemon_routes(daemon), runs, changes_routes(resources)):
        app.include_router(router, prefix=API)
    add_error_handlers(app, str)
    app.add_middleware(BodyLimitMiddleware, limits=RequestLimits())
    app.add_middleware(LocalCallerMiddleware)
    app.add_middleware(ResponseMiddleware, mask=str)
    return app


class LocalCallerMiddleware:
    """Lets every request in as the person whose process sent it; never for a socket that others can reach."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request. Raises `RefusedByPolicy` for one that a browser sent for some page."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            if "origin" in headers:
                raise RefusedByPolicy("A page may not ask here.", hint=remedy("get_address"))
            person = unquote(headers.get(PERSON_HEADER, "")) or current_person()
            scope[CALLER] = ApiCaller(token="", person=person, scope="admin", interface="cli")
        await self._app(scope, receive, send)


def _daemon_routes(daemon: DaemonControl) -> APIRouter:
    router = APIRouter(prefix="/daemon")

    @router.get("/version")
    async def show_version() -> DaemonVersion:
        return daemon.version

    @router.get("")
    async def show_status() -> DaemonStatus:
        return await daemon.status()

    @router.post("/stop", status_code=204)
    async def stop_daemon(said: StopDaemonBody) -> None:
        daemon.stop(said.when, said.why)

    @router.post("/web")
    async def open_web(said: OpenWebBody) -> WebAddress:
        return await daemon.open_web(said.options)

    return router


def _add_start(router: APIRouter, live: LiveRuns) -> None:
    @router.put("/runs/{run}")
    async def start_run(_: Steerer, run: RunName, said: StartRunBody) -> shapes.RunName:
        return shapes.RunName(run=await live.start(said.goal, run=run, connection=said.connection))
