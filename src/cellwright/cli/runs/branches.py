"""`cellwright runs branches`: what a run tried before it changed its notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import anyio
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cellwright.cli.journal_options import DatabaseOption, JsonOption, KeyOption, open_records
from cellwright.cli.render import console
from cellwright.cli.runs.lookup import RunArgument, find_run
from cellwright.policy.display_text import shown
from cellwright.runs.views.branch_views import branch_view_json
from cellwright.runs.views.branches import open_choices, read_branch_views
from cellwright.runs.views.run_view import check_is_run

_data = Console(highlight=False)
_COLOURS: Final = {"passed": "green", "failed": "red", "refused": "red", "lost": "red"}
_WIDTHS: Final = {"way": 8, "status": 7, "ms": 2, "kept": 5}
"""Of what is never folded: as wide as its longest word."""
_MARKS: Final = {"ok": "✓", "failed": "✗", "lost": "✗", "interrupted": "✗", "cancelled": "–"}


def branches(
    run: RunArgument, as_json: JsonOption = False, database: DatabaseOption = None, key: KeyOption = None
) -> None:
    """Show what a run tried in branches: how each was made, its outcome, which variables and files differ."""
    name, lanes = anyio.run(_read, run, database, key)
    if as_json:
        console.as_json({"run": name, "branches": lanes})
    elif not lanes:
        console.note(f"The run {name} tried nothing in a branch.")
    else:
        branches_table(lanes)
        differences_table(lanes)
        _tell_waiting(name, lanes)


async def _read(run: str, database: str | None, key: Path | None) -> tuple[str, list[dict[str, Any]]]:
    async with open_records(database, key) as records:
        status = await records.status(await find_run(records, run))
        check_is_run(status.run, status.name)
        choices = await open_choices(records, status.run)
        return status.run, [
            branch_view_json(lane, choices) for lane in (await read_branch_views(records, status.run)).lanes
        ]


def _tell_waiting(run: str, lanes: Sequence[Mapping[str, Any]]) -> None:
    waiting = [lane for lane in lanes if lane["state"] == "waits"]
    if waiting:
        word = "branch waits" if len(waiting) == 1 else "branches wait"
        console.note(f"{len(waiting)} {word} for you: `cellwright inbox --run {run}` shows how to answer.")


def branches_table(lanes: Sequence[Mapping[str, Any]]) -> None:
    """One line per branch; those that were tried side by side stand together."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("branch", "purpose", "way", "status", "cells", "variables", "files", "ms", "kept"):
        table.add_column(
            title,
            overflow="fold",
            min_width=_WIDTHS.get(title, len(title)),
            no_wrap=title in _WIDTHS,
            justify="right" if title == "ms" else "left",
        )
    for lane in lanes:
        table.add_row(
            Text(shown(lane["branch"])),
            Text(shown(lane["purpose"])),
            Text(lane["way"] or "–"),
            Text(lane["status"], style=_COLOURS.get(lane["status"], "")),
            Text("\n".join(_cell(cell) for cell in lane["cells"])),
            Text(", ".join(shown(variable["name"]) for variable in lane["variables"])),
            Text("\n".join(shown(path) for path in lane["files"])),
            Text(f"{lane['ms']:,.0f}"),
            _kept(lane),
        )
    _data.print(table)
    for lane in lanes:
        by = f"{lane['state']} by {lane['decided_by']}" if lane["decided_by"] else ""
        said = [by, *(f"no fork: {reason}" for reason in lane["reasons"]), *_failures(lane), lane["note"]]
        for line in filter(None, said):
            _data.print(Text(f"{shown(lane['branch'])}: {shown(line)}", style="dim"), soft_wrap=True)


def differences_table(lanes: Sequence[Mapping[str, Any]]) -> None:
    """Each variable that a branch made another one, before and after."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("branch", "variable", "before", "after"):
        table.add_column(title, overflow="fold")
    for lane in lanes:
        for variable in lane["variables"]:
            table.add_row(
                Text(shown(lane["branch"])),
                Text(shown(variable["name"])),
                Text(_lines(variable["before"]) or "not there"),
                Text(_lines(variable["after"]) or "gone"),
            )
    if table.row_count:
        _data.print()
        _data.print(table)


def _kept(lane: Mapping[str, Any]) -> Text:
    if lane["state"] == "waits":
        return Text("waits", style="yellow")
    return Text("yes", style="green") if lane["is_kept"] else Text("no", style="dim")


def _cell(cell: Mapping[str, Any]) -> str:
    return f"{_MARKS.get(cell['status'], '·')} {shown(cell['name'] or cell['cell'])}"


def _lines(text: str) -> str:
    return "\n".join(shown(line) for line in text.splitlines())


def _failures(lane: Mapping[str, Any]) -> list[str]:
    cells = [
        f"{cell['name'] or cell['cell']}: {cell['error'].splitlines()[0]}" for cell in lane["cells"] if cell["error"]
    ]
    failed = [check for check in lane["checks"] if not check["has_passed"]]
    return [*cells, *(": ".join(filter(None, ("check failed", each["check"], each["detail"]))) for each in failed)]
