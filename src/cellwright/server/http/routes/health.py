"""`/health` and `/doctor`: whether the server answers, for anybody; what this machine can do and what it lacks."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated, Final, Literal

import anyio

from cellwright.app import doctor
from cellwright.app.doctor import DoctorReport
from cellwright.server.http.auth.dependencies import Reader
from cellwright.server.http.auth.middleware import API_VERSION
from cellwright.server.http.page_build import is_built
from cellwright.server.http.page_remedies import page_hint
from cellwright.server.http.resources import ApiResources, ApiRouter, Resources, shared
from cellwright.server.http.schemas.model import ResponseModel

health_router, doctor_router = ApiRouter(tags=["health"]), ApiRouter(tags=["settings"])


class Health(ResponseModel):
    """How the web door is."""

    status: Literal["ok"]
    version: str
    """Of the package."""
    api: str
    """Of the API: what a client relies on stays as it is while this does."""
    page_built: bool
    editor_problem: str
    """Why notebooks cannot be shown in marimo's editor; empty: they can."""


@health_router.get("/health")
async def read_health(resources: Resources) -> Health:
    """Whether the door is open."""
    return Health(
        status="ok",
        version=version("cellwright"),
        api=API_VERSION,
        page_built=is_built(),
        editor_problem=resources.editor_problem,
    )


_FRESH_SECONDS: Final = 30
"""A look takes a second and a process: whoever asks again soon gets the last one."""


class DoctorFinding(ResponseModel):
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str
    consequence: str
    """What follows if it is not well, or what to do."""


class Findings(ResponseModel):
    """Everything that was looked at."""

    ok: bool
    """Whether notebooks can run contained."""
    tier: Literal["A", "B", "C", "D"]
    findings: list[DoctorFinding]


class _Doctor:
    """Looks once for everybody who asks at about the same time."""

    def __init__(self, resources: ApiResources) -> None:
        self._resources = resources
        self._examining = anyio.Lock()
        self._last: tuple[float, Findings] | None = None

    async def look(self) -> Findings:
        async with self._examining:
            if self._last is None or anyio.current_time() - self._last[0] > _FRESH_SECONDS:
                found = _findings(await doctor.examine_machine(self._resources.settings, launch=self._resources.launch))
                self._last = (anyio.current_time(), found)
            return self._last[1]


@doctor_router.get("/doctor")
async def examine_machine(_: Reader, examination: Annotated[_Doctor, shared(_Doctor)]) -> Findings:
    """What this machine can do, and what it lacks."""
    return await examination.look()


def _findings(found: DoctorReport) -> Findings:
    return Findings(
        ok=found.is_ok,
        tier=found.sandbox.tier,
        findings=[
            DoctorFinding(
                name=check.name, ok=check.is_ok, detail=check.detail, consequence=page_hint(check.consequence)
            )
            for check in found.checks
        ],
    )
