"""What is remembered of a notebook across a crash: its cells, what had run, and every revision, with a cursor.

An undo is a revision that reverts others. The cursor stands behind the last revision that counts; a redo moves it back
over an undo. So behind the cursor there are only undos that were taken back, and the redos that did it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import TypeAdapter, ValidationError

from cellwright.errors import Defect
from cellwright.ids import CellId
from cellwright.notebook.atomic_write import write_atomically
from cellwright.notebook.document import Cell, Document
from cellwright.tools.notebook.cell_changes import CellDiff, changes_between, with_known_ids

_REVISIONS_KEPT: Final = 100
_UNDONE: Final = "/undone-"

RevisionKind = Literal["change", "undo", "redo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One step of the notebook's history: what it made of the cells."""

    key: str
    """The call that made it."""
    kind: RevisionKind = "change"
    number: int = 0
    """Changes are numbered 1, 2, 3 … for good; undos and redos are not."""
    reverts: tuple[int, ...] = ()
    """Of an undo: the changes it took back, newest first."""
    changes: tuple[CellDiff, ...]
    order_before: tuple[CellId, ...]
    order_after: tuple[CellId, ...]
    to_run: tuple[CellId, ...] = ()
    """The cells it was to run, besides what depends on them."""
    left: str = ""
    """Which cells there were after it, see `fingerprint`; empty: unknown, and an undo cannot be redone."""
    ran_before: tuple[CellId, ...] | None = None
    """Cells whose results the kernel held when it began; None: unknown."""

    @property
    def agent(self) -> str:
        """The workflow whose call this was."""
        return self.key.rpartition("/")[0] or self.key

    @property
    def is_persons_undo(self) -> bool:
        """A person, or the run itself, took back changes of agents."""
        return self.kind == "undo" and _UNDONE in self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionTimeline:
    """The notebook as its editor left it, and how it came to be that."""

    cells: tuple[Cell, ...] = ()
    """As last saved."""
    retired: dict[CellId, int] = field(default_factory=dict[CellId, int])
    ran: tuple[CellId, ...] = ()
    """Cells whose results the kernel held."""
    revisions: tuple[Revision, ...] = ()
    """Oldest first."""
    cursor: int = 0
    """So many of them count."""
    forgotten: int = 0
    """Changes before those that are no longer remembered."""
    pending: Revision | None = None
    """Begun, and not known to be saved."""
    is_unsaved: bool = False
    """The pending revision was made and its call answered, but the file could not be written."""

    @property
    def document(self) -> Document:
        """The cells as a document, to be found again in the file."""
        return Document(cells=self.cells, retired=self.retired)

    @property
    def changes(self) -> tuple[Revision, ...]:
        """Every numbered revision that is remembered, undone or not, oldest first."""
        return tuple(revision for revision in self.revisions if revision.kind == "change")

    @property
    def reverted(self) -> set[int]:
        """The numbers of the changes that are undone."""
        return {number for revision in self.revisions[: self.cursor] for number in revision.reverts}

    @property
    def standing(self) -> tuple[Revision, ...]:
        """The changes that are not undone, oldest first."""
        reverted = self.reverted
        return tuple(change for change in self.changes if change.number not in reverted)

    @property
    def redoable(self) -> Revision | None:
        """The undo that can be taken back next; None: nothing was undone, or something else was done since."""
        last = self.revisions[self.cursor - 1] if self.cursor else None
        return last if last is not None and last.kind == "undo" and last.left else None

    def find(self, key: str) -> Revision | None:
        """The revision of this call, if it was made."""
        return next((revision for revision in self.revisions if revision.key == key), None)

    def of(self, document: Document, ran: tuple[CellId, ...]) -> RevisionTimeline:
        """The same with the notebook as it is now."""
        return replace(self, cells=document.cells, retired=dict(document.retired), ran=ran)

    def append(self, revision: Revision) -> RevisionTimeline:
        """The revision is made. A change or an undo cuts off what is behind the cursor."""
        settled = self.without_pending()
        if revision.kind == "redo":
            return replace(settled, revisions=(*self.revisions, revision), cursor=self.cursor - 1)
        if revision.kind == "change":
            revision = replace(revision, number=self.forgotten + len(self.changes) + 1)
        revisions = (*self.revisions[: self.cursor], revision)
        forgotten = self.forgotten + sum(old.kind == "change" for old in revisions[:-_REVISIONS_KEPT])
        kept = revisions[-_REVISIONS_KEPT:]
        return replace(settled, revisions=kept, cursor=len(kept), forgotten=forgotten)

    def without_pending(self) -> RevisionTimeline:
        """What was begun did not happen."""
        return replace(self, pending=None, is_unsaved=False)

    def settled(self, file: Document) -> tuple[RevisionTimeline, Document]:
        """After a crash: with the pending revision if the file holds it, and the file's cells under their known ids.

        The timeline's own document is then what is known to be ours; what differs from it, somebody else wrote.
        """
        pending = self.pending
        if pending is None or not was_saved(pending, file):
            return self.without_pending(), with_known_ids(self.document, file)
        done = self.append(pending).of(self._document_after(pending), self.ran + pending.to_run)
        return done, with_known_ids(done.document, file)

    def _document_after(self, revision: Revision) -> Document:
        cells = {cell.id: cell for cell in self.cells}
        cells |= {change.id: change.after for change in revision.changes if change.after is not None}
        gone = {change.id: change.before.version for change in revision.changes if change.before and not change.after}
        kept = tuple(cells[cell] for cell in revision.order_after if cell in cells)
        return Document(cells=kept, retired={**self.retired, **gone})


def revision_between(key: str, before: Document, after: Document, to_run: tuple[CellId, ...] = ()) -> Revision:
    """The change that made the one of the other."""
    return Revision(
        key=key,
        changes=changes_between(before, after),
        order_before=tuple(cell.id for cell in before.cells),
        order_after=tuple(cell.id for cell in after.cells),
        to_run=to_run,
        left=fingerprint(after),
    )


def undo_key(oldest: Revision) -> str:
    """The key of an undo that no agent's call made."""
    return f"{oldest.key}{_UNDONE}{oldest.number}"


def fingerprint(document: Document) -> str:
    """The same for the same cells in the same order, whatever their versions."""
    cells = [(cell.id, cell.code, cell.name, repr(cell.config)) for cell in document.cells]
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()


def was_saved(revision: Revision, document: Document) -> bool:
    """Whether the document, read from the file, holds what the revision made."""
    contents = {(cell.code, cell.name) for cell in document.cells}
    made = [(change.after.code, change.after.name) for change in revision.changes if change.after is not None]
    if made:
        return all(content in contents for content in made)
    return not any((change.before.code, change.before.name) in contents for change in revision.changes if change.before)


def with_renamed_run(timeline: RevisionTimeline, run: str, other: str) -> RevisionTimeline:
    """The timeline as another run has it that goes on from this one's steps: its calls have other names."""

    def of(revision: Revision) -> Revision:
        key = revision.key
        # What was undone in the one is not for the other to redo.
        left = "" if revision.kind == "undo" else revision.left
        return replace(revision, key=other + key.removeprefix(run) if key.startswith(f"{run}/") else key, left=left)

    pending = None if timeline.pending is None else of(timeline.pending)
    return replace(timeline, revisions=tuple(of(revision) for revision in timeline.revisions), pending=pending)


# ── in its file, `desk.json`: earlier formats are read, too; only writing changes the file ──

_FORMAT: Final = 2


def read_timeline(path: Path) -> RevisionTimeline | None:
    """What is remembered; None where nothing is yet. Raises `Defect`. Blocking."""
    try:
        stored: Any = json.loads(path.read_bytes())
        if stored.get("format", 1) == _FORMAT:
            return _TIMELINE.validate_python(stored)
        return _upcast(_FIRST_FORMAT.validate_python(stored))
    except FileNotFoundError:
        return None
    except (ValidationError, ValueError, AttributeError) as error:
        raise Defect(f"The notebook's history in {str(path)!r} cannot be read: {error}.") from error


def write_timeline(path: Path, timeline: RevisionTimeline) -> None:
    """Replace what was remembered, all or nothing. Blocking."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    stored = {"format": _FORMAT, **_TIMELINE.dump_python(timeline, mode="json")}
    write_atomically(path, json.dumps(stored, separators=(",", ":")).encode())


_TIMELINE: Final = TypeAdapter(RevisionTimeline)


# ── the first format: undos stood among the turns, right behind what they undid or at the end ──


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn(Revision):
    is_undo: bool = False
    is_redone: bool = False
    """An undo that was taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _UndoRecord:
    turn: _Turn
    marks: tuple[str, ...] = ()
    """The keys of the turns that say what it undid; none: it is an agent's, and such a turn itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    cells: tuple[Cell, ...] = ()
    retired: dict[CellId, int] = field(default_factory=dict[CellId, int])
    ran: tuple[CellId, ...] = ()
    turns: tuple[_Turn, ...] = ()
    forgotten: int = 0
    undone: tuple[_UndoRecord, ...] = ()
    pending: _Turn | None = None
    is_unsaved: bool = False


_FIRST_FORMAT: Final = TypeAdapter(_State)


def _upcast(state: _State) -> RevisionTimeline:
    """The same history: what was undone stays so, and what could be redone can be."""
    undos = {record.turn.key: _revision(record.turn, "undo") for record in state.undone}
    undo_of = {mark: record.turn.key for record in state.undone for mark in record.marks or (record.turn.key,)}
    revisions, redone, standing = list[Revision](), list[Revision](), list[int]()
    number = state.forgotten
    for turn in state.turns:
        if not turn.is_undo:
            number += 1
            standing.append(number)
            revisions.append(replace(_revision(turn, "change"), number=number))
        elif turn.is_redone or not standing:
            redone.append(_revision(turn, "undo"))
        elif (key := undo_of.get(turn.key)) is not None:
            undos[key] = replace(undos[key], reverts=(standing.pop(), *undos[key].reverts))
        else:
            revisions.append(replace(_revision(turn, "undo"), reverts=(standing.pop(),), left=""))
    revisions += undos.values()
    pending = None if state.pending is None else _revision(state.pending, "undo" if state.pending.is_undo else "change")
    if pending is not None and pending.kind == "undo":
        pending = replace(pending, reverts=tuple(standing[-1:]))
    return RevisionTimeline(
        cells=state.cells,
        retired=state.retired,
        ran=state.ran,
        revisions=(*revisions, *redone),
        cursor=len(revisions),
        forgotten=state.forgotten,
        pending=pending,
        is_unsaved=state.is_unsaved,
    )


def _revision(turn: _Turn, kind: RevisionKind) -> Revision:
    return Revision(**{each.name: getattr(turn, each.name) for each in fields(Revision)} | {"kind": kind})
