"""Runs as plain JSON values, and how those look: one line of many, and everything about one."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cellwright.cli import render
from cellwright.cli.run_outcome import check_is_run, delivery_of, read_picture
from cellwright.cli.run_picture import Picture, elapsed
from cellwright.cli.run_questions import PAUSED, tell_open
from cellwright.cli.run_render import plan_tree
from cellwright.journal import Records, RunStatus
from cellwright.policy import Masker
from cellwright.policy.shown import shown
from cellwright.runs.delivery import delivery_json
from cellwright.runs.plan import Plan, parse_plan
from cellwright.runs.telling import view_json

_data = Console(highlight=False)
_COLOURS = {"done": "green", "partial": "yellow", "failed": "red", "refused": "red", "stopped": "yellow"}
_MARKED = {"waiting": "bold yellow", "paused": "yellow"}


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
    """Everything about one run."""
    status = await records.status(run)
    check_is_run(run, status.name)
    picture = await read_picture(records, run)
    delivery = delivery_of(status.standing, picture)
    return {
        **run_line(status, picture),
        **view_json(picture.view),
        "questions": await tell_open(records, masker, run, status.questions),
        "steps": len(status.steps),
        "agents": [each.workflow for each in status.children],
        "cost": picture.cost,
        "delivery": None if delivery is None else delivery_json(delivery),
    }


# ── how it looks ──


def runs_table(found: Sequence[Mapping[str, Any]]) -> None:
    """One line per run, the newest first."""
    if not found:
        render.note('No runs. Start one: cellwright run "…".')
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("run", "status", "goal", "notebook", "time"):
        table.add_column(title, overflow="fold" if title != "goal" else "ellipsis", no_wrap=title == "goal")
    for run in found:
        status = str(run["status"])
        table.add_row(
            Text(run["run"]),
            Text(status, style=_COLOURS.get(status, _MARKED.get(status, "blue"))),
            Text(shown(run["goal"])),
            Text(shown(str(run["notebook"]).rpartition("/")[2])),
            Text(elapsed(run["seconds"])),
        )
    _data.print(table)


def run_page(found: Mapping[str, Any]) -> None:
    """How one run stands. What came of an ended one is printed by whoever hands it over."""
    _line(shown(str((found["goal"] or {}).get("words", found["run"]))), style="bold")
    _line(f"run {found['run']} · {found['status']} · {found['cost']} · {elapsed(found['seconds'])}", style="dim")
    if found["plan"] is not None:
        show_plan(parse_plan(found["plan"]))
    for name in ("cell", "waits"):
        if found[name]:
            _line(f"{name} {shown(found[name])}")


def show_plan(plan: Plan) -> None:
    """The tasks and how each stands, on stdout."""
    _data.print(plan_tree(plan))


def _line(text: str, *, style: str = "") -> None:
    _data.print(Text(text, style=style), soft_wrap=True)
