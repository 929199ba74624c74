"""The API with every router, and the web application: the same behind all middleware, with the page."""

from __future__ import annotations

from typing import Final

from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp

from cellwright.server.http.addresses import API, MCP, Addresses
from cellwright.server.http.auth.middleware import (
    API_VERSION,
    BodyLimitMiddleware,
    OriginMiddleware,
    RequestLimits,
    ResponseMiddleware,
    TokenMiddleware,
)
from cellwright.server.http.auth.tokens import ActiveRequests, TokenStore
from cellwright.server.http.problems import RESPONSES, add_error_handlers
from cellwright.server.http.resources import ApiResources
from cellwright.server.http.routes import (
    artifacts,
    attached,
    changes,
    connection_contents,
    connections,
    events,
    files,
    findings,
    health,
    models,
    news,
    notebook_edits,
    notebooks,
    onboarding,
    questions,
    research,
    run_events,
    run_steering,
    runs,
    session,
    settings,
    table_profiles,
    tool_servers,
    usage,
)
from cellwright.server.http.routes.page import page_routes

_ROUTERS: Final = (
    health.health_router,
    runs.router,
    run_steering.router,
    findings.router,
    research.router,
    changes.router,
    changes.branches_router,
    run_events.router,
    events.router,
    events.notebook_router,
    news.router,
    artifacts.router,
    attached.router,
    questions.router,
    notebooks.router,
    notebook_edits.router,
    notebooks.kernels_router,
    models.router,
    usage.router,
    files.router,
    settings.router,
    connections.router,
    connection_contents.router,
    table_profiles.router,
    tool_servers.router,
    health.doctor_router,
    onboarding.router,
    session.router,
)
"""Everything behind /api/v1."""


def api_application(resources: ApiResources) -> FastAPI:
    """The API alone: it asks nobody for a token, but takes for the caller whoever `CALLER` in the scope says."""
    app = FastAPI(
        title="Cellwright",
        summary="Watch, steer and trust runs.",
        version=API_VERSION,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.resources = resources
    for router in _ROUTERS:
        app.include_router(router, prefix=API, responses=RESPONSES)
    add_error_handlers(app, resources.mask)
    return app


def web_application(
    resources: ApiResources,
    tokens: TokenStore,
    addresses: Addresses,
    *,
    presence: ActiveRequests | None = None,
    limits: RequestLimits | None = None,
    mcp: ASGIApp | None = None,
) -> FastAPI:
    """The API, its document and the page. `presence` knows who is connected, `mcp` answers at `/mcp`."""
    limits, presence = limits or RequestLimits(), presence or ActiveRequests()
    app = api_application(resources)
    app.state.tokens = tokens
    if mcp is not None:
        app.router.routes.append(Route(MCP, mcp, include_in_schema=False))
    app.include_router(page_routes(), include_in_schema=False)
    # The last one added is the outermost.
    app.add_middleware(BodyLimitMiddleware, limits=limits)
    app.add_middleware(TokenMiddleware, tokens=tokens, presence=presence, limits=limits)
    app.add_middleware(OriginMiddleware, addresses=addresses)
    app.add_middleware(ResponseMiddleware, mask=resources.mask, editor_origin=addresses.editor_origin)
    return app
