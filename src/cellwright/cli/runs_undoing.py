"""`cellwright runs undo`: what a run did to its notebook is taken back, cell by cell."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, assert_never

import anyio
import anyio.to_thread
import typer

from cellwright.cli import render, run_render
from cellwright.cli.approvals import person_here
from cellwright.cli.journal_place import JsonOption, open_records
from cellwright.cli.run_names import RunArgument, find_run
from cellwright.errors import UserError
from cellwright.residents import running_pid
from cellwright.runs.finding import check_is_run
from cellwright.runs.telling import read_view
from cellwright.server import Daemon, TakenBack, connect
from cellwright.server.launching import daemon_at
from cellwright.settings import Settings

if TYPE_CHECKING:
    from cellwright.runs.undo import UndoOutcome

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
        name, turns = anyio.run(_turns, run)
        if as_json:
            render.as_json({"run": name, "changes": turns})
        else:
            run_render.lines([_turn_line(turn) for turn in turns] or ["The run changed no cells."])
        return
    if step is not None and before is not None:
        raise UserError("--step takes back a change, --before goes to before a cell.", hint="Give one of them.")
    name, notebook, outcome = anyio.run(_undo, run, step, before)
    _tell(name, notebook, outcome, as_json=as_json)


def _turn_line(turn: dict[str, Any]) -> str:
    undone = " (undone)" if turn["is_undone"] else ""
    return f"{turn['number']}  {', '.join(turn['cells'])}, {turn['agent']}{undone}"


def _tell(run: str, notebook: str, outcome: UndoOutcome, *, as_json: bool) -> None:
    """Exit 3 if it was refused; nothing left to undo is no failure."""
    from cellwright.runs.undo import NothingToUndo, Undone, UndoRefused
    from cellwright.tools.going_back import WORDS

    said: dict[str, Any] = {"run": run, "notebook": notebook}
    match outcome:
        case Undone():
            said |= dataclasses.asdict(outcome)
            lines = [*outcome.cells, *(f"kept {each}" for each in outcome.kept)]
            note = f"Undone in {notebook}. {WORDS[outcome.by]}"
        case NothingToUndo(why=why):
            said |= {"turns": [], "cells": [], "kept": [], "why": why}
            lines, note = [], why
        case UndoRefused(why=why):
            said |= {"refused": why}
            hint = f"hint: `cellwright runs undo {run} --list` shows its changes."
            lines, note = [], f"{why} Nothing was changed.\n{hint}"
        case _:
            assert_never(outcome)
    if as_json:
        render.as_json(said)
    else:
        run_render.lines(lines)
        render.note(note)
    raise typer.Exit(REFUSED if "refused" in said else 0)


# What knows of cells is loaded when it is used: the other commands about runs must not wait for it.


async def _undo(run: str, step: int | None, before: str | None) -> tuple[str, str, UndoOutcome]:
    from cellwright.runs.going_before import OVER
    from cellwright.runs.undo import undo_run

    place = await place_of(run)
    if before is not None and not place.is_going:
        return place.run, str(place.notebook), OVER
    if not place.is_going:
        return place.run, str(place.notebook), await undo_run(place.notebook, place.memory, step=step)
    async with daemon_of(place) as daemon:
        said = await daemon.undo(place.run, person=person_here().name, step=step, before=before)
    return place.run, str(place.notebook), _outcome(said)


def _outcome(said: TakenBack) -> UndoOutcome:
    from cellwright.runs.undo import NothingToUndo, Undone, UndoRefused

    if said.by is None:
        return UndoRefused(why=said.why) if said.is_refused else NothingToUndo(why=said.why)
    return Undone(turns=said.turns, cells=said.cells, kept=said.kept, by=said.by)


async def _turns(run: str) -> tuple[str, list[dict[str, Any]]]:
    from cellwright.runs.undo import turns_of

    place = await place_of(run)
    turns = await anyio.to_thread.run_sync(turns_of, place.memory)
    return place.run, [dataclasses.asdict(turn) for turn in turns]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class UndoPlace:
    """Where what a run did to its notebook is taken back."""

    run: str
    notebook: Path
    memory: Path
    """What the desk of this run's notebook remembers."""
    is_going: bool


async def place_of(run: str) -> UndoPlace:
    """The run, its notebook, and whether it is at work on it."""
    async with open_records(None, None) as records:
        status = await records.status(await find_run(records, run))
        check_is_run(status.run, status.name)
        goal = (await read_view(records.log.read_all, status.run)).goal
    if goal is None:
        raise UserError(f"The run {status.run!r} has no notebook yet.", hint="There is nothing to undo.")
    memory = Settings.read().home / "runs" / status.run / "desk.json"
    return UndoPlace(run=status.run, notebook=Path(goal.notebook), memory=memory, is_going=status.is_going)


@asynccontextmanager
async def daemon_of(place: UndoPlace) -> AsyncGenerator[Daemon]:
    """Whoever has the notebook of this run at work open. Raises `UserError` where that is no daemon."""
    settings = Settings.read()
    if await anyio.to_thread.run_sync(running_pid, daemon_at(settings.home)) is None:
        raise UserError(
            f"The run {place.run!r} is still at work on its notebook, in a process that cannot be reached.",
            hint=f"Wait for its end, or `cellwright runs cancel {place.run}` first.",
        )
    async with connect(settings, on_note=render.note) as daemon:
        yield daemon
