"""The history of a notebook in its file, for a run that is not at work: nothing runs, only cells go back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import anyio.to_thread

from cellwright.errors import Unavailable
from cellwright.notebook import Cell, SaveConflict, read, save
from cellwright.tools.history.moves import (
    BeforeCell,
    HistoryOutcome,
    Move,
    MoveRefused,
    NothingToMove,
    PlannedTarget,
    Target,
    UndoCell,
    plan,
)
from cellwright.tools.history.store import read_timeline, write_timeline
from cellwright.tools.history.timeline import RevisionTimeline

_SAVES: Final = 5
"""How often it is tried while somebody else keeps saving the file."""
_NOTHING: Final = "Nothing is remembered of what this run did to a notebook."
_RUN_IS_OVER: Final = "The run is not at work: what was before single cells is kept only as long as its kernel is."


@dataclass(frozen=True, slots=True, kw_only=True)
class FileHistory:
    """What is remembered of a run's notebook, and its file."""

    notebook: Path
    stored: Path
    """The timeline's file."""

    async def move(self, target: Target) -> HistoryOutcome:
        """Change the file and what is remembered.

        Raises `UserError` for a notebook that cannot be read or a change that never was, `Unavailable` if the file
        changes faster than it can be saved.
        """
        if isinstance(target, BeforeCell):
            return MoveRefused(why=_RUN_IS_OVER)
        return await anyio.to_thread.run_sync(self._move, target)

    def _move(self, target: PlannedTarget) -> HistoryOutcome:
        known = read_timeline(self.stored)
        if known is None:
            return MoveRefused(why=_NOTHING) if isinstance(target, UndoCell) else NothingToMove(why=_NOTHING)
        for _ in range(_SAVES):
            file = read(self.notebook)
            timeline, found = known.settled(file.document)
            move = plan(timeline, found, target)
            if not isinstance(move, Move):
                return move
            if not isinstance(save(replace(file, document=found), move.document), SaveConflict):
                # The file first: if this process ends here, the next move finds the cells so, and only remembers.
                write_timeline(self.stored, _after(timeline, found.cells, move))
                return replace(move.outcome, by="file")
        raise Unavailable("The notebook's file changes faster than it can be saved.", hint="Try again.")


def _after(timeline: RevisionTimeline, before: tuple[Cell, ...], move: Move) -> RevisionTimeline:
    """Cells that are other ones now have not run."""
    codes = {cell.id: cell.code for cell in before}
    same = {cell.id for cell in move.document.cells if codes.get(cell.id) == cell.code}
    done = timeline if move.revision is None else timeline.append(move.revision)
    return done.of(move.document, tuple(cell for cell in timeline.ran if cell in same))
