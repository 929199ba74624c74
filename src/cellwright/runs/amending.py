"""A person's change of a notebook that a run worked on, in the file alone; what is remembered of the run stays true."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

from cellwright.errors import Unavailable
from cellwright.notebook import Document, SaveConflict, read, save
from cellwright.tools.cell_changes import with_known_ids
from cellwright.tools.desk_memory import Amend, Amended, Memory, read_memory, was_saved, write_memory

_SAVES: Final = 5
"""How often it is tried while somebody else keeps saving the file."""
T = TypeVar("T")


def amend_file(notebook: Path, memory: Path, plan: Amend[T], nothing: T) -> T:
    """Change the file as planned; `nothing` where nothing is remembered. For a run that is not at work. Blocking.

    Raises `UserError` for a notebook that cannot be read, `Unavailable` if it changes faster than it can be saved.
    """
    known = read_memory(memory)
    if known is None:
        return nothing
    for _ in range(_SAVES):
        file = read(notebook)
        settled, found = _as_it_is(known, file.document)
        amended = plan(settled, found)
        if not isinstance(amended, Amended):
            return amended
        if not isinstance(save(replace(file, document=found), amended.document), SaveConflict):
            # The file first: if this process ends here, the next undo finds the cells as they were, and only remembers.
            write_memory(memory, amended.memory)
            return amended.outcome
    raise Unavailable("The notebook's file changes faster than it can be saved.", hint="Try again.")


def _as_it_is(known: Memory, fresh: Document) -> tuple[Memory, Document]:
    """What is remembered, with a turn that a crash left pending settled, and the file's cells under their known ids."""
    pending = known.pending
    is_done = pending is not None and was_saved(pending, fresh)
    base = known.document_after(pending) if pending is not None and is_done else known.document
    settled = known.with_turn(pending) if pending is not None and is_done else known.without_pending()
    return settled, with_known_ids(base, fresh)


def remembering(memory: Memory, before: Document, after: Document) -> Memory:
    """What is remembered once the notebook is as in `after`: cells that are other ones now have not run."""
    same = {cell.id for cell in after.cells if (old := before.find(cell.id)) and old.code == cell.code}
    return memory.of(after, tuple(cell for cell in memory.ran if cell in same))
