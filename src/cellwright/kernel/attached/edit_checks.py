"""What edits of an attached notebook would do, judged before anything is sent; and the same as orders for its kernel.

A stock kernel knows only the cells that ran, so it accepts a second definition beside one that did not: the whole
document is checked here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, assert_never

from cellwright.ids import CellId
from cellwright.kernel.process.call import CellSelection
from cellwright.notebook.consequences import Consequences, foresee
from cellwright.notebook.document import DEFAULT_NAME, SETUP_ID, SETUP_NAME, Document
from cellwright.notebook.edits import (
    ConfigureCell,
    CreateCell,
    DeleteCell,
    Edit,
    EditCell,
    EditRefused,
    MoveCell,
    RenameCell,
)
from cellwright.notebook.marimo_file import new_cell_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Sound:
    """Edits that marimo would refuse no cell after, and what is to run."""

    document: Document
    run: tuple[CellId, ...]


def with_ids(edits: Sequence[Edit], document: Document) -> list[Edit]:
    """The edits with an id for each new cell, so that they can be begun more than once."""
    taken = {cell.id for cell in document.cells}
    made: list[Edit] = []
    for edit in edits:
        if isinstance(edit, CreateCell) and edit.id is None and edit.name != SETUP_NAME:
            edit = replace(edit, id=new_cell_id(taken))
        if isinstance(edit, CreateCell) and edit.id is not None:
            taken.add(edit.id)
        made.append(edit)
    return made


def check_edits(
    document: Document, edits: Sequence[Edit], run: CellSelection, stale: Sequence[CellId]
) -> Sound | EditRefused:
    """What the notebook would be and what would run; refused if the edits break something that was whole."""
    foreseen = foresee(document, edits)
    if isinstance(foreseen, EditRefused):
        return foreseen
    if edits and (refused := _broken(document, edits, foreseen)) is not None:
        return refused
    return Sound(document=foreseen.document, run=_to_run(foreseen, run, stale))


def _to_run(foreseen: Consequences, run: CellSelection, stale: Sequence[CellId]) -> tuple[CellId, ...]:
    match run:
        case "none":
            return ()
        case "all":
            return tuple(cell.id for cell in foreseen.document.cells if cell.code.strip() and not cell.config.disabled)
        case "stale":
            wanted = {*stale, *foreseen.changed}
            return tuple(cell.id for cell in foreseen.document.cells if cell.id in wanted)
        case "affected":
            # Of what depends on them marimo itself runs what the notebook's own settings say.
            changed = tuple(cell for cell in foreseen.would_run if cell in foreseen.changed)
            return changed or foreseen.would_run
        case cells:
            return tuple(CellId(cell) for cell in cells)


def _broken(document: Document, edits: Sequence[Edit], after: Consequences) -> EditRefused | None:
    before = foresee(document, [])
    assert not isinstance(before, EditRefused)
    for cell, problem in after.problems.items():
        if cell in after.changed:
            line = f" (line {problem.line})" if problem.line else ""
            return _refused(edits, {cell}, f"Its code cannot run: {problem.message}{line}.")
    for name, cells in after.defined_twice.items():
        if set(cells) - set(before.defined_twice.get(name, ())):
            said = ", ".join(map(repr, cells))
            return _refused(edits, set(cells), f"{name!r} would be defined in {len(cells)} cells: {said}.")
    known = {cycle.cells for cycle in before.cycles}
    for cycle in after.cycles:
        if cycle.cells not in known:
            said, names = ", ".join(map(repr, cycle.cells)), ", ".join(cycle.names)
            return _refused(edits, set(cycle.cells), f"Cells {said} would need each other, through {names}.")
    if set(after.setup_needs) - set(before.setup_needs):
        names = ", ".join(after.setup_needs)
        return _refused(edits, {SETUP_ID}, f"The setup cell runs first, and would need {names} of other cells.")
    return None


def _refused(edits: Sequence[Edit], cells: set[CellId], message: str) -> EditRefused:
    at = next((at for at, edit in enumerate(edits) if _cell_of(edit) in cells), 0)
    return EditRefused(index=at, edit=edits[at], reason="bad-code", message=f"{message} Nothing was sent.")


def _cell_of(edit: Edit) -> CellId | None:
    if isinstance(edit, CreateCell):
        return SETUP_ID if edit.name == SETUP_NAME else edit.id
    return edit.cell


def edit_orders(edits: Sequence[Edit], before: Document, after: Document) -> list[dict[str, Any]]:
    """The edits as the program takes them: code as the file will hold it, places by a neighbour, as marimo does."""
    there = {cell.id for cell in before.cells if after.find(cell.id) is not None}
    orders: list[dict[str, Any]] = []
    for edit in edits:
        cell = _cell_of(edit)
        place = _place(cell, after, there) if isinstance(edit, CreateCell | MoveCell) else {}
        orders.append({**_order(edit, after), **place})
        there |= {cell} if cell is not None else set()
    return orders


def _order(edit: Edit, after: Document) -> dict[str, Any]:
    cell = _cell_of(edit)
    there = after.find(cell) if cell is not None else None
    match edit:
        case CreateCell():
            code = there.code if there is not None else edit.code
            name = "" if edit.name == DEFAULT_NAME else edit.name
            made: dict[str, Any] = {"op": "create", "cell": cell, "code": code, "name": name}
            return {**made, "config": asdict(edit.config)}
        case EditCell():
            return {"op": "edit", "cell": cell, "code": there.code if there is not None else edit.code}
        case DeleteCell():
            return {"op": "delete", "cell": cell}
        case MoveCell():
            return {"op": "move", "cell": cell}
        case RenameCell():
            return {"op": "rename", "cell": cell, "name": "" if edit.name == DEFAULT_NAME else edit.name}
        case ConfigureCell():
            given = {key: value for key, value in asdict(edit.config).items() if value is not None}
            return {"op": "configure", "cell": cell, "config": given}
        case _:
            assert_never(edit)


def _place(cell: CellId | None, after: Document, there: set[CellId]) -> dict[str, str]:
    """Behind the nearest cell above it that is there already, or else in front of the first below it."""
    order = [each.id for each in after.cells]
    if cell is None or cell == SETUP_ID or cell not in order:
        return {}
    at = order.index(cell)
    above = [each for each in order[:at] if each in there and each != SETUP_ID]
    below = [each for each in order[at + 1 :] if each in there]
    return {"after": above[-1]} if above else {"before": below[0]} if below else {}
