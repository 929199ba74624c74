"""Where a journey to before a cell leads, and what stands in its way: decided from values, nothing is done here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from cellwright.ids import CellId
from cellwright.kernel import OpenNotebook
from cellwright.notebook import Cell, Document
from cellwright.tools.cell_changes import changes_between
from cellwright.tools.desk_memory import Turn

_MOST_NAMED: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """What the notebook was right before a cell ran."""

    cell: CellId
    document: Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreachable:
    """It cannot be gone there; nothing was changed."""

    why: str


def destination(notebook: OpenNotebook, cell: str, turns: Sequence[Turn]) -> Destination | Unreachable:
    """The state before this cell, known by id or name, last ran in a turn; `turns` are all that are remembered."""
    checkpoints, now = notebook.checkpoints, notebook.document
    known = next((each.id for each in now.cells if cell in (each.id, each.name)), CellId(cell))
    kept = checkpoints.before(known)
    if kept is None:
        names = [notebook.name_of(each) for each in checkpoints.kept_cells]
        listed = ", ".join(names[-_MOST_NAMED:]) or "none"
        return Unreachable(why=f"No state before the cell {cell!r} is kept. Cells one can go before: {listed}.")
    then = kept.cells_then or kept.stand.notebook.document
    theirs = _made_by_others(then, now, turns)
    if theirs:
        names = [notebook.name_of(each) for each in theirs]
        return Unreachable(why=f"Somebody else changed cells since, which would be lost: {', '.join(names)}.")
    return Destination(cell=known, document=then)


def _made_by_others(then: Document, now: Document, turns: Sequence[Turn]) -> list[CellId]:
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
