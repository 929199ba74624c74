"""`cellwright runs undo`: what a run did to its notebook is taken back, cell by cell."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, assert_never

import anyio
import anyio.to_thread
import typer

from cellwright.cli import render, run_render
from cellwright.cli.journal_place import JsonOption, open_records
from cellwright.cli.run_names import RunArgument, find_run
from cellwright.errors import UserError
from cellwright.runs.finding import check_is_run
from cellwright.runs.telling import read_view
from cellwright.settings import Settings

if TYPE_CHECKING:
    from cellwright.runs.undo import UndoOutcome

_REFUSED: Final = 3


def undo(
    run: RunArgument,
    step: Annotated[
        int | None, typer.Option("--step", min=1, metavar="N", help="Only this change; default: all of the run's.")
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
    name, notebook, outcome = anyio.run(_undo, run, step)
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
            lines, note = [], f"{why} Nothing was changed."
        case _:
            assert_never(outcome)
    if as_json:
        render.as_json(said)
    else:
        run_render.lines(lines)
        render.note(note)
    raise typer.Exit(_REFUSED if "refused" in said else 0)


# What knows of cells is loaded when it is used: the other commands about runs must not wait for it.


async def _undo(run: str, step: int | None) -> tuple[str, str, UndoOutcome]:
    from cellwright.runs.undo import undo_run

    name, notebook = await _place(run, must_be_over=True)
    return name, str(notebook), await undo_run(notebook, _memory(name), step=step)


async def _turns(run: str) -> tuple[str, list[dict[str, Any]]]:
    from cellwright.runs.undo import turns_of

    name, _ = await _place(run, must_be_over=False)
    turns = await anyio.to_thread.run_sync(turns_of, _memory(name))
    return name, [dataclasses.asdict(turn) for turn in turns]


async def _place(run: str, *, must_be_over: bool) -> tuple[str, Path]:
    """The run's name and its notebook."""
    async with open_records(None, None) as records:
        status = await records.status(await find_run(records, run))
        check_is_run(status.run, status.name)
        if must_be_over and status.is_going:
            raise UserError(
                f"The run {status.run!r} is still at work on its notebook.",
                hint=f"Wait for its end, or `cellwright runs cancel {status.run}` first.",
            )
        goal = (await read_view(records.log.read_all, status.run)).goal
    if goal is None:
        raise UserError(f"The run {status.run!r} has no notebook yet.", hint="There is nothing to undo.")
    return status.run, Path(goal.notebook)


def _memory(run: str) -> Path:
    """What the desk of this run's notebook remembers."""
    return Settings.read().home / "runs" / run / "desk.json"
