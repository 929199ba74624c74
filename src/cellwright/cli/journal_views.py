"""What the journal tells of runs, as plain JSON values: for `--json`, and for what is drawn from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from cellwright.errors import UserError
from cellwright.journal import Records, RunStatus, stream_of
from cellwright.journal.projections import Cost, Progress, cost, fold, progress, timeline
from cellwright.tools import audit_trail


def run_line(status: RunStatus, versions_at_work: Sequence[str]) -> dict[str, Any]:
    """One run of many, and whether it waits for code that no worker has any more."""
    is_stranded = status.is_going and bool(versions_at_work) and status.version not in versions_at_work
    return {**dataclasses.asdict(status), "is_stranded": is_stranded}


async def run_view(records: Records, run: str) -> dict[str, Any]:
    """Everything about one run. Raises `UserError` if nothing is kept of it."""
    events = [told async for told in records.log.read_all(stream_of(run))]
    try:
        status = run_line(await records.status(run), await records.versions_at_work())
    except UserError:
        # Events can outlive what the engine keeps, and rooms can tell of what no workflow did.
        if not events:
            raise
        status = {"run": run, "standing": "gone"}
    now = fold(progress, Progress(), events)
    return {
        **status,
        "progress": {
            "outcome": now.outcome,
            "tasks": [dataclasses.asdict(task) for task in now.tasks],
            "steps_done": now.steps_done,
            "steps_running": [list(step) for step in sorted(now.steps_running)],
        },
        "cost": dataclasses.asdict(fold(cost, Cost(), events)),
        "audit": [line.json() for line in audit_trail(events)],
        "timeline": [dataclasses.asdict(moment) for moment in fold(timeline, (), events)],
    }
