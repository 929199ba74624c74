"""Restoring what a notebook was before its newest revisions: cells, outputs, variables and files together.

By a checkpoint where one is kept; else by replay: the kernel is replaced, its file changes are dropped, and what had
run then runs again. Which state lies before a cell, and what stands in the way, is decided from values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.kernel import CellOutcome, Observation, OpenNotebook
from cellwright.kernel.branches.checkpoints import CellRewind, Checkpoint
from cellwright.notebook import Cell, Document
from cellwright.tools.notebook.cell_changes import changes_between
from cellwright.tools.notebook.revisions import Revision

_COMMIT: Final = "commit"
"""Under this name a commit keeps what was before it."""
RestoreMethod = Literal["checkpoint", "replay", "cells", "file"]
"""How a notebook was made what it was. cells: only cells were brought back, and what depends on them ran. file: the
file alone was changed, no kernel was there."""
RESTORE_TEXTS: Final[dict[RestoreMethod, str]] = {
    "checkpoint": "By checkpoint: cells, outputs, variables and files are as they were.",
    "replay": "By replay: a new kernel has run again what had run; files that the old one had changed are dropped.",
    "cells": "The cells are as they were; what depends on them runs again.",
    "file": "The cells in its file are as they were.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Restoration:
    """The notebook is what it was."""

    by: RestoreMethod
    observation: Observation
    steps: int = 0
    """How many checkpoints were passed; so many lie ahead now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoneState:
    """What an undo took back, as long as this process lives and nothing else is done."""

    document: Document
    after: Document
    ran: tuple[CellId, ...]
    steps: int


class StateHistory:
    """What one notebook was before the turns of its agent, and how to be that again."""

    def __init__(self, notebook: OpenNotebook) -> None:
        self._notebook = notebook
        self._undone: list[UndoneState] = []

    def ran(self) -> tuple[CellId, ...]:
        """The cells whose results the kernel holds."""
        return tuple(cell for cell, outcome in self._notebook.outcomes.items() if outcome.status == "ok")

    async def mark(self, key: str) -> str:
        """Keep what is now under the name of the call that comes; where it cannot be kept, going back is a replay.

        Gives the name if it was kept: then states between the call's cells are worth keeping, too.
        """
        self.forget_redo()
        if not key or self._notebook.provisioner.options.files == "direct":
            return ""
        try:
            taken = await self._notebook.checkpoints.take(key)
        except Unavailable:
            # The kernel ended meanwhile: the turn itself will meet that, and say so.
            return ""
        return key if isinstance(taken, Checkpoint) else ""

    def name_commit(self, key: str) -> None:
        """A commit has kept what was before it; from now on under the name of its call."""
        kept = self._notebook.checkpoints.kept
        if kept and kept[-1].label == _COMMIT:
            kept[-1].label = key

    def forget_redo(self) -> None:
        """Something else is done: what was undone stays so."""
        self._undone.clear()

    def redo_code(self) -> str | None:
        """The code that a redo would bring back; None: there is nothing to redo."""
        if not self._undone:
            return None
        changes = changes_between(self._notebook.document, self._undone[-1].document)
        return "\n\n".join(change.after.code for change in changes if change.after is not None)

    def take_undone(self, current: Document) -> UndoneState | None:
        """What a redo would bring back, off the list; None if there is nothing, or somebody changed cells since."""
        if not self._undone or not has_same_cells(self._undone[-1].after, current):
            return None
        return self._undone.pop()

    async def go_back(self, turn: Revision, wanted: Document) -> Restoration | None:
        """All as it was before the turn; None where only cells can be brought back."""
        if turn.ran_before is None:
            return None
        has_run = bool(turn.to_run) or any(change.after is None for change in turn.changes)
        before, ran = self._notebook.document, self.ran()
        back = await go_back(self._notebook, turn.key, wanted, turn.ran_before if has_run else ())
        if back is not None:
            self._undone.append(UndoneState(document=before, after=wanted, ran=ran, steps=back.steps))
        return back

    async def go_forward_again(self, wanted: Document) -> Restoration | None:
        """What was undone last, again, as if it had never been undone; None where only cells can be brought back."""
        undone = self.take_undone(self._notebook.document)
        if undone is None or not has_same_cells(undone.document, wanted):
            return None
        return await self.go_forward(undone, wanted)

    async def go_forward(self, undone: UndoneState, wanted: Document, key: str = "") -> Restoration:
        """What was undone, again; the call of this key does it, and can be undone itself."""
        checkpoints = self._notebook.checkpoints
        passed = await checkpoints.advance(undone.steps)
        if not passed or passed < undone.steps:
            return Restoration(by="replay", observation=await replay(self._notebook, wanted, undone.ran))
        self._notebook.document = wanted
        for passed_by in checkpoints.kept[-passed:] if key else ():
            passed_by.label = key
        return Restoration(by="checkpoint", observation=Observation(), steps=passed)

    async def go_before(self, cell: CellId, wanted: Document, key: str) -> CellRewind | None:
        """All as it was before a cell ran; what is now is kept for the undo of the call of this key."""
        self.forget_redo()
        travelled = await self._notebook.checkpoints.travel_before(cell, key)
        if travelled is not None:
            self._notebook.document = wanted
        return travelled

    def seen(self, back: Restoration, turn: Revision) -> Observation:
        """What there is now of the cells that went back."""
        if back.by == "replay":
            return back.observation
        known = self._notebook.outcomes
        there = [change.id for change in turn.changes if change.after is not None and change.id in known]
        return Observation(cells=tuple(known[cell] for cell in there))


async def go_back(notebook: OpenNotebook, label: str, wanted: Document, ran: Collection[CellId]) -> Restoration | None:
    """Be what the notebook was before the turn of this label; None where only cells can be brought back.

    `wanted` holds the cells as they were then, under versions that nobody has read yet, and `ran` what had run.
    """
    checkpoint = usable(notebook.checkpoints.kept, label, wanted)
    if checkpoint is not None and notebook.provisioner.options.files != "direct":
        steps = _steps(notebook.checkpoints.kept, checkpoint)
        if await notebook.checkpoints.travel(label) is not None:
            notebook.document = wanted
            return Restoration(by="checkpoint", observation=Observation(), steps=steps)
    if notebook.live.kernel is None or not ran:
        return None
    return Restoration(by="replay", observation=await replay(notebook, wanted, ran))


async def replay(notebook: OpenNotebook, wanted: Document, ran: Collection[CellId]) -> Observation:
    """A new kernel that has run these cells."""
    known = {cell.id: cell.name for cell in wanted.cells}
    had_run = {cell: CellOutcome(id=cell, name=known[cell], status="ok") for cell in ran if cell in known}
    return await notebook.checkpoints.rewind(wanted, had_run)


def usable(kept: Sequence[Checkpoint], label: str, wanted: Document) -> Checkpoint | None:
    """The checkpoint before the newest turn of this label, if it is what is wanted and can stay."""
    found = next((each for each in reversed(kept) if each.label == label and not each.is_between), None)
    if found is None or not found.runtime.can_stay:
        return None
    return found if has_same_cells(found.runtime.notebook.state.document, wanted) else None


def has_same_cells(one: Document, other: Document) -> bool:
    """Whether both have the same cells in the same order, whatever their versions."""
    return _contents(one) == _contents(other)


def _steps(kept: Sequence[Checkpoint], checkpoint: Checkpoint) -> int:
    return len(kept) - next(place for place, each in enumerate(kept) if each is checkpoint)


def _contents(document: Document) -> list[tuple[object, ...]]:
    return [(cell.id, cell.code, cell.name, cell.config) for cell in document.cells]


_MOST_NAMED: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierState:
    """What the notebook was right before a cell ran."""

    cell: CellId
    document: Document


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreachableState:
    """It cannot be gone there; nothing was changed."""

    why: str


def find_earlier_state(notebook: OpenNotebook, cell: str, turns: Sequence[Revision]) -> EarlierState | UnreachableState:
    """The state before this cell, known by id or name, last ran in a turn; `turns` are all that are remembered."""
    checkpoints, now = notebook.checkpoints, notebook.document
    known = next((each.id for each in now.cells if cell in (each.id, each.name)), CellId(cell))
    kept = checkpoints.before(known)
    if kept is None:
        names = [notebook.state.name_of(each) for each in checkpoints.kept_cells]
        listed = ", ".join(names[-_MOST_NAMED:]) or "none"
        return UnreachableState(why=f"No state before the cell {cell!r} is kept. Cells one can go before: {listed}.")
    then = kept.cells_then or kept.runtime.notebook.state.document
    theirs = _made_by_others(then, now, turns)
    if theirs:
        names = [notebook.state.name_of(each) for each in theirs]
        return UnreachableState(why=f"Somebody else changed cells since, which would be lost: {', '.join(names)}.")
    return EarlierState(cell=known, document=then)


def _made_by_others(then: Document, now: Document, turns: Sequence[Revision]) -> list[CellId]:
    """Cells that are other ones now, and that no turn left so."""
    left: dict[CellId, list[Cell | None]] = {}
    for turn in turns:
        for change in turn.changes:
            left.setdefault(change.id, []).append(change.after)
    differing = (change.id for change in changes_between(then, now))
    return [cell for cell in differing if not _is_among(now.find(cell), left.get(cell, ()))]


def _is_among(now: Cell | None, left: Iterable[Cell | None]) -> bool:
    return any(
        each is now is None or (each is not None and now is not None and now.has_same_content(each)) for each in left
    )
