"""`cellwright runs undo|redo`: what a run did to its notebook is taken back, cell by cell, or the last undo of it."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, assert_never

import anyio
import anyio.to_thread
import typer

from cellwright.background import running_pid
from cellwright.cli.approvals import person_here
from cellwright.cli.journal_options import JsonOption, open_records
from cellwright.cli.render import console, run_output
from cellwright.cli.runs.lookup import RunArgument, find_run
from cellwright.errors import UserError
from cellwright.runs.views.run_view import check_is_run, read_view
from cellwright.server import DaemonClient, connect
from cellwright.server.daemon.launch import daemon_at
from cellwright.settings import Settings

if TYPE_CHECKING:
    from cellwright.runs.history.restore import RedoOutcome
    from cellwright.runs.history.undo import UndoOutcome


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
        name, turns = anyio.run(_revisions, run)
        if as_json:
            console.as_json({"run": name, "changes": turns})
        else:
            run_output.lines([_revision_line(turn) for turn in turns] or ["The run changed no cells."])
        return
    if step is not None and before is not None:
        raise UserError("--step takes back a change, --before goes to before a cell.", hint="Give one of them.")
    name, notebook, outcome = anyio.run(_undo, run, step, before)
    _tell(name, notebook, outcome, as_json=as_json)


def _revision_line(turn: dict[str, Any]) -> str:
    undone = " (undone)" if turn["is_undone"] else ""
    return f"{turn['number']}  {', '.join(turn['cells'])}, {turn['agent']}{undone}"


def _tell(run: str, notebook: str, outcome: UndoOutcome, *, as_json: bool) -> None:
    """Exit 3 if it was refused; nothing left to undo is no failure."""
    from cellwright.runs.history.undo import NoRevisionToUndo, UndoneRevisions, UndoRefused
    from cellwright.tools.notebook.restoration import RESTORE_TEXTS

    said: dict[str, Any] = {"run": run, "notebook": notebook}
    match outcome:
        case UndoneRevisions():
            said |= dataclasses.asdict(outcome)
            lines = [*outcome.cells, *(f"kept {each}" for each in outcome.kept)]
            note = f"Undone in {notebook}. {RESTORE_TEXTS[outcome.by]}"
        case NoRevisionToUndo(why=why):
            said |= {"turns": [], "cells": [], "kept": [], "why": why}
            lines, note = [], why
        case UndoRefused(why=why):
            said |= {"refused": why}
            hint = f"hint: `cellwright runs undo {run} --list` shows its changes."
            lines, note = [], f"{why} Nothing was changed.\n{hint}"
        case _:
            assert_never(outcome)
    if as_json:
        console.as_json(said)
    else:
        run_output.lines(lines)
        console.note(note)
    raise typer.Exit(REFUSED if "refused" in said else 0)


# What knows of cells is loaded when it is used: the other commands about runs must not wait for it.


async def _undo(run: str, step: int | None, before: str | None) -> tuple[str, str, UndoOutcome]:
    from cellwright.runs.history.restore import RUN_IS_OVER
    from cellwright.runs.history.undo import undo_in_file

    place = await undo_target(run)
    if before is not None and not place.is_going:
        return place.run, str(place.notebook), RUN_IS_OVER
    if not place.is_going:
        return place.run, str(place.notebook), await undo_in_file(place.notebook, place.memory, step=step)
    async with daemon_of(place) as daemon:
        outcome = await daemon.undo(place.run, person=person_here().name, step=step, before=before)
    return place.run, str(place.notebook), outcome


async def _revisions(run: str) -> tuple[str, list[dict[str, Any]]]:
    from cellwright.runs.history.undo import revisions_of

    place = await undo_target(run)
    turns = await anyio.to_thread.run_sync(revisions_of, place.memory)
    return place.run, [dataclasses.asdict(turn) for turn in turns]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class UndoTarget:
    """Where what a run did to its notebook is taken back."""

    run: str
    notebook: Path
    memory: Path
    """What the desk of this run's notebook remembers."""
    is_going: bool


async def undo_target(run: str) -> UndoTarget:
    """The run, its notebook, and whether it is at work on it."""
    async with open_records(None, None) as records:
        status = await records.status(await find_run(records, run))
        check_is_run(status.run, status.name)
        goal = (await read_view(records.log.read_all, status.run)).goal
    if goal is None:
        raise UserError(f"The run {status.run!r} has no notebook yet.", hint="There is nothing to undo.")
    memory = Settings.read().home / "runs" / status.run / "desk.json"
    return UndoTarget(run=status.run, notebook=Path(goal.notebook), memory=memory, is_going=status.is_going)


@asynccontextmanager
async def daemon_of(place: UndoTarget) -> AsyncGenerator[DaemonClient]:
    """Whoever has the notebook of this run at work open. Raises `UserError` where that is no daemon."""
    settings = Settings.read()
    if await anyio.to_thread.run_sync(running_pid, daemon_at(settings.home)) is None:
        raise UserError(
            f"The run {place.run!r} is still at work on its notebook, in a process that cannot be reached.",
            hint=f"Wait for its end, or `cellwright runs cancel {place.run}` first.",
        )
    async with connect(settings, on_note=console.note) as daemon:
        yield daemon


def redo(run: RunArgument, as_json: JsonOption = False) -> None:
    """Take back the last undo: what it undid is in the notebook again. Not if somebody changed that since."""
    name, notebook, outcome = anyio.run(_redo, run)
    _tell_redo(name, notebook, outcome, as_json=as_json)


def _tell_redo(run: str, notebook: str, outcome: RedoOutcome, *, as_json: bool) -> None:
    """Exit 3 if it was refused; nothing to redo is no failure."""
    from cellwright.runs.history.restore import REDO_HINT, REDO_WORDS, NoRevisionToRedo, RedoneRevision, RedoRefused

    said: dict[str, Any] = {"run": run, "notebook": notebook}
    lines: list[str] = []
    match outcome:
        case RedoneRevision():
            said |= dataclasses.asdict(outcome)
            lines, notes = [*outcome.cells], [f"Redone in {notebook}. {REDO_WORDS[outcome.by]}"]
        case NoRevisionToRedo(why=why):
            said |= {"cells": [], "by": None, "why": why}
            notes = [why, f"hint: `cellwright runs undo {run} --list` shows its changes."]
        case RedoRefused(why=why):
            said |= {"refused": why}
            notes = [f"{why} Nothing was changed.", f"hint: {REDO_HINT}"]
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


async def _redo(run: str) -> tuple[str, str, RedoOutcome]:
    from cellwright.runs.history.restore import redo_in_file

    place = await undo_target(run)
    if not place.is_going:
        return place.run, str(place.notebook), await redo_in_file(place.notebook, place.memory)
    async with daemon_of(place) as daemon:
        outcome = await daemon.redo(place.run, person=person_here().name)
    return place.run, str(place.notebook), outcome
