"""A person takes a run's notebook back to right before one of its cells ran, at the desk that has it open."""

from __future__ import annotations

import uuid

from cellwright.runs.undo import Undone, UndoRefused, did
from cellwright.tools.notebook_desk import NotebookDesk
from cellwright.tools.travelling import Unreachable

OVER = UndoRefused(why="The run is not at work: what was before single cells is kept only as long as its kernel is.")


async def go_before_at_desk(desk: NotebookDesk, cell: str, *, run: str, person: str) -> Undone | UndoRefused:
    """Cells, outputs, variables and files as they were right before this cell, by id or name, last ran in the run.

    It is a change under the person's name among the run's, and is undone like those.
    """
    key = f"{run}/person:{person}/before-{uuid.uuid4().hex[:8]}"
    gone = await desk.go_before(cell, key=key, is_persons=True)
    if isinstance(gone, Unreachable):
        return UndoRefused(why=gone.why)
    if gone.observation.refused is not None:
        return UndoRefused(why=gone.observation.refused.message)
    return Undone(turns=(), cells=tuple(did(change) for change in gone.changes), by=gone.back_by or "cells")
