"""Taking back the last undo of a run's notebook: at its desk while it is at work, in the file afterwards.

Only as long as the notebook is what the undo left: what somebody did since is theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import anyio.to_thread

from cellwright.notebook import Document, EditRefused, apply_edits
from cellwright.runs.amending import amend_file, remembering
from cellwright.runs.undo import did
from cellwright.tools.cell_changes import changes_between
from cellwright.tools.desk_memory import Amended, Memory, Turn, fingerprint, undoing
from cellwright.tools.going_back import BackBy
from cellwright.tools.notebook_desk import NotebookDesk

WORDS: Final[dict[BackBy, str]] = {
    "checkpoint": "By checkpoint: cells, outputs, variables and files are as they were before the undo.",
    "replay": "By replay: a new kernel has run again what had run before the undo.",
    "cells": "The cells are as they were before the undo; what depends on them runs again.",
    "file": "The cells in its file are as they were before the undo.",
}
HINT: Final = "Take that change back first; what was undone still stands among the changes of the run."


@dataclass(frozen=True, slots=True, kw_only=True)
class Redone:
    """What was undone is there again."""

    cells: tuple[str, ...]
    """In words; empty if they were so already."""
    by: BackBy = "cells"


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingToRedo:
    """Nothing was undone, or something else was done since."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RedoRefused:
    """It cannot be redone as things stand; nothing was changed."""

    why: str


RedoOutcome = Redone | NothingToRedo | RedoRefused


async def redo_run(notebook: Path, memory: Path) -> RedoOutcome:
    """Take back the last undo in the notebook's file, in whichever process it was. For a run that is not at work.

    Raises `UserError` for a notebook that cannot be read, `Unavailable` if the file changes faster than it can be
    saved.
    """
    nothing = NothingToRedo(why="Nothing is remembered of what this run did to a notebook.")

    def work() -> RedoOutcome:
        return amend_file(notebook, memory, redo_plan, nothing)

    return _by(await anyio.to_thread.run_sync(work), "file")


async def redo_at_desk(desk: NotebookDesk) -> RedoOutcome:
    """The same for a run at work, at the desk that has its notebook open.

    By the checkpoint that the undo kept, with variables and files; by replay if that is lost; else as cells.
    """
    return _by(*await desk.amend_telling(redo_plan))


def _by(outcome: RedoOutcome, by: BackBy) -> RedoOutcome:
    return replace(outcome, by=by) if isinstance(outcome, Redone) else outcome


def redo_plan(memory: Memory, current: Document) -> Amended[RedoOutcome] | RedoOutcome:
    """What taking back the last undo makes of the notebook as it is."""
    if not memory.undone:
        return NothingToRedo(why="There is nothing to redo: nothing was undone, or something else was done since.")
    last = memory.undone[-1].turn
    if (cut_off := _cut_off(memory, last, current)) is not None:
        return Amended(document=cut_off, memory=memory.redone().of(cut_off, memory.ran), outcome=Redone(cells=()))
    if last.left != fingerprint(current):
        return RedoRefused(why=f"Somebody changed the notebook since the undo{_where(memory, current)}.")
    document = apply_edits(current, undoing(last, current).edits)
    if isinstance(document, EditRefused):
        return RedoRefused(why=f"It cannot be redone: {document.message}")
    cells = tuple(did(change) for change in changes_between(current, document))
    remembered = remembering(memory.redone(), current, document)
    return Amended(document=document, memory=remembered, outcome=Redone(cells=cells), is_redo=True)


def _cut_off(memory: Memory, last: Turn, current: Document) -> Document | None:
    """The notebook as redone, if the file is that already: a process ended before it could remember so."""
    if fingerprint(memory.document) != last.left:
        return None
    redone = apply_edits(memory.document, undoing(last, memory.document).edits)
    if isinstance(redone, EditRefused) or len(redone.cells) != len(current.cells):
        return None
    pairs = zip(redone.cells, current.cells, strict=True)
    is_same = all(mine.has_same_content(theirs) for mine, theirs in pairs)
    return replace(current, cells=redone.cells, retired=redone.retired) if is_same else None


def _where(memory: Memory, current: Document) -> str:
    """Which cells differ from what is remembered, in words; nothing where that is not known any more."""
    changed = [did(change) for change in changes_between(memory.document, current)]
    return f" ({', '.join(changed[:5])})" if changed else ""
