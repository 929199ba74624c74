"""Lanes: desks of their own over the same notebook, so that several agents build at the same time.

Each lane is saved to a file in the state directory, with a memory beside it: after kill -9 it is found again as any
desk is. Nothing of it is in the notebook before it is joined.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio.to_thread

from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.kernel import OpenNotebook
from cellwright.notebook import Document, NotebookFile, SaveConflict, new, read, save
from cellwright.tools.desk_memory import Memory, read_memory, write_memory
from cellwright.tools.notebook_desk import NotebookDesk

_BASE: Final = "base.json"
_DESK: Final = "desk.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One agent's own desk."""

    desk: NotebookDesk
    base: Document
    """The notebook's cells when the lane was made."""


@asynccontextmanager
async def open_lane(desk: NotebookDesk, folder: Path) -> AsyncGenerator[Lane]:
    """A lane of this desk's notebook, kept in this folder; the second time, as it was left."""
    await desk.sync()
    notebook = desk.notebook
    base, file = await anyio.to_thread.run_sync(_begin, notebook, folder)
    known = await anyio.to_thread.run_sync(read_memory, folder / _DESK)
    async with notebook.lane(file) as lane:
        if known is not None:
            there = _unchanged(known, notebook.document)
            lane.outcomes = {cell: outcome for cell, outcome in lane.outcomes.items() if cell in there}
        yield Lane(desk=await NotebookDesk.open(lane, folder / _DESK), base=base.document)


def _begin(notebook: OpenNotebook, folder: Path) -> tuple[Memory, NotebookFile]:
    """What the lane began with, and its file. Blocking."""
    path = folder / notebook.path.name
    if (base := read_memory(folder / _BASE)) is not None:
        return base, read(path)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Left by a process that ended before anybody could work here.
    path.unlink(missing_ok=True)
    saved = save(new(path), notebook.document)
    if isinstance(saved, SaveConflict):
        raise Unavailable(f"The lane's file {str(path)!r} was written by somebody else.", hint="Try again.")
    base = Memory().of(notebook.document, ())
    write_memory(folder / _BASE, base)
    return base, saved


def _unchanged(known: Memory, parent: Document) -> set[CellId]:
    """The cells whose results come with the parent's state: the lane has not touched them."""
    cells = {cell.id: cell for cell in known.cells}
    touched = {change.id for change in known.pending.changes} if known.pending is not None else set[CellId]()
    theirs = {cell.id for cell in parent.cells if cell.id in cells and cells[cell.id].code == cell.code}
    return theirs - touched
