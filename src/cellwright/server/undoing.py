"""Undo and redo of a run at work, for a door that is not the page: done at its desk, and its agents are told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, assert_never

from cellwright.errors import UserError
from cellwright.policy import Person
from cellwright.server.protocol import Redo, TakenBack, Undo

if TYPE_CHECKING:
    from cellwright.runs.redo import RedoOutcome
    from cellwright.runs.undo import UndoOutcome
    from cellwright.server.door import Live
    from cellwright.tools.notebook_desk import NotebookDesk

_LONGEST: Final = 4_000
_MOST: Final = 200
"""So many cells are told one by one."""


async def undo_at_work(live: Live, asked: Undo) -> TakenBack:
    """Take back one change of a run at work, or all, or go to before a cell. Raises `UserError`, `Unavailable`."""
    from cellwright.runs.going_before import go_before_at_desk
    from cellwright.runs.undo import Undone, undo_at_desk

    desk = _desk(live, asked.run)
    if asked.before is None:
        outcome = await undo_at_desk(desk, step=asked.step)
    else:
        outcome = await go_before_at_desk(desk, asked.before, run=asked.run, person=asked.person)
    if isinstance(outcome, Undone):
        said = undone_said(outcome.cells) if asked.before is None else gone_before_said(asked.before)
        await _tell(live, asked.run, said, asked.person)
    return _undone(asked.number, outcome)


async def redo_at_work(live: Live, asked: Redo) -> TakenBack:
    """Take back the last undo of a run at work. Raises `UserError`, `Unavailable`."""
    from cellwright.runs.redo import Redone, redo_at_desk

    outcome = await redo_at_desk(_desk(live, asked.run))
    if isinstance(outcome, Redone):
        await _tell(live, asked.run, redone_said(outcome.cells), asked.person)
    return _redone(asked.number, outcome)


def undone_said(cells: Sequence[str]) -> str:
    """What agents at work hear of an undo."""
    return f"I undid changes of yours in the notebook: {'; '.join(cells)}"[:_LONGEST]


def gone_before_said(cell: str) -> str:
    """What they hear of a journey to before a cell."""
    return f"I took the notebook back to right before the cell {cell!r} ran: look at it before you go on."


def redone_said(cells: Sequence[str]) -> str:
    """What they hear of a redo."""
    return f"I took back the last undo; this is in the notebook again: {'; '.join(cells)}"[:_LONGEST]


def _desk(live: Live, run: str) -> NotebookDesk:
    desk = live.desks.get(run)
    if desk is None:
        raise UserError(f"The run {run!r} does not have its notebook open now.", hint="Try again in a moment.")
    return desk


async def _tell(live: Live, run: str, text: str, person: str) -> None:
    from cellwright.agents import steering

    await steering.say(live.records.log, run, text, Person(name=person, door="cli"))


def _undone(number: int, outcome: UndoOutcome) -> TakenBack:
    from cellwright.runs.undo import NothingToUndo, Undone, UndoRefused

    match outcome:
        case Undone(turns=turns, cells=cells, kept=kept, by=by):
            return TakenBack(number=number, turns=turns, cells=_some(cells), kept=_some(kept), by=by)
        case NothingToUndo(why=why):
            return TakenBack(number=number, why=why)
        case UndoRefused(why=why):
            return TakenBack(number=number, why=why, is_refused=True)
        case _:
            assert_never(outcome)


def _redone(number: int, outcome: RedoOutcome) -> TakenBack:
    from cellwright.runs.redo import NothingToRedo, Redone, RedoRefused

    match outcome:
        case Redone(cells=cells, by=by):
            return TakenBack(number=number, cells=_some(cells), by=by)
        case NothingToRedo(why=why):
            return TakenBack(number=number, why=why)
        case RedoRefused(why=why):
            return TakenBack(number=number, why=why, is_refused=True)
        case _:
            assert_never(outcome)


def _some(cells: tuple[str, ...]) -> tuple[str, ...]:
    told = tuple(cell[:200] for cell in cells[:_MOST])
    return told if len(cells) <= _MOST else (*told, f"{len(cells) - _MOST} more")
