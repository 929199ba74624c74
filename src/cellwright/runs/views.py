"""Runs as plain JSON values: one line of many, and everything about one."""

from __future__ import annotations

import time
from typing import Any

from cellwright.journal import Records, RunStatus
from cellwright.policy import Masker
from cellwright.runs.asked import PAUSED, tell_open
from cellwright.runs.delivery import delivery_json
from cellwright.runs.finding import check_is_run
from cellwright.runs.outcome import delivery_of, read_picture
from cellwright.runs.picture import Picture
from cellwright.runs.telling import view_json


def run_line(status: RunStatus, picture: Picture) -> dict[str, Any]:
    """One run of many."""
    goal, delivery = picture.view.goal, delivery_of(status.standing, picture)
    began_ms = picture.began_ms or status.created_ms
    end_ms = picture.last_ms if delivery is not None else int(time.time() * 1000)
    return {
        "run": status.run,
        "status": _status(status, picture),
        "standing": status.standing,
        "stage": picture.view.stage,
        "goal": "" if goal is None else goal.words,
        "notebook": "" if goal is None else goal.notebook,
        "person": "" if goal is None else goal.person,
        "microdollars": picture.view.microdollars,
        "unpriced_tokens": picture.unpriced_tokens,
        "began_ms": began_ms,
        "seconds": max(0.0, (end_ms - began_ms) / 1000),
        "questions": len(status.questions),
    }


def _status(status: RunStatus, picture: Picture) -> str:
    """In one word, for whoever looks at many."""
    delivery = delivery_of(status.standing, picture)
    if delivery is not None:
        return delivery.status
    if status.questions:
        return "paused" if all(each.question.topic == PAUSED for each in status.questions) else "waiting"
    return picture.view.stage


async def run_view(records: Records, masker: Masker, run: str) -> dict[str, Any]:
    """Everything about one run. Raises `UserError`."""
    status = await records.status(run)
    check_is_run(run, status.name)
    return await view_of(records, masker, status, await read_picture(records, run))


async def view_of(records: Records, masker: Masker, status: RunStatus, picture: Picture) -> dict[str, Any]:
    """The same, for whoever has a picture of it."""
    delivery = delivery_of(status.standing, picture)
    return {
        **run_line(status, picture),
        **view_json(picture.view),
        "questions": await tell_open(records, masker, status.run, status.questions),
        "steps": len(status.steps),
        "agents": [each.workflow for each in status.children],
        "cost": picture.cost,
        "delivery": None if delivery is None else delivery_json(delivery),
    }
