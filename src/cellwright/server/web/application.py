"""The web application: every router behind every gate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fastapi import APIRouter, FastAPI

from cellwright.server.web.addresses import Addresses
from cellwright.server.web.gates import API, API_VERSION, Answers, Bodies, Doorway, Limits, Places
from cellwright.server.web.house import House
from cellwright.server.web.page import page_routes
from cellwright.server.web.presence import Presence
from cellwright.server.web.problems import RESPONSES, answer_problems
from cellwright.server.web.routes.artifacts import artifacts_routes
from cellwright.server.web.routes.branches import branches_routes
from cellwright.server.web.routes.changes import changes_routes
from cellwright.server.web.routes.doctor import doctor_routes
from cellwright.server.web.routes.events import events_routes
from cellwright.server.web.routes.files import files_routes
from cellwright.server.web.routes.health import health_routes
from cellwright.server.web.routes.kernels import kernels_routes
from cellwright.server.web.routes.models import models_routes
from cellwright.server.web.routes.notebooks import notebooks_routes
from cellwright.server.web.routes.onboarding import onboarding_routes
from cellwright.server.web.routes.questions import questions_routes
from cellwright.server.web.routes.runs import runs_routes
from cellwright.server.web.routes.session import session_routes
from cellwright.server.web.routes.settings import settings_routes
from cellwright.server.web.routes.usage import usage_routes
from cellwright.server.web.tokens import Tokens

_ROUTES: Final[tuple[Callable[[House], APIRouter], ...]] = (
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
"""Everything behind /api/v1 that is made from the house alone."""


def web_application(
    house: House,
    tokens: Tokens,
    addresses: Addresses,
    *,
    presence: Presence | None = None,
    limits: Limits | None = None,
) -> FastAPI:
    """The API, its document and the page. `presence` knows who is connected."""
    limits, presence = limits or Limits(), presence or Presence()
    app = FastAPI(
        title="Cellwright",
        summary="Watch, steer and trust runs.",
        version=API_VERSION,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    for router in (session_routes(tokens), *(make(house) for make in _ROUTES)):
        app.include_router(router, prefix=API, responses=RESPONSES)
    app.include_router(page_routes(), include_in_schema=False)
    answer_problems(app, house.masker)
    # The last one added is the outermost.
    app.add_middleware(Bodies, limits=limits)
    app.add_middleware(Doorway, tokens=tokens, presence=presence, limits=limits)
    app.add_middleware(Places, addresses=addresses)
    app.add_middleware(Answers, addresses=addresses, mask=lambda text: house.masker.mask(text).text)
    return app
