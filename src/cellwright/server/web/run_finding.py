"""Which run a request means."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path

from cellwright.errors import UserError
from cellwright.journal import Records, RunStatus
from cellwright.journal.steering import known_run
from cellwright.runs.finding import RUN
from cellwright.server.web.admission import needs
from cellwright.server.web.callers import Caller
from cellwright.server.web.problems import Conflict, NotFound

RunName = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$", description="A run's name.")]
Reader = Annotated[Caller, Depends(needs("read"))]
Steerer = Annotated[Caller, Depends(needs("steer"))]
Approver = Annotated[Caller, Depends(needs("approve"))]


async def check_run(records: Records, run: str) -> None:
    """Raises `NotFound` if there is no such run."""
    try:
        row = await known_run(records, run)
    except UserError as problem:
        raise _no_run(run) from problem
    if row.name != RUN:
        raise _no_run(run)


async def status_of(records: Records, run: str) -> RunStatus:
    """How a run stands. Raises `NotFound`."""
    await check_run(records, run)
    return await records.status(run)


async def going_run(records: Records, run: str) -> RunStatus:
    """The same of one that goes on. Raises `NotFound`, `Conflict` if it has ended."""
    status = await status_of(records, run)
    if not status.is_going:
        raise Conflict(f"The run {run!r} is {status.standing} already.", hint="Resume, retry or fork it.")
    return status


def _no_run(run: str) -> NotFound:
    return NotFound(f"No run {run!r}.", hint="GET /runs lists them.")
