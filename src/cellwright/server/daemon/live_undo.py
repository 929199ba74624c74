"""Undo and redo of a run at work, for a door that is not the page: done at its desk, and its agents are told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from cellwright.errors import UserError
from cellwright.policy import Person
from cellwright.server.daemon.protocol import RedoRequest, RevisionAnswer, UndoRequest

if TYPE_CHECKING:
    from cellwright.runs.history.restore import RedoOutcome
    from cellwright.runs.history.undo import UndoOutcome
    from cellwright.server.executor import LiveRuns
    from cellwright.tools.notebook.editor import NotebookEditor

_MOST: Final = 200
"""So many cells are told one by one."""


async def undo_live(live: LiveRuns, asked: UndoRequest) -> RevisionAnswer:
    """Take back one change of a run at work, or all, or go to before a cell. Raises `UserError`, `Unavailable`."""
    from cellwright.runs.history.restore import go_before_cell_live
    from cellwright.runs.history.undo import UndoneRevisions, undo_live
    from cellwright.server.http.run_revisions import rewind_message, undo_message

    desk = _editor_of(live, asked.run)
    if asked.before is None:
        outcome = await undo_live(desk, step=asked.step)
    else:
        outcome = await go_before_cell_live(desk, asked.before, run=asked.run, person=asked.person)
    if isinstance(outcome, UndoneRevisions):
        said = undo_message(outcome.cells) if asked.before is None else rewind_message(asked.before)
        await _tell_agents(live, asked.run, said, asked.person)
    return _undone(asked.number, outcome)


async def redo_live(live: LiveRuns, asked: RedoRequest) -> RevisionAnswer:
    """Take back the last undo of a run at work. Raises `UserError`, `Unavailable`."""
    from cellwright.runs.history.restore import RedoneRevision, redo_live
    from cellwright.server.http.run_revisions import redo_message

    outcome = await redo_live(_editor_of(live, asked.run))
    if isinstance(outcome, RedoneRevision):
        await _tell_agents(live, asked.run, redo_message(outcome.cells), asked.person)
    return _redone(asked.number, outcome)


def _editor_of(live: LiveRuns, run: str) -> NotebookEditor:
    desk = live.desks.get(run)
    if desk is None:
        raise UserError(f"The run {run!r} does not have its notebook open now.", hint="Try again in a moment.")
    return desk


async def _tell_agents(live: LiveRuns, run: str, text: str, person: str) -> None:
    from cellwright.agents import steering

    await steering.say(live.records.log, run, text, Person(name=person, door="cli"))


def _undone(number: int, outcome: UndoOutcome) -> RevisionAnswer:
    from cellwright.runs.history.undo import NoRevisionToUndo, UndoneRevisions, UndoRefused

    match outcome:
        case UndoneRevisions(turns=turns, cells=cells, kept=kept, by=by):
            return RevisionAnswer(number=number, turns=turns, cells=_some(cells), kept=_some(kept), by=by)
        case NoRevisionToUndo(why=why):
            return RevisionAnswer(number=number, why=why)
        case UndoRefused(why=why):
            return RevisionAnswer(number=number, why=why, is_refused=True)
        case _:
            assert_never(outcome)


def _redone(number: int, outcome: RedoOutcome) -> RevisionAnswer:
    from cellwright.runs.history.restore import NoRevisionToRedo, RedoneRevision, RedoRefused

    match outcome:
        case RedoneRevision(cells=cells, by=by):
            return RevisionAnswer(number=number, cells=_some(cells), by=by)
        case NoRevisionToRedo(why=why):
            return RevisionAnswer(number=number, why=why)
        case RedoRefused(why=why):
            return RevisionAnswer(number=number, why=why, is_refused=True)
        case _:
            assert_never(outcome)


def _some(cells: tuple[str, ...]) -> tuple[str, ...]:
    told = tuple(cell[:200] for cell in cells[:_MOST])
    return told if len(cells) <= _MOST else (*told, f"{len(cells) - _MOST} more")
