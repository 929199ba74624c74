"""A statement's line in the audit: begun before anything is sent, ended with what came of it."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Literal

import anyio
import anyio.to_thread

from cellwright.data.broker.audit import StatementAudit
from cellwright.errors import CellwrightError


class UnsureOutcome(CellwrightError):
    """Something was sent, and nobody knows what came of it."""


@asynccontextmanager
async def recorded(
    audit: StatementAudit, begin: Callable[[], int], *, cut_off: Literal["cancelled", "unknown"] = "cancelled"
) -> AsyncGenerator[dict[str, Any]]:
    """Around what is sent; what is put into the yielded dict stands in the line. `begin` makes the line."""
    line, began, told = await uncut(begin), time.monotonic(), dict[str, Any]()
    try:
        yield told
    except BaseException as problem:
        is_known = isinstance(problem, CellwrightError) and not isinstance(problem, UnsureOutcome)
        why = problem.message[:500] if isinstance(problem, CellwrightError) else ""
        ended = partial(audit.end, line, "failed" if is_known else cut_off, why=why)
        await uncut(partial(ended, seconds=round(time.monotonic() - began, 3)))
        raise
    await uncut(partial(audit.end, line, "done", **({"seconds": round(time.monotonic() - began, 3)} | told)))


async def uncut(work: Callable[[], Any]) -> Any:
    """Blocking work, which a caller's leaving does not cut off."""
    with anyio.CancelScope(shield=True):
        return await anyio.to_thread.run_sync(work)
