"""Undo: what a run did to its notebook is taken back, revision by revision, live or in the file alone.

What a person changed since stays theirs, and is said. The notebook of a run at work is open, and its editor would
remember differently: there it is undone live.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import anyio.to_thread

from cellwright.errors import Unavailable, UserError
from cellwright.ids import CellId
from cellwright.notebook import DEFAULT_NAME, Cell, Document, EditRefused, SaveConflict, apply_edits, read, save
from cellwright.tools.notebook.cell_changes import CellDiff, with_known_ids
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.restoration import RestoreMethod
from cellwright.tools.notebook.revisions import (
    Amend,
    Amendment,
    EditorState,
    Revision,
    UndoRecord,
    plan_undo,
    read_editor_state,
    revision_between,
    was_saved,
    write_editor_state,
)

_SAVES: Final = 5
"""How often it is tried while somebody else keeps saving the file."""
T = TypeVar("T")


def amend_file(notebook: Path, memory: Path, plan: Amend[T], nothing: T) -> T:
    """Change the file as planned; `nothing` where nothing is remembered. For a run that is not at work. Blocking.

    Raises `UserError` for a notebook that cannot be read, `Unavailable` if it changes faster than it can be saved.
    """
    known = read_editor_state(memory)
    if known is None:
        return nothing
    for _ in range(_SAVES):
        file = read(notebook)
        settled, found = _settled(known, file.document)
        amended = plan(settled, found)
        if not isinstance(amended, Amendment):
            return amended
        if not isinstance(save(replace(file, document=found), amended.document), SaveConflict):
            # The file first: if this process ends here, the next undo finds the cells as they were, and only remembers.
            write_editor_state(memory, amended.memory)
            return amended.outcome
    raise Unavailable("The notebook's file changes faster than it can be saved.", hint="Try again.")


def _settled(known: EditorState, fresh: Document) -> tuple[EditorState, Document]:
    """What is remembered, with a turn that a crash left pending settled, and the file's cells under their known ids."""
    pending = known.pending
    is_done = pending is not None and was_saved(pending, fresh)
    base = known.document_after(pending) if pending is not None and is_done else known.document
    settled = known.with_turn(pending) if pending is not None and is_done else known.without_pending()
    return settled, with_known_ids(base, fresh)


def memory_after(memory: EditorState, before: Document, after: Document) -> EditorState:
    """What is remembered once the notebook is as in `after`: cells that are other ones now have not run."""
    same = {cell.id for cell in after.cells if (old := before.find(cell.id)) and old.code == cell.code}
    return memory.of(after, tuple(cell for cell in memory.ran if cell in same))


class Attribution(NamedTuple):
    """Who last changed a cell, of the run's agents."""

    agent: str
    """The workflow of the agent: `RUN/agent:2`."""
    key: str
    """The call that did it, as the journal names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoableRevision:
    """One change an agent made."""

    number: int
    """1, 2, 3 … in the order they were made; the number stays when others are undone."""
    agent: str
    key: str
    cells: tuple[str, ...]
    """What became of which cells, in words: `changed monthly_revenue`."""
    is_undone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoneRevisions:
    """What was taken back."""

    turns: tuple[int, ...]
    """Newest first."""
    cells: tuple[str, ...]
    """Cells that are as they were before, in words; empty if they were so already."""
    kept: tuple[str, ...] = ()
    """Cells that somebody changed since: they stay as they are, in words."""
    by: RestoreMethod = "cells"
    """How: by a checkpoint or a replay all of the notebook's state went back, else only cells did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoRevisionToUndo:
    """Nothing is left that could be taken back."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoRefused:
    """It cannot be taken back as things stand; nothing was changed."""

    why: str


UndoOutcome = UndoneRevisions | NoRevisionToUndo | UndoRefused


def revisions_of(memory: Path) -> tuple[UndoableRevision, ...]:
    """Every change the run's agents made, oldest first; none where nothing is remembered. Blocking."""
    known = read_editor_state(memory)
    return tuple(_undoable(turn) for turn in numbered_revisions(known)) if known else ()


def attribution(memory: Path) -> dict[CellId, Attribution]:
    """Which agent's call made each cell what it is, without cells of people or changed by them since. Blocking."""
    known = read_editor_state(memory)
    if known is None:
        return {}
    now = {cell.id: cell for cell in known.cells}
    found: dict[CellId, Attribution] = {}
    for turn in numbered_revisions(known):
        for change in turn.turn.changes if not turn.is_undone else ():
            cell = now.get(change.id)
            found.pop(change.id, None)
            if cell is not None and change.after is not None and cell.has_same_content(change.after):
                found[change.id] = Attribution(agent=agent_of(turn.turn.key), key=turn.turn.key)
    return found


async def undo_in_file(notebook: Path, memory: Path, *, step: int | None = None) -> UndoOutcome:
    """Take back everything a run did to the notebook, newest first, or only one of its changes.

    Raises `UserError` for a notebook that cannot be read or a step that never was, `Unavailable` if the file changes
    faster than it can be saved. A second time it says that nothing is left.
    """
    nothing = NoRevisionToUndo(why="Nothing is remembered of what this run did to a notebook.")

    def work() -> UndoOutcome:
        return amend_file(notebook, memory, lambda known, found: undo_plan(known, found, step), nothing)

    return _by(await anyio.to_thread.run_sync(work), "file")


async def undo_live(desk: NotebookEditor, *, step: int | None = None) -> UndoOutcome:
    """The same for a run at work, at the desk that has its notebook open.

    Its newest changes go back as state: cells, outputs, variables and files together. One in the midst of others, or
    one whose cells somebody changed since, goes back as cells.
    """
    return _by(*await desk.amend_telling(lambda known, found: undo_plan(known, found, step)))


async def undo_agent_live(desk: NotebookEditor, agent: str) -> UndoOutcome:
    """Take back everything one agent of a run at work did to the notebook."""
    return _by(*await desk.amend_telling(lambda known, found: _agents_plan(known, found, agent)))


def _by(outcome: UndoOutcome, by: RestoreMethod) -> UndoOutcome:
    return replace(outcome, by=by) if isinstance(outcome, UndoneRevisions) else outcome


def agent_of(key: str) -> str:
    """The workflow whose call this was."""
    return key.rpartition("/")[0] or key


# ── the turns ──


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedRevision:
    """A turn under the number it is known by."""

    number: int
    turn: Revision
    is_undone: bool


def numbered_revisions(memory: EditorState) -> list[NumberedRevision]:
    """The turns that were not themselves an undo, with their numbers and whether they still stand."""
    found: list[NumberedRevision] = []
    standing: list[int] = []
    for turn in memory.turns:
        if turn.is_undo:
            if standing and not turn.is_redone:
                at = standing.pop()
                found[at] = replace(found[at], is_undone=True)
        else:
            standing.append(len(found))
            number = memory.forgotten + len(found) + 1
            found.append(NumberedRevision(number=number, turn=turn, is_undone=False))
    return found


def _undoable(turn: NumberedRevision) -> UndoableRevision:
    return UndoableRevision(
        number=turn.number,
        agent=agent_of(turn.turn.key),
        key=turn.turn.key,
        cells=tuple(describe_change(change) for change in turn.turn.changes),
        is_undone=turn.is_undone,
    )


def describe_change(change: CellDiff) -> str:
    """What a change made of a cell, in words: `changed monthly_revenue`."""
    match change.before, change.after:
        case None, _:
            return f"added {cell_label(change.after)}"
        case _, None:
            return f"removed {cell_label(change.before)}"
        case before, after if before.code == after.code:
            return f"renamed {cell_label(after)}" if before.name != after.name else f"configured {cell_label(after)}"
        case _:
            return f"changed {cell_label(change.after)}"


def cell_label(cell: Cell | None) -> str:
    """What a person may know the cell by."""
    assert cell is not None
    if cell.name != DEFAULT_NAME:
        return cell.name
    first = next((line.strip() for line in cell.code.splitlines() if line.strip()), "")
    return f"{cell.id} ({first[:40]})" if first else str(cell.id)


# ── undoing them ──


def undo_plan(memory: EditorState, current: Document, step: int | None) -> Amendment[UndoOutcome] | UndoOutcome:
    """What undoing everything, or one change, makes of the notebook as it is. Raises `UserError`."""
    chosen = _chosen(memory, step)
    return chosen if isinstance(chosen, NoRevisionToUndo) else _plan(memory, current, chosen)


def _agents_plan(memory: EditorState, current: Document, agent: str) -> Amendment[UndoOutcome] | UndoOutcome:
    made = [
        turn for turn in reversed(numbered_revisions(memory)) if not turn.is_undone and agent_of(turn.turn.key) == agent
    ]
    return _plan(memory, current, made) if made else NoRevisionToUndo(why="It changed no cells.")


def _chosen(memory: EditorState, step: int | None) -> list[NumberedRevision] | NoRevisionToUndo:
    turns = numbered_revisions(memory)
    if step is None:
        standing = [turn for turn in reversed(turns) if not turn.is_undone]
        return standing or NoRevisionToUndo(
            why="Everything was undone already." if turns else "The run changed no cells."
        )
    turn = next((turn for turn in turns if turn.number == step), None)
    if turn is None:
        hint = f"It made the changes {turns[0].number} to {turns[-1].number}." if turns else "It made no changes."
        raise UserError(f"The run has no change {step}.", hint=hint)
    return NoRevisionToUndo(why=f"Change {step} was undone already.") if turn.is_undone else [turn]


def _plan(
    memory: EditorState, current: Document, chosen: Sequence[NumberedRevision]
) -> Amendment[UndoneRevisions] | UndoRefused:
    document, kept = current, dict[CellId, CellDiff]()
    back: dict[CellId, CellDiff] = {}
    for turn in chosen:
        steps = plan_undo(turn.turn, document)
        after = apply_edits(document, steps.edits)
        if isinstance(after, EditRefused):
            return UndoRefused(why=f"Change {turn.number} cannot be undone: {after.message}")
        left = {change.id for change in steps.kept}
        kept |= {change.id: change for change in steps.kept if not is_back(change, document)}
        back |= {change.id: change for change in turn.turn.changes if change.id not in left}
        document = after
    changed = _differing(current, document, back)
    later = _later_revisions(memory, chosen)
    told = tuple(why_kept(change, current, later) for cell, change in kept.items() if cell not in changed)
    numbers = tuple(turn.number for turn in chosen)
    undone = UndoneRevisions(turns=numbers, cells=tuple(_undid(change) for change in changed.values()), kept=told)
    remembered = _memory_of_undo(memory, chosen, current, document)
    oldest = chosen[-1].turn if not kept and _are_newest(memory, chosen) else None
    return Amendment(document=document, memory=remembered, outcome=undone, before_turn=oldest)


def _are_newest(memory: EditorState, chosen: Sequence[NumberedRevision]) -> bool:
    """Whether nothing was done after them that stays."""
    standing = [turn.number for turn in numbered_revisions(memory) if not turn.is_undone]
    return standing[-len(chosen) :] == sorted(turn.number for turn in chosen)


def is_back(change: CellDiff, document: Document) -> bool:
    """Whether the cell is as it was before the turn already."""
    now = document.find(change.id)
    if now is None or change.before is None:
        return now is None and change.before is None
    return now.has_same_content(change.before)


def _differing(before: Document, after: Document, back: dict[CellId, CellDiff]) -> dict[CellId, CellDiff]:
    """The cells that the undoing really changes."""
    old, new = {cell.id: cell for cell in before.cells}, {cell.id: cell for cell in after.cells}
    found: dict[CellId, CellDiff] = {}
    for cell in back:
        was, becomes = old.get(cell), new.get(cell)
        is_same = was is becomes is None or (was is not None and becomes is not None and was.has_same_content(becomes))
        if not is_same:
            found[cell] = CellDiff(before=was, after=becomes)
    return found


def _undid(change: CellDiff) -> str:
    match change.before, change.after:
        case None, _:
            return f"brought back {cell_label(change.after)}"
        case _, None:
            return f"removed {cell_label(change.before)}"
        case _:
            return f"restored {cell_label(change.after)}"


def _later_revisions(memory: EditorState, chosen: Sequence[NumberedRevision]) -> list[NumberedRevision]:
    numbers = {turn.number for turn in chosen}
    return [turn for turn in numbered_revisions(memory) if not turn.is_undone and turn.number not in numbers]


def why_kept(change: CellDiff, current: Document, later: Iterable[NumberedRevision]) -> str:
    """Who changed the cell since, in words."""
    now = current.find(change.id)
    for turn in later:
        for other in turn.turn.changes:
            is_as_left = now is not None and other.after is not None and now.has_same_content(other.after)
            if other.id == change.id and (is_as_left or (now is None and other.after is None)):
                return (
                    f"{cell_label(now or change.after or change.before)}: change {turn.number} of this run came later"
                )
    if now is None:
        return f"{cell_label(change.after or change.before)}: somebody removed it since"
    return f"{cell_label(now)}: somebody changed it since"


def _memory_of_undo(
    memory: EditorState, chosen: Sequence[NumberedRevision], before: Document, after: Document
) -> EditorState:
    """Each turn that was undone is followed by one that undid it: so the desk counts, and the numbers stay."""
    numbers, number = {turn.number for turn in chosen}, memory.forgotten
    turns, marks = list[Revision](), list[str]()
    for turn in memory.turns:
        turns.append(turn)
        number += not turn.is_undo
        if number in numbers and not turn.is_undo:
            nothing = revision_between(f"{turn.key}/undone-{number}", after, after, ())
            turns.append(replace(nothing, is_undo=True))
            marks.append(nothing.key)
    remembered = replace(memory_after(memory, before, after), turns=tuple(turns))
    undo = revision_between(marks[-1], before, after, ())
    is_change = undo.changes or undo.order_before != undo.order_after
    return remembered.with_undo(UndoRecord(turn=undo, marks=tuple(marks))) if is_change else remembered
