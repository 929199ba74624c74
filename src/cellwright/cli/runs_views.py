"""How runs look: one line of many, and everything about one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cellwright.cli import render
from cellwright.cli.run_render import plan_tree
from cellwright.policy.shown import shown
from cellwright.runs.picture import elapsed
from cellwright.runs.plan import Plan, parse_plan

_data = Console(highlight=False)
_COLOURS = {"done": "green", "partial": "yellow", "failed": "red", "refused": "red", "stopped": "yellow"}
_MARKED = {"waiting": "bold yellow", "paused": "yellow"}


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
    for name in ("cell", "waits", "files"):
        if found[name]:
            _line(f"{name} {shown(found[name])}")


def show_plan(plan: Plan) -> None:
    """The tasks and how each stands, on stdout."""
    _data.print(plan_tree(plan))


def _line(text: str, *, style: str = "") -> None:
    _data.print(Text(text, style=style), soft_wrap=True)
