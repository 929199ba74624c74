"""`cellwright runs branches`: what a run tried before it changed its notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.text import Text

from cellwright.cli.journal_options import DatabaseOption, JsonOption, KeyOption, with_records
from cellwright.cli.render import console
from cellwright.cli.runs.lookup import RunArgument, find_run
from cellwright.journal import Records
from cellwright.policy.display_text import shown
from cellwright.runs.views.branch_views import branch_view_json
from cellwright.runs.views.branches import open_choices, read_branch_views
from cellwright.runs.views.run_view import check_is_run

_COLOURS: Final = {"passed": "green", "failed": "red", "refused": "red", "lost": "red"}
_WIDTHS: Final = {"way": 8, "status": 7, "ms": 2, "kept": 5}
"""Of what is never folded: as wide as its longest word."""
_MARKS: Final = {"ok": "✓", "failed": "✗", "lost": "✗", "interrupted": "✗", "cancelled": "–"}


def branches(
    run: RunArgument, as_json: JsonOption = False, database: DatabaseOption = None, key: KeyOption = None
) -> None:
    """Show what a run tried in branches: how each was made, its outcome, which variables and files differ."""
    name, found = with_records(lambda records: _read(records, run), database, key)
    if as_json:
        console.as_json({"run": name, "branches": found})
    elif not found:
        console.note(f"The run {name} tried nothing in a branch.")
    else:
        branches_table(found)
        differences_table(found)
        _tell_waiting(name, found)


async def _read(records: Records, run: str) -> tuple[str, list[dict[str, Any]]]:
    status = await records.status(await find_run(records, run))
    check_is_run(status.run, status.name)
    choices = await open_choices(records, status.run)
    return status.run, [
        branch_view_json(branch, choices) for branch in (await read_branch_views(records, status.run)).values()
    ]


def _tell_waiting(run: str, found: Sequence[Mapping[str, Any]]) -> None:
    waiting = [branch for branch in found if branch["state"] == "waits"]
    if waiting:
        word = "branch waits" if len(waiting) == 1 else "branches wait"
        console.note(f"{len(waiting)} {word} for you: `cellwright inbox --run {run}` shows how to answer.")


def branches_table(found: Sequence[Mapping[str, Any]]) -> None:
    """One line per branch; those that were tried side by side stand together."""
    titles = ("branch", "purpose", "way", "status", "cells", "variables", "files", "ms", "kept")
    table = console.table(*titles, right=("ms",), whole=_WIDTHS)
    for title, column in zip(titles, table.columns, strict=True):
        column.min_width = _WIDTHS.get(title, len(title))
    for branch in found:
        cells = [f"{_MARKS.get(cell['status'], '·')} {shown(cell['name'] or cell['cell'])}" for cell in branch["cells"]]
        table.add_row(
            Text(shown(branch["branch"])),
            Text(shown(branch["purpose"])),
            Text(branch["way"] or "–"),
            Text(branch["status"], style=_COLOURS.get(branch["status"], "")),
            Text("\n".join(cells)),
            Text(", ".join(shown(variable["name"]) for variable in branch["variables"])),
            Text("\n".join(shown(path) for path in branch["files"])),
            Text(f"{branch['ms']:,.0f}"),
            _kept(branch),
        )
    console.results.print(table)
    for branch in found:
        by = f"{branch['state']} by {branch['decided_by']}" if branch["decided_by"] else ""
        said = [by, *(f"no fork: {reason}" for reason in branch["reasons"]), *_failures(branch), branch["note"]]
        for line in filter(None, said):
            console.line(f"{shown(branch['branch'])}: {shown(line)}", style="dim")


def differences_table(found: Sequence[Mapping[str, Any]]) -> None:
    """Each variable that a branch made another one, before and after."""
    table = console.table("branch", "variable", "before", "after")
    for branch in found:
        for variable in branch["variables"]:
            table.add_row(
                Text(shown(branch["branch"])),
                Text(shown(variable["name"])),
                Text(_lines(variable["before"]) or "not there"),
                Text(_lines(variable["after"]) or "gone"),
            )
    if table.row_count:
        console.results.print()
        console.results.print(table)


def _kept(branch: Mapping[str, Any]) -> Text:
    if branch["state"] == "waits":
        return Text("waits", style="yellow")
    return Text("yes", style="green") if branch["is_kept"] else Text("no", style="dim")


def _lines(text: str) -> str:
    return "\n".join(shown(line) for line in text.splitlines())


def _failures(branch: Mapping[str, Any]) -> list[str]:
    cells = [
        f"{cell['name'] or cell['cell']}: {cell['error'].splitlines()[0]}" for cell in branch["cells"] if cell["error"]
    ]
    failed = [check for check in branch["checks"] if not check["has_passed"]]
    return [*cells, *(": ".join(filter(None, ("check failed", each["check"], each["detail"]))) for each in failed)]
