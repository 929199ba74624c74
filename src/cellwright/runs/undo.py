"""Taking back what a run did to its notebook, cell by cell, on the file alone: no kernel is needed.

What a person changed since stays theirs, and is said. For a run that is not at work: the desk of one at work has the
notebook open, and would remember differently.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

import anyio.to_thread

from cellwright.errors import Unavailable, UserError
from cellwright.ids import CellId
from cellwright.notebook import (
    DEFAULT_NAME,
    Cell,
    Document,
    EditRefused,
    SaveConflict,
    apply_edits,
    read,
    save,
)
from cellwright.tools.cell_changes import Change, with_known_ids
from cellwright.tools.desk_memory import Memory, Turn, read_memory, turn_between, undoing, was_saved, write_memory

_SAVES: Final = 5
"""How often it is tried while somebody else keeps saving the file."""


class Attribution(NamedTuple):
    """Who last changed a cell, of the run's agents."""

    agent: str
    """The workflow of the agent: `RUN/agent:2`."""
    key: str
    """The call that did it, as the journal names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoableTurn:
    """One change an agent made."""

    number: int
    """1, 2, 3 … in the order they were made; the number stays when others are undone."""
    agent: str
    key: str
    cells: tuple[str, ...]
    """What became of which cells, in words: `changed monthly_revenue`."""
    is_undone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What was taken back."""

    turns: tuple[int, ...]
    """Newest first."""
    cells: tuple[str, ...]
    """Cells that are as they were before, in words; empty if they were so already."""
    kept: tuple[str, ...] = ()
    """Cells that somebody changed since: they stay as they are, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingToUndo:
    """Nothing is left that could be taken back."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoRefused:
    """It cannot be taken back as things stand; nothing was changed."""

    why: str


UndoOutcome = Undone | NothingToUndo | UndoRefused


def turns_of(memory: Path) -> tuple[UndoableTurn, ...]:
    """Every change the run's agents made, oldest first; none where nothing is remembered. Blocking."""
    known = read_memory(memory)
    return tuple(_told(turn) for turn in _numbered(known)) if known else ()


def attribution(memory: Path) -> dict[CellId, Attribution]:
    """Which agent's call made each cell what it is, without cells of people or changed by them since. Blocking."""
    known = read_memory(memory)
    if known is None:
        return {}
    now = {cell.id: cell for cell in known.cells}
    found: dict[CellId, Attribution] = {}
    for turn in _numbered(known):
        for change in turn.turn.changes if not turn.is_undone else ():
            cell = now.get(change.id)
            found.pop(change.id, None)
            if cell is not None and change.after is not None and cell.has_same_content(change.after):
                found[change.id] = Attribution(agent=agent_of(turn.turn.key), key=turn.turn.key)
    return found


async def undo_run(notebook: Path, memory: Path, *, step: int | None = None) -> UndoOutcome:
    """Take back everything a run did to the notebook, newest first, or only one of its changes.

    Raises `UserError` for a notebook that cannot be read or a step that never was, `Unavailable` if the file changes
    faster than it can be saved. A second time it says that nothing is left.
    """
    return await anyio.to_thread.run_sync(_undo, notebook, memory, step)


def agent_of(key: str) -> str:
    """The workflow whose call this was."""
    return key.rpartition("/")[0] or key


# ── the turns ──


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numbered:
    number: int
    turn: Turn
    is_undone: bool


def _numbered(memory: Memory) -> list[_Numbered]:
    """The turns that were not themselves an undo, with their numbers and whether they still stand."""
    found: list[_Numbered] = []
    standing: list[int] = []
    for turn in memory.turns:
        if turn.is_undo:
            if standing:
                at = standing.pop()
                found[at] = replace(found[at], is_undone=True)
        else:
            standing.append(len(found))
            found.append(_Numbered(number=len(found) + 1, turn=turn, is_undone=False))
    return found


def _told(turn: _Numbered) -> UndoableTurn:
    return UndoableTurn(
        number=turn.number,
        agent=agent_of(turn.turn.key),
        key=turn.turn.key,
        cells=tuple(_did(change) for change in turn.turn.changes),
        is_undone=turn.is_undone,
    )


def _did(change: Change) -> str:
    match change.before, change.after:
        case None, _:
            return f"added {_label(change.after)}"
        case _, None:
            return f"removed {_label(change.before)}"
        case before, after if before.code == after.code:
            return f"renamed {_label(after)}" if before.name != after.name else f"configured {_label(after)}"
        case _:
            return f"changed {_label(change.after)}"


def _label(cell: Cell | None) -> str:
    assert cell is not None
    if cell.name != DEFAULT_NAME:
        return cell.name
    first = next((line.strip() for line in cell.code.splitlines() if line.strip()), "")
    return f"{cell.id} ({first[:40]})" if first else str(cell.id)


# ── undoing them ──


def _undo(notebook: Path, memory: Path, step: int | None) -> UndoOutcome:
    known = read_memory(memory)
    if known is None:
        return NothingToUndo(why="Nothing is remembered of what this run did to a notebook.")
    for _ in range(_SAVES):
        file = read(notebook)
        settled, found = _as_it_is(known, file.document)
        chosen = _chosen(settled, step)
        if isinstance(chosen, NothingToUndo):
            return chosen
        plan = _plan(settled, found, chosen)
        if isinstance(plan, UndoRefused):
            return plan
        if not isinstance(save(replace(file, document=found), plan.document), SaveConflict):
            # The file first: if this process ends here, the next undo finds the cells as they were, and only remembers.
            write_memory(memory, plan.memory)
            return plan.undone
    raise Unavailable("The notebook's file changes faster than it can be saved.", hint="Try again.")


def _as_it_is(known: Memory, fresh: Document) -> tuple[Memory, Document]:
    """What is remembered, with a turn that a crash left pending settled, and the file's cells under their known ids."""
    pending = known.pending
    is_done = pending is not None and was_saved(pending, fresh)
    base = known.document_after(pending) if pending is not None and is_done else known.document
    settled = known.with_turn(pending) if pending is not None and is_done else known.without_pending()
    return settled, with_known_ids(base, fresh)


def _chosen(memory: Memory, step: int | None) -> list[_Numbered] | NothingToUndo:
    turns = _numbered(memory)
    if step is None:
        standing = [turn for turn in reversed(turns) if not turn.is_undone]
        return standing or NothingToUndo(why="Everything was undone already." if turns else "The run changed no cells.")
    if not 1 <= step <= len(turns):
        hint = f"It made the changes 1 to {len(turns)}." if turns else "It made no changes."
        raise UserError(f"The run has no change {step}.", hint=hint)
    turn = turns[step - 1]
    return NothingToUndo(why=f"Change {step} was undone already.") if turn.is_undone else [turn]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    document: Document
    memory: Memory
    undone: Undone


def _plan(memory: Memory, current: Document, chosen: Sequence[_Numbered]) -> _Plan | UndoRefused:
    document, kept = current, dict[CellId, Change]()
    back: dict[CellId, Change] = {}
    for turn in chosen:
        steps = undoing(turn.turn, document)
        after = apply_edits(document, steps.edits)
        if isinstance(after, EditRefused):
            return UndoRefused(why=f"Change {turn.number} cannot be undone: {after.message}")
        left = {change.id for change in steps.kept}
        kept |= {change.id: change for change in steps.kept if not _is_back(change, document)}
        back |= {change.id: change for change in turn.turn.changes if change.id not in left}
        document = after
    changed = _differing(current, document, back)
    later = _later_turns(memory, chosen)
    told = tuple(_why_kept(change, current, later) for cell, change in kept.items() if cell not in changed)
    numbers = tuple(turn.number for turn in chosen)
    undone = Undone(turns=numbers, cells=tuple(_undid(change) for change in changed.values()), kept=told)
    return _Plan(document=document, memory=_remembering(memory, chosen, current, document), undone=undone)


def _is_back(change: Change, document: Document) -> bool:
    """Whether the cell is as it was before the turn already."""
    now = document.find(change.id)
    if now is None or change.before is None:
        return now is None and change.before is None
    return now.has_same_content(change.before)


def _differing(before: Document, after: Document, back: dict[CellId, Change]) -> dict[CellId, Change]:
    """The cells that the undoing really changes."""
    old, new = {cell.id: cell for cell in before.cells}, {cell.id: cell for cell in after.cells}
    found: dict[CellId, Change] = {}
    for cell in back:
        was, becomes = old.get(cell), new.get(cell)
        is_same = was is becomes is None or (was is not None and becomes is not None and was.has_same_content(becomes))
        if not is_same:
            found[cell] = Change(before=was, after=becomes)
    return found


def _undid(change: Change) -> str:
    match change.before, change.after:
        case None, _:
            return f"brought back {_label(change.after)}"
        case _, None:
            return f"removed {_label(change.before)}"
        case _:
            return f"restored {_label(change.after)}"


def _later_turns(memory: Memory, chosen: Sequence[_Numbered]) -> list[_Numbered]:
    numbers = {turn.number for turn in chosen}
    return [turn for turn in _numbered(memory) if not turn.is_undone and turn.number not in numbers]


def _why_kept(change: Change, current: Document, later: Iterable[_Numbered]) -> str:
    now = current.find(change.id)
    for turn in later:
        for other in turn.turn.changes:
            is_as_left = now is not None and other.after is not None and now.has_same_content(other.after)
            if other.id == change.id and (is_as_left or (now is None and other.after is None)):
                return f"{_label(now or change.after or change.before)}: change {turn.number} of this run came later"
    if now is None:
        return f"{_label(change.after or change.before)}: somebody removed it since"
    return f"{_label(now)}: somebody changed it since"


def _remembering(memory: Memory, chosen: Sequence[_Numbered], before: Document, after: Document) -> Memory:
    """Each turn that was undone is followed by one that undid it: so the desk counts, and the numbers stay."""
    numbers, number = {turn.number for turn in chosen}, 0
    turns: list[Turn] = []
    for turn in memory.turns:
        turns.append(turn)
        number += not turn.is_undo
        if number in numbers and not turn.is_undo:
            nothing = turn_between(f"{turn.key}/undone-{number}", after, after, ())
            turns.append(replace(nothing, is_undo=True))
    same = {cell.id for cell in after.cells if (old := before.find(cell.id)) and old.code == cell.code}
    remembered = memory.of(after, tuple(cell for cell in memory.ran if cell in same))
    return replace(remembered, turns=tuple(turns))
