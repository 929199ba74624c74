"""Undo and redo of a run at work, for a client that is not the page: done in its editor, and its agents are told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from cellwright.errors import UserError
from cellwright.policy import Person
from cellwright.server.daemon.protocol import RedoRequest, RevisionAnswer, UndoRequest

if TYPE_CHECKING:
    from cellwright.server.executor import LiveRuns

_MOST: Final = 200
"""So many cells are named one by one."""


async def undo_live(live: LiveRuns, asked: UndoRequest | RedoRequest) -> RevisionAnswer:
    """Take back one change of a run at work, or all, or the last undo, or go to before a cell.

    Raises `UserError`, `Unavailable`.
    """
    from cellwright.runs.history.history import before_cell, move_live, undo_target
    from cellwright.tools.history.moves import Moved, MoveRefused, NothingToMove, Redo

    run, person = asked.run, asked.person
    editor = live.desks.get(run)
    if editor is None:
        raise UserError(f"The run {run!r} does not have its notebook open now.", hint="Try again in a moment.")
    if isinstance(asked, RedoRequest):
        target = Redo()
    elif asked.before is not None:
        target = before_cell(asked.before, run=run, person=person)
    else:
        target = undo_target(asked.step)
    outcome = await move_live(
        editor.history, target, run=run, log=live.records.log, person=Person(name=person, door="cli")
    )
    match outcome:
        case Moved(revisions=revisions, cells=cells, kept=kept, by=by):
            return RevisionAnswer(number=asked.number, turns=revisions, cells=_some(cells), kept=_some(kept), by=by)
        case NothingToMove(why=why):
            return RevisionAnswer(number=asked.number, why=why)
        case MoveRefused(why=why):
            return RevisionAnswer(number=asked.number, why=why, is_refused=True)
        case _:
            assert_never(outcome)


def _some(cells: tuple[str, ...]) -> tuple[str, ...]:
    named = tuple(cell[:200] for cell in cells[:_MOST])
    return named if len(cells) <= _MOST else (*named, f"{len(cells) - _MOST} more")
