"""What a kernel has to change and to run: worked out from values, nothing is sent here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from cellwright.ids import CellId
from cellwright.kernel.observation import CellOutcome
from cellwright.kernel.process.call import CellSelection
from cellwright.notebook.document import Cell, Document

Outcomes = Mapping[CellId, CellOutcome]


def knows(known: Cell | None, cell: Cell) -> bool:
    """Whether the kernel has this cell as it is. Unchanged cells are the same objects, so this is quick for most."""
    return known is cell or (
        known is not None and (known.code, known.config.disabled) == (cell.code, cell.config.disabled)
    )


def changed_code(before: Document, after: Document) -> set[CellId]:
    """The cells that are new or have other code."""
    old = {cell.id: cell for cell in before.cells}
    pairs = ((cell, old.get(cell.id)) for cell in after.cells)
    return {cell.id for cell, known in pairs if known is not cell and (known is None or known.code != cell.code)}


def cells_to_run(run: CellSelection | str, before: Document, after: Document, stale: set[CellId]) -> set[CellId]:
    """The cells a call names; what depends on them is for the kernel to find."""
    match run:
        case "none":
            return set()
        case "all":
            return {cell.id for cell in after.cells}
        case "stale":
            return stale
        case "affected":
            old = {cell.id: cell for cell in before.cells}
            return {cell.id for cell in after.cells if not knows(old.get(cell.id), cell)}
        case cells:
            return {CellId(cell) for cell in cells}


def stale_cells(document: Document, outcomes: Outcomes, reported: AbstractSet[CellId]) -> set[CellId]:
    """What has not run well, and what the kernel reported as stale."""
    fresh = {cell for cell, outcome in outcomes.items() if outcome.status in ("ok", "stopped")}
    return {cell.id for cell in document.cells if cell.id not in fresh} | reported


def cells_that_ran(outcomes: Outcomes) -> set[CellId]:
    """What the next kernel has to run again."""
    return {cell for cell, outcome in outcomes.items() if outcome.status == "ok"}


def cells_to_replay(outcomes: Outcomes, last: Iterable[CellOutcome]) -> set[CellId]:
    """After a loss, everything that had run is replayed, except the cell that took the kernel down."""
    statuses = [(outcome.id, outcome.status) for outcome in last]
    ran = cells_that_ran(outcomes) | {cell for cell, status in statuses if status == "ok"}
    return ran - {cell for cell, status in statuses if status == "lost"}
