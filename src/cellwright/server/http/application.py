"""The web application: every router behind all middleware."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fastapi import APIRouter, FastAPI

from cellwright.server.http.addresses import API, Addresses
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
from cellwright.server.http.routes.artifacts import artifacts_routes
from cellwright.server.http.routes.changes import branches_routes, changes_routes
from cellwright.server.http.routes.events import events_routes
from cellwright.server.http.routes.files import files_routes
from cellwright.server.http.routes.health import doctor_routes, health_routes
from cellwright.server.http.routes.models import models_routes
from cellwright.server.http.routes.notebooks import kernels_routes, notebooks_routes
from cellwright.server.http.routes.onboarding import onboarding_routes
from cellwright.server.http.routes.page import page_routes
from cellwright.server.http.routes.questions import questions_routes
from cellwright.server.http.routes.runs import runs_routes
from cellwright.server.http.routes.session import session_routes
from cellwright.server.http.routes.settings import settings_routes
from cellwright.server.http.routes.usage import usage_routes

_ROUTES: Final[tuple[Callable[[ApiResources], APIRouter], ...]] = (
    health_routes,
    runs_routes,
    changes_routes,
    branches_routes,
    events_routes,
    artifacts_routes,
    questions_routes,
    notebooks_routes,
    kernels_routes,
    models_routes,
    usage_routes,
    files_routes,
    settings_routes,
    doctor_routes,
    onboarding_routes,
)
"""Everything behind /api/v1 that is made from the resources alone."""


def web_application(
    resources: ApiResources,
    tokens: TokenStore,
    addresses: Addresses,
    *,
    presence: ActiveRequests | None = None,
    limits: RequestLimits | None = None,
) -> FastAPI:
    """The API, its document and the page. `presence` knows who is connected."""
    limits, presence = limits or RequestLimits(), presence or ActiveRequests()
    app = FastAPI(
        title="Cellwright",
        summary="Watch, steer and trust runs.",
        version=API_VERSION,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    for router in (session_routes(tokens), *(make(resources) for make in _ROUTES)):
        app.include_router(router, prefix=API, responses=RESPONSES)
    app.include_router(page_routes(), include_in_schema=False)

    def mask(text: str) -> str:
        return resources.masker.mask(text).text

    add_error_handlers(app, mask)
    # The last one added is the outermost.
    app.add_middleware(BodyLimitMiddleware, limits=limits)
    app.add_middleware(TokenMiddleware, tokens=tokens, presence=presence, limits=limits)
    app.add_middleware(OriginMiddleware, addresses=addresses)
    app.add_middleware(ResponseMiddleware, mask=mask, editor_origin=addresses.editor_origin)
    return app
