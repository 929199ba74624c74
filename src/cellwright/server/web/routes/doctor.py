"""`/doctor`: what this machine can do, what it cannot, and what follows from that."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import anyio
from fastapi import APIRouter, Depends

from cellwright.app.examination import Examination, examine
from cellwright.server.web.admission import needs
from cellwright.server.web.callers import Caller
from cellwright.server.web.house import House
from cellwright.server.web.shapes.shape import Shape

_FRESH_SECONDS: Final = 30
"""A look takes a second and a process: whoever asks again soon gets the last one."""


class Finding(Shape):
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str
    consequence: str
    """What follows if it is not well, or what to do."""


class Findings(Shape):
    """Everything that was looked at."""

    ok: bool
    """Whether notebooks can run contained."""
    tier: Literal["A", "B", "C", "D"]
    findings: list[Finding]


class _Doctor:
    """Looks once for everybody who asks at about the same time."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._turn = anyio.Lock()
        self._last: tuple[float, Findings] | None = None

    async def look(self) -> Findings:
        async with self._turn:
            if self._last is None or anyio.current_time() - self._last[0] > _FRESH_SECONDS:
                found = _findings(await examine(self._house.settings, launch=self._house.launch))
                self._last = (anyio.current_time(), found)
            return self._last[1]


def doctor_routes(house: House) -> APIRouter:
    """What `cellwright doctor` says."""
    router = APIRouter(tags=["settings"])
    doctor = _Doctor(house)

    @router.get("/doctor", operation_id="examine_machine", summary="What this machine can do, and what it lacks")
    async def examine_machine(_: Annotated[Caller, Depends(needs("read"))]) -> Findings:
        return await doctor.look()

    return router


def _findings(found: Examination) -> Findings:
    return Findings(
        ok=found.is_ok,
        tier=found.sandbox.tier,
        findings=[
            Finding(name=check.name, ok=check.is_ok, detail=check.detail, consequence=check.consequence)
            for check in found.checks
        ],
    )
