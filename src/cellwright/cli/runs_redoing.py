"""`cellwright runs redo`: the last undo of a run's notebook is taken back."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, assert_never

import anyio
import typer

from cellwright.cli import render, run_render
from cellwright.cli.approvals import person_here
from cellwright.cli.journal_place import JsonOption
from cellwright.cli.run_names import RunArgument
from cellwright.cli.runs_undoing import REFUSED, daemon_of, place_of
from cellwright.server import TakenBack

if TYPE_CHECKING:
    from cellwright.runs.redo import RedoOutcome


def redo(run: RunArgument, as_json: JsonOption = False) -> None:
    """Take back the last undo: what it undid is in the notebook again. Not if somebody changed that since."""
    name, notebook, outcome = anyio.run(_redo, run)
    _tell(name, notebook, outcome, as_json=as_json)


def _tell(run: str, notebook: str, outcome: RedoOutcome, *, as_json: bool) -> None:
    """Exit 3 if it was refused; nothing to redo is no failure."""
    from cellwright.runs.redo import HINT, WORDS, NothingToRedo, Redone, RedoRefused

    said: dict[str, Any] = {"run": run, "notebook": notebook}
    lines: list[str] = []
    match outcome:
        case Redone():
            said |= dataclasses.asdict(outcome)
            lines, notes = [*outcome.cells], [f"Redone in {notebook}. {WORDS[outcome.by]}"]
        case NothingToRedo(why=why):
            said |= {"cells": [], "by": None, "why": why}
            notes = [why, f"hint: `cellwright runs undo {run} --list` shows its changes."]
        case RedoRefused(why=why):
            said |= {"refused": why}
            notes = [f"{why} Nothing was changed.", f"hint: {HINT}"]
        case _:
            assert_never(outcome)
    if as_json:
        render.as_json(said)
    else:
        run_render.lines(lines)
        for note in notes:
            render.note(note)
    raise typer.Exit(REFUSED if "refused" in said else 0)


# What knows of cells is loaded when it is used: the other commands about runs must not wait for it.


async def _redo(run: str) -> tuple[str, str, RedoOutcome]:
    from cellwright.runs.redo import redo_run

    place = await place_of(run)
    if not place.is_going:
        return place.run, str(place.notebook), await redo_run(place.notebook, place.memory)
    async with daemon_of(place) as daemon:
        said = await daemon.redo(place.run, person=person_here().name)
    return place.run, str(place.notebook), _outcome(said)


def _outcome(said: TakenBack) -> RedoOutcome:
    from cellwright.runs.redo import NothingToRedo, Redone, RedoRefused

    if said.by is None:
        return RedoRefused(why=said.why) if said.is_refused else NothingToRedo(why=said.why)
    return Redone(cells=said.cells, by=said.by)
