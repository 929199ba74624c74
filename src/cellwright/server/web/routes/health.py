"""`/health`: whether the door is open, for anybody."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from cellwright.server.launching import package_version
from cellwright.server.web.gates import API_VERSION
from cellwright.server.web.house import House
from cellwright.server.web.page_build import is_built


class Health(BaseModel):
    """How the web door is."""

    model_config = ConfigDict(frozen=True)

    status: Literal["ok"]
    version: str
    """Of the package."""
    api: str
    """Of the API: what a client relies on stays as it is while this does."""
    page_built: bool
    editor_problem: str
    """Why notebooks cannot be shown in marimo's editor; empty: they can."""


def health_routes(house: House) -> APIRouter:
    """Health."""
    router = APIRouter(tags=["health"])

    @router.get("/health", operation_id="read_health", summary="Whether the door is open")
    async def read_health() -> Health:
        return Health(
            status="ok",
            version=package_version(),
            api=API_VERSION,
            page_built=is_built(),
            editor_problem=house.editor_problem,
        )

    return router
