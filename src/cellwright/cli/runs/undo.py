"""`cellwright runs undo|redo`: what a run did to its notebook is taken back, cell by cell, or the last undo of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, assert_never

import anyio
import anyio.to_thread
import typer

from cellwright.background import running_pid
from cellwright.cli.journal_options import JsonOption, open_records
from cellwright.cli.render import console, run_output
from cellwright.cli.runs.lookup import RunArgument, find_run
from cellwright.cli.terminal_input import person_here
from cellwright.errors import UserError
from cellwright.runs.views.run_view import check_is_run, read_view
from cellwright.server import connect
from cellwright.server.daemon.launch import daemon_at
from cellwright.settings import Settings

if TYPE_CHECKING:
    from cellwright.tools.history.moves import HistoryOutcome

REFUSED: Final = 3


def undo(
    run: RunArgument,
    step: Annotated[
        int | None, typer.Option("--step", min=1, metavar="N", help="Only this change; default: all of the run's.")
    ] = None,
    before: Annotated[
        str | None,
        typer.Option("--before", metavar="CELL", help="Of a run at work: all as it was right before this cell ran."),
    ] = None,
    show_changes: Annotated[bool, typer.Option("--list", help="Only list the changes and their numbers.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Take back what a run did to its notebook; what somebody changed since stays theirs, and is said."""
    if show_changes:
        name, changes = anyio.run(_changes, run)
        lines = [
            f"{each['number']}  {', '.join(each['cells'])}, {each['agent']}{' (undone)' if each['is_undone'] else ''}"
            for each in changes
        ]
        view = {"run": name, "changes": changes}
        console.result(view, as_json, lambda _: run_output.lines(lines or ["The run changed no cells."]))
        return
    if step is not None and before is not None:
        raise UserError("--step takes back a change, --before goes to before a cell.", hint="Give one of them.")
    target, outcome = anyio.run(_move, run, step, before, False)
    _print(target, outcome, is_redo=False, as_json=as_json)


def redo(run: RunArgument, as_json: JsonOption = False) -> None:
    """Take back the last undo: what it undid is in the notebook again. Not if somebody changed that since."""
    target, outcome = anyio.run(_move, run, None, None, True)
    _print(target, outcome, is_redo=True, as_json=as_json)


def _print(target: UndoTarget, outcome: HistoryOutcome, *, is_redo: bool, as_json: bool) -> None:
    """Exit 3 if it was refused; nothing left to undo or redo is no failure."""
    from cellwright.runs.history.history import REDO_HINT
    from cellwright.tools.history.moves import RESTORE_TEXTS, Moved, MoveRefused, NothingToMove

    said: dict[str, Any] = {"run": target.run, "notebook": str(target.notebook)}
    lines: list[str] = []
    list_hint = f"hint: `cellwright runs undo {target.run} --list` shows its changes."
    match outcome:
        case Moved(revisions=revisions, cells=cells, kept=kept, by=by):
            said |= (
                {"cells": cells, "by": by} if is_redo else {"turns": revisions, "cells": cells, "kept": kept, "by": by}
            )
            lines = [*cells, *(f"kept {each}" for each in kept)]
            notes = [f"{'Redone' if is_redo else 'Undone'} in {target.notebook}. {RESTORE_TEXTS[by]}"]
        case NothingToMove(why=why):
            said |= {"cells": [], "why": why} | ({"by": None} if is_redo else {"turns": [], "kept": []})
            notes = [why, *([list_hint] if is_redo else [])]
        case MoveRefused(why=why):
            said |= {"refused": why}
            notes = [f"{why} Nothing was changed.", f"hint: {REDO_HINT}" if is_redo else list_hint]
        case _:
            assert_never(outcome)
    if as_json:
        console.as_json(said)
    else:
        run_output.lines(lines)
        for note in notes:
            console.note(note)
    raise typer.Exit(REFUSED if "refused" in said else 0)


# What knows of cells is loaded when it is used: the other commands about runs must not wait for it.


async def _move(run: str, step: int | None, before: str | None, is_redo: bool) -> tuple[UndoTarget, HistoryOutcome]:
    from cellwright.runs.history.history import FileHistory, before_cell, undo_target
    from cellwright.tools.history.moves import Redo

    target, person = await _undo_target(run), person_here().name
    if not target.is_going:
        undone = before_cell(before, run=target.run, person=person) if before is not None else undo_target(step)
        history = FileHistory(notebook=target.notebook, stored=target.timeline)
        return target, await history.move(Redo() if is_redo else undone)
    settings = Settings.read()
    if await anyio.to_thread.run_sync(running_pid, daemon_at(settings.home)) is None:
        raise UserError(
            f"The run {target.run!r} is still at work on its notebook, in a process that cannot be reached.",
            hint=f"Wait for its end, or `cellwright runs cancel {target.run}` first.",
        )
    async with connect(settings, on_note=console.note) as daemon:
        if is_redo:
            return target, await daemon.redo(target.run, person=person)
        return target, await daemon.undo(target.run, person=person, step=step, before=before)


async def _changes(run: str) -> tuple[str, list[dict[str, Any]]]:
    from cellwright.runs.history.history import changes_of
    from cellwright.tools.history.timeline import read_timeline

    target = await _undo_target(run)
    known = await anyio.to_thread.run_sync(read_timeline, target.timeline)
    return target.run, [
        {
            "number": change.number,
            "agent": change.agent,
            "key": change.key,
            "cells": change.texts,
            "is_undone": change.is_undone,
        }
        for change in (changes_of(known) if known is not None else ())
    ]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class UndoTarget:
    """Where what a run did to its notebook is taken back."""

    run: str
    notebook: Path
    timeline: Path
    """The file of what is remembered of it."""
    is_going: bool


async def _undo_target(run: str) -> UndoTarget:
    """The run, its notebook, and whether it is at work on it."""
    async with open_records(None, None) as records:
        status = await records.status(await find_run(records, run))
        check_is_run(status.run, status.name)
        goal = (await read_view(records.log.read_all, status.run)).goal
    if goal is None:
        raise UserError(f"The run {status.run!r} has no notebook yet.", hint="There is nothing to undo.")
    timeline = Settings.read().home / "runs" / status.run / "desk.json"
    return UndoTarget(run=status.run, notebook=Path(goal.notebook), timeline=timeline, is_going=status.is_going)
