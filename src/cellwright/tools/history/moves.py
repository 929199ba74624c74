"""What going back or forward on the timeline makes of a notebook as it is, decided from values.

The same for a file and for a notebook that is open. What somebody made of a cell since is theirs: it stays and is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, assert_never

from cellwright.errors import UserError
from cellwright.ids import CellId
from cellwright.notebook.document import DEFAULT_NAME, Cell, Document
from cellwright.notebook.edits import After, Edit, EditRefused, apply_edits, restore_edits
from cellwright.tools.history.timeline import Revision, RevisionTimeline, fingerprint, revision_between, undo_key
from cellwright.tools.notebook.cell_changes import CellDiff, changes_between, place_in, still_in_order

_MOST_NAMED: Final = 5

# ── where to ──


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoLast:
    """Before the last change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoAll:
    """Before the first change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoChange:
    """Without one change."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoAgent:
    """Without the changes of one agent, known by its workflow."""

    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoCell:
    """One cell as it was before one change; it is no revision, and cannot be redone."""

    number: int
    cell: CellId


@dataclass(frozen=True, slots=True, kw_only=True)
class Redo:
    """Before the last undo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeCell:
    """Right before this cell, by id or name, last ran. Only where its kernel is: such states are in no file."""

    cell: str
    key: str
    """Of the change that this is."""


PlannedTarget = UndoLast | UndoAll | UndoChange | UndoAgent | UndoCell | Redo
Target = PlannedTarget | BeforeCell

# ── what came of it ──

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
class Moved:
    """The notebook is what it was."""

    revisions: tuple[int, ...] = ()
    """The changes that were undone, newest first."""
    cells: tuple[str, ...] = ()
    """Cells that are as they were, in words; empty if they were so already."""
    kept: tuple[str, ...] = ()
    """Cells that somebody changed since: they stay as they are, in words."""
    by: RestoreMethod = "cells"


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingToMove:
    """There is nothing to undo or redo."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRefused:
    """It cannot be done as things stand; nothing was changed."""

    why: str


NotMoved = NothingToMove | MoveRefused
HistoryOutcome = Moved | NotMoved


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What a target makes of the notebook and of the timeline."""

    document: Document
    outcome: Moved
    revision: Revision | None = None
    """How the timeline remembers it; None: it is no revision."""
    state_before: Revision | None = None
    """All that is asked for is the notebook as it was before this change: then variables and files go back, too."""


def plan(timeline: RevisionTimeline, current: Document, target: PlannedTarget, key: str = "") -> Move | NotMoved:
    """What the target makes of the notebook as it is, for the call of this key.

    Raises `UserError` for a change that never was.
    """
    standing = timeline.standing
    match target:
        case UndoLast():
            return _undo(timeline, current, standing[-1:], key) or NothingToMove(why="There is nothing left to undo.")
        case UndoAll():
            why = "Everything was undone already." if timeline.changes else "The run changed no cells."
            return _undo(timeline, current, standing, key) or NothingToMove(why=why)
        case UndoChange(number=number):
            chosen = _numbered(timeline, number)
            why = f"Change {number} was undone already."
            return _undo(timeline, current, [chosen] if chosen in standing else [], key) or NothingToMove(why=why)
        case UndoAgent(agent=agent):
            made = [change for change in standing if change.agent == agent]
            return _undo(timeline, current, made, key) or NothingToMove(why="It changed no cells.")
        case UndoCell(number=number, cell=cell):
            return _undo_cell(timeline, current, number, cell)
        case Redo():
            return _redo(timeline, current, key)
        case _:
            assert_never(target)


# ── undo ──


def _numbered(timeline: RevisionTimeline, number: int) -> Revision:
    changes = timeline.changes
    chosen = next((change for change in changes if change.number == number), None)
    if chosen is None:
        hint = f"It made the changes {changes[0].number} to {changes[-1].number}." if changes else "It made no changes."
        raise UserError(f"The run has no change {number}.", hint=hint)
    return chosen


def _undo(
    timeline: RevisionTimeline, current: Document, chosen: Sequence[Revision], key: str
) -> Move | MoveRefused | None:
    """Without these changes, the newest first; None where there are none."""
    if not chosen:
        return None
    document, kept, back = current, dict[CellId, CellDiff](), list[CellId]()
    for change in reversed(chosen):
        edits, theirs = plan_undo(change, document)
        after = apply_edits(document, edits)
        if isinstance(after, EditRefused):
            return MoveRefused(why=f"Change {change.number} cannot be undone: {after.message}")
        left = {diff.id for diff in theirs}
        kept |= {diff.id: diff for diff in theirs if not _is_back(diff, document)}
        back += [diff.id for diff in change.changes if diff.id not in left]
        document = after
    numbers = tuple(change.number for change in reversed(chosen))
    undone = {diff.id: diff for diff in changes_between(current, document) if diff.id in back}
    others = [change for change in timeline.standing if change.number not in numbers]
    outcome = Moved(
        revisions=numbers,
        cells=tuple(_undone_text(undone[cell]) for cell in dict.fromkeys(back) if cell in undone),
        kept=tuple(_why_kept(diff, current, others) for cell, diff in kept.items() if cell not in undone),
    )
    oldest = chosen[0]
    revision = revision_between(key or undo_key(oldest), current, document, _changed(current, document))
    is_change = revision.changes or revision.order_before != revision.order_after
    return Move(
        document=document,
        outcome=outcome,
        revision=replace(revision, kind="undo", reverts=numbers, left=revision.left if is_change else ""),
        # Nothing was done after them that stays.
        state_before=oldest if not kept and timeline.standing[-len(chosen) :] == tuple(chosen) else None,
    )


def plan_undo(revision: Revision, current: Document) -> tuple[list[Edit], tuple[CellDiff, ...]]:
    """What brings back the cells as they were before the revision, and those that somebody changed since: they stay."""
    target, kept = {cell.id: cell for cell in current.cells}, list[CellDiff]()
    back: list[CellId] = []
    for change in revision.changes:
        now = target.get(change.id)
        if not is_same_cell(change.after, now):
            kept.append(change)
        elif change.before is None:
            target.pop(change.id, None)
        else:
            target[change.id] = replace(change.before, version=now.version if now else change.before.version)
            back += [] if now else [change.id]
    wanted = Document(cells=tuple(target[cell] for cell in _order(revision, current, target, back)))
    return restore_edits(current, wanted), tuple(kept)


def _order(revision: Revision, current: Document, target: dict[CellId, Cell], back: list[CellId]) -> list[CellId]:
    """As before it, unless somebody has moved, added or removed cells since: then only what came back is put."""
    now = [cell.id for cell in current.cells]
    if tuple(now) == revision.order_after:
        before = [cell for cell in revision.order_before if cell in target]
        return before + [cell for cell in now if cell in target and cell not in before]
    order = [cell for cell in now if cell in target]
    for cell in back:
        here = Document(cells=tuple(target[known] for known in order))
        place = place_in(cell, revision.order_before, here)
        order.insert(order.index(place.cell) + 1 if isinstance(place, After) else 0, cell)
    return order


def _is_back(diff: CellDiff, document: Document) -> bool:
    return is_same_cell(diff.before, document.find(diff.id))


def is_same_cell(one: Cell | None, other: Cell | None) -> bool:
    """Whether they have the same content, or neither is there."""
    return one is other is None or (one is not None and other is not None and one.has_same_content(other))


def _changed(before: Document, after: Document) -> tuple[CellId, ...]:
    return tuple(diff.id for diff in changes_between(before, after) if diff.after is not None)


# ── one cell ──


def _undo_cell(timeline: RevisionTimeline, current: Document, number: int, cell: CellId) -> Move | MoveRefused:
    change = next((change for change in timeline.changes if change.number == number), None)
    if change is None:
        return MoveRefused(why=f"The run has no change {number}.")
    diff = next((diff for diff in change.changes if diff.id == cell), None)
    if diff is None:
        edits = _move_back(change, current, cell)
        if isinstance(edits, MoveRefused):
            return edits
    elif _is_back(diff, current):
        edits = []
    else:
        # Of this one cell alone: where the others stand is not looked at.
        edits, theirs = plan_undo(replace(change, changes=(diff,), order_after=()), current)
        if theirs:
            others = [other for other in timeline.standing if other.number != number]
            return MoveRefused(why=f"{_why_kept(diff, current, others)}.")
    after = apply_edits(current, edits)
    if isinstance(after, EditRefused):
        return MoveRefused(why=after.message)
    texts = tuple(_undone_text(each) for each in changes_between(current, after))
    cells = texts or ((f"moved {_label(current.find(cell))}",) if edits else ())
    return Move(document=after, outcome=Moved(revisions=(number,), cells=cells))


def moved_cells(revision: Revision) -> tuple[CellId, ...]:
    """The cells that a revision moved and did not otherwise change."""
    changed = {change.id for change in revision.changes}
    both = set(revision.order_before) & set(revision.order_after)
    before = [cell for cell in revision.order_before if cell in both]
    after = [cell for cell in revision.order_after if cell in both]
    unmoved = still_in_order(before, after)
    return tuple(cell for cell in after if cell not in unmoved and cell not in changed)


def _move_back(revision: Revision, current: Document, cell: CellId) -> list[Edit] | MoveRefused:
    moved = current.find(cell)
    if cell not in moved_cells(revision):
        return MoveRefused(why=f"The change did not touch the cell {cell!r}.")
    if moved is None:
        return MoveRefused(why="Somebody removed the cell since.")
    others = [each for each in current.cells if each.id != cell]
    place = place_in(cell, revision.order_before, Document(cells=tuple(others)))
    at = [each.id for each in others].index(place.cell) + 1 if isinstance(place, After) else 0
    return restore_edits(current, replace(current, cells=(*others[:at], moved, *others[at:])))


# ── redo ──


def _redo(timeline: RevisionTimeline, current: Document, key: str) -> Move | NotMoved:
    undo = timeline.redoable
    if undo is None:
        return NothingToMove(why="There is nothing to redo: nothing was undone, or something else was done since.")
    document = _redone_already(timeline, undo, current)
    if document is not None:
        current = document
    else:
        if undo.left != fingerprint(current):
            # Which cells differ from what is remembered; nothing where that is not known any more.
            changed = [change_text(change) for change in changes_between(timeline.document, current)]
            where = f" ({', '.join(changed[:_MOST_NAMED])})" if changed else ""
            return MoveRefused(why=f"Somebody changed the notebook since the undo{where}.")
        document = apply_edits(current, plan_undo(undo, current)[0])
        if isinstance(document, EditRefused):
            return MoveRefused(why=f"It cannot be redone: {document.message}")
    cells = tuple(change_text(change) for change in changes_between(current, document))
    to_run = undo.ran_before or _changed(current, document)
    revision = revision_between(key or f"{undo.key}/redone", current, document, to_run)
    return Move(document=document, outcome=Moved(cells=cells), revision=replace(revision, kind="redo"))


def _redone_already(timeline: RevisionTimeline, undo: Revision, current: Document) -> Document | None:
    """The notebook as redone, if the file is that already: a process ended before it could remember so."""
    if fingerprint(timeline.document) != undo.left:
        return None
    redone = apply_edits(timeline.document, plan_undo(undo, timeline.document)[0])
    if isinstance(redone, EditRefused) or len(redone.cells) != len(current.cells):
        return None
    pairs = zip(redone.cells, current.cells, strict=True)
    is_same = all(mine.has_same_content(theirs) for mine, theirs in pairs)
    return replace(current, cells=redone.cells, retired=redone.retired) if is_same else None


# ── in words ──


def change_text(change: CellDiff) -> str:
    """What a change made of a cell: `changed monthly_revenue`."""
    match change.before, change.after:
        case None, _:
            return f"added {_label(change.after)}"
        case _, None:
            return f"removed {_label(change.before)}"
        case before, after if before.code == after.code:
            return f"renamed {_label(after)}" if before.name != after.name else f"configured {_label(after)}"
        case _:
            return f"changed {_label(change.after)}"


def _undone_text(change: CellDiff) -> str:
    if change.after is None:
        return f"removed {_label(change.before)}"
    return f"{'brought back' if change.before is None else 'restored'} {_label(change.after)}"


def _label(cell: Cell | None) -> str:
    """What a person may know the cell by."""
    assert cell is not None
    if cell.name != DEFAULT_NAME:
        return cell.name
    first = next((line.strip() for line in cell.code.splitlines() if line.strip()), "")
    return f"{cell.id} ({first[:40]})" if first else str(cell.id)


def _why_kept(change: CellDiff, current: Document, later: Iterable[Revision]) -> str:
    """Who changed the cell since."""
    now = current.find(change.id)
    for revision in later:
        if any(other.id == change.id and is_same_cell(other.after, now) for other in revision.changes):
            label = _label(now or change.after or change.before)
            return f"{label}: change {revision.number} of this run came later"
    if now is None:
        return f"{_label(change.after or change.before)}: somebody removed it since"
    return f"{_label(now)}: somebody changed it since"
