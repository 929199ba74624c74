"""What a notebook desk remembers across a crash: cells under their ids, what had run, and every turn of the agent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from cellwright.errors import Defect
from cellwright.ids import CellId
from cellwright.notebook import After, Cell, Document, Edit, restore_edits
from cellwright.notebook.atomic_write import write_atomically
from cellwright.tools.notebook.cell_changes import CellDiff, changes_between, place_in

_REVISIONS_KEPT: Final = 100
_UNDOS_KEPT: Final = 20
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One change an agent made to the notebook."""

    key: str
    """The call that made it."""
    changes: tuple[CellDiff, ...]
    order_before: tuple[CellId, ...]
    order_after: tuple[CellId, ...]
    to_run: tuple[CellId, ...] = ()
    """The cells this turn was to run, besides what depends on them."""
    is_undo: bool = False
    """It undid the turn before it."""
    is_redone: bool = False
    """It is an undo that was taken back: what it undid stands again."""
    left: str = ""
    """Which cells there were after it, see `fingerprint`; empty: nobody knows."""
    ran_before: tuple[CellId, ...] | None = None
    """Cells whose results the kernel held when it began; None: nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoRecord:
    """An undo that can be taken back, as long as the notebook is what it left."""

    turn: Revision
    """What it did to the cells."""
    marks: tuple[str, ...] = ()
    """The keys of the turns that say what it undid; none: it is an agent's, and such a turn itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorState:
    """The notebook as the desk left it."""

    cells: tuple[Cell, ...] = ()
    """As last saved."""
    retired: dict[CellId, int] = field(default_factory=dict[CellId, int])
    ran: tuple[CellId, ...] = ()
    """Cells whose results the kernel held."""
    turns: tuple[Revision, ...] = ()
    """Oldest first, undoing ones included."""
    forgotten: int = 0
    """Turns before those that are no longer remembered, undoing ones not included."""
    undone: tuple[UndoRecord, ...] = ()
    """What a person can redo, the next one last."""
    pending: Revision | None = None
    """Begun, and not known to be saved."""
    is_unsaved: bool = False
    """The pending turn was done and its call answered, but the file could not be written."""

    @property
    def document(self) -> Document:
        """The cells as a document, to be found again in the file."""
        return Document(cells=self.cells, retired=self.retired)

    def of(self, document: Document, ran: tuple[CellId, ...]) -> EditorState:
        """The same with the notebook as it is now."""
        return replace(self, cells=document.cells, retired=dict(document.retired), ran=ran)

    def with_turn(self, turn: Revision) -> EditorState:
        """The turn is done."""
        turns = (*self.turns, turn)
        forgotten = self.forgotten + sum(not old.is_undo for old in turns[:-_REVISIONS_KEPT])
        done = replace(self, turns=turns[-_REVISIONS_KEPT:], forgotten=forgotten, pending=None, is_unsaved=False)
        return done.with_undo(UndoRecord(turn=turn)) if turn.is_undo else done._redoable_from(turn.left)

    def with_undo(self, undo: UndoRecord) -> EditorState:
        """It can be redone next."""
        return replace(self, undone=(*self.undone, undo)[-_UNDOS_KEPT:])

    def _redoable_from(self, left: str) -> EditorState:
        """Something else was done: only those undos are left that led to what the notebook is now."""
        undone = self.undone
        while undone and undone[-1].turn.left != left:
            undone = undone[:-1]
        return replace(self, undone=undone)

    def redone(self) -> EditorState:
        """The last undo is taken back: what it undid stands again, under its own number."""
        last = self.undone[-1]
        turns = [turn for turn in self.turns if not (turn.is_undo and turn.key in last.marks)]
        is_agents = not last.marks
        kept = [replace(turn, is_redone=True) if is_agents and turn.key == last.turn.key else turn for turn in turns]
        return replace(self, turns=tuple(kept), undone=self.undone[:-1])

    def without_pending(self) -> EditorState:
        """What was begun did not happen."""
        return replace(self, pending=None, is_unsaved=False)

    def last_turn(self) -> Revision | None:
        """The last turn that was not undone."""
        standing = self.standing()
        return standing[-1] if standing else None

    def standing(self) -> tuple[Revision, ...]:
        """The turns that were not undone, oldest first."""
        left: list[Revision] = []
        for turn in self.turns:
            if not turn.is_undo:
                left.append(turn)
            elif left and not turn.is_redone:
                left.pop()
        return tuple(left)

    def document_after(self, turn: Revision) -> Document:
        """The cells as the turn leaves them."""
        cells = {cell.id: cell for cell in self.cells}
        cells |= {change.id: change.after for change in turn.changes if change.after is not None}
        gone = {change.id: change.before.version for change in turn.changes if change.before and not change.after}
        kept = tuple(cells[cell] for cell in turn.order_after if cell in cells)
        return Document(cells=kept, retired={**self.retired, **gone})

    def find(self, key: str) -> Revision | None:
        """The turn of this call, if it was done."""
        return next((turn for turn in self.turns if turn.key == key), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment(Generic[T_co]):
    """What a person's change makes of the notebook and of what is remembered."""

    document: Document
    memory: EditorState
    outcome: T_co
    before_turn: Revision | None = None
    """Set where all that is asked for is the notebook as it was before this turn: then its state goes back, too."""
    is_redo: bool = False
    """All that is asked for is what the last undo took back: then its state comes back, too."""


Amend = Callable[[EditorState, Document], Amendment[T] | T]
"""A change by a person, from the notebook as it is when it is their turn; an outcome alone changes nothing."""


def with_renamed_run(memory: EditorState, run: str, other: str) -> EditorState:
    """The memory as another run has it that goes on from this one's steps: its calls have other names."""

    def of(turn: Revision) -> Revision:
        return replace(turn, key=other + turn.key.removeprefix(run) if turn.key.startswith(f"{run}/") else turn.key)

    pending = None if memory.pending is None else of(memory.pending)
    # What was undone in the one is not for the other to redo.
    return replace(memory, turns=tuple(of(turn) for turn in memory.turns), pending=pending, undone=())


_STATE: Final = TypeAdapter(EditorState)


def read_editor_state(path: Path) -> EditorState | None:
    """What was remembered; None where nothing was yet. Blocking."""
    try:
        return _STATE.validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise Defect(f"The notebook desk's memory in {str(path)!r} cannot be read: {error}.") from error


def write_editor_state(path: Path, memory: EditorState) -> None:
    """Replace what was remembered, all or nothing. Blocking."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_atomically(path, _STATE.dump_json(memory))


def revision_between(key: str, before: Document, after: Document, to_run: tuple[CellId, ...]) -> Revision:
    """The turn that made the one of the other."""
    return Revision(
        key=key,
        changes=changes_between(before, after),
        order_before=tuple(cell.id for cell in before.cells),
        order_after=tuple(cell.id for cell in after.cells),
        to_run=to_run,
        left=fingerprint(after),
    )


def fingerprint(document: Document) -> str:
    """The same for the same cells in the same order, whatever their versions."""
    cells = [(cell.id, cell.code, cell.name, repr(cell.config)) for cell in document.cells]
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()


def was_saved(turn: Revision, document: Document) -> bool:
    """Whether the document, read from the file, holds what the turn made."""
    contents = {(cell.code, cell.name) for cell in document.cells}
    made = [(change.after.code, change.after.name) for change in turn.changes if change.after is not None]
    if made:
        return all(content in contents for content in made)
    return not any((change.before.code, change.before.name) in contents for change in turn.changes if change.before)


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoPlan:
    """How a turn is undone."""

    edits: list[Edit]
    kept: tuple[CellDiff, ...]
    """Cells of the turn that somebody changed since: they stay as they are."""


def plan_undo(turn: Revision, current: Document) -> UndoPlan:
    """What brings back the cells as they were before the turn."""
    target, kept = {cell.id: cell for cell in current.cells}, list[CellDiff]()
    back: list[CellId] = []
    for change in turn.changes:
        now = target.get(change.id)
        if not _is_untouched(change, now):
            kept.append(change)
        elif change.before is None:
            target.pop(change.id, None)
        else:
            target[change.id] = replace(change.before, version=now.version if now else change.before.version)
            back += [] if now else [change.id]
    wanted = Document(cells=tuple(target[cell] for cell in _order(turn, current, target, back)))
    return UndoPlan(edits=restore_edits(current, wanted), kept=tuple(kept))


def _is_untouched(change: CellDiff, now: Cell | None) -> bool:
    if change.after is None or now is None:
        return change.after is None and now is None
    return now.has_same_content(change.after)


def _order(turn: Revision, current: Document, target: dict[CellId, Cell], back: list[CellId]) -> list[CellId]:
    """As before the turn, unless somebody has moved, added or removed cells since: then only what came back is put."""
    now = [cell.id for cell in current.cells]
    if tuple(now) == turn.order_after:
        before = [cell for cell in turn.order_before if cell in target]
        return before + [cell for cell in now if cell in target and cell not in before]
    order = [cell for cell in now if cell in target]
    for cell in back:
        here = Document(cells=tuple(target[known] for known in order))
        place = place_in(cell, turn.order_before, here)
        order.insert(order.index(place.cell) + 1 if isinstance(place, After) else 0, cell)
    return order
