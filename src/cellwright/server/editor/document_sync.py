"""Between marimo's document and ours: which changes make theirs ours, and which edits a person's changes are."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, fields, replace
from typing import Final, assert_never

from marimo._ast.cell import CellConfig as MarimoConfig
from marimo._messaging.notebook import changes as marimo
from marimo._messaging.notebook.document import NotebookCell
from marimo._types.ids import CellId_t

from cellwright.ids import CellId
from cellwright.notebook import edits
from cellwright.notebook.document import SETUP_ID, Cell, CellConfig, Document

_CELL_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
PLACEHOLDER: Final = Cell(id=CellId("first"), code="")
"""Shown where a notebook has no cells: without one, marimo's editor offers no way to make any."""
SameText = Callable[[CellId, str, str], bool]
"""Whether a cell's text in the editor stands for this text of ours."""


# ── ours → marimo's ──


def to_show(
    shown: Sequence[NotebookCell], document: Document, *, is_same: SameText, held: Collection[CellId] = ()
) -> list[marimo.DocumentChange]:
    """What turns the cells an editor shows into ours. Texts and the end of cells in `held` wait."""
    ours = {cell.id: cell for cell in document.cells}
    theirs = {CellId(cell.id): cell for cell in shown}
    order = [id for id in theirs if id in ours or id in held]
    # First what comes and then what goes: an editor has never no cell at all.
    changes: list[marimo.DocumentChange] = [
        _creation(cell, document.cells[at - 1].id if at else None, order)
        for at, cell in enumerate(document.cells)
        if cell.id not in theirs
    ]
    changes += [marimo.DeleteCell(cell_id=cell.id) for cell in shown if cell.id not in ours and cell.id not in held]
    wanted = list(ours)
    for id in order:
        if id not in ours:
            # It waits for its end behind the cell it stood behind.
            at = order.index(id)
            wanted.insert(wanted.index(order[at - 1]) + 1 if at else 0, id)
    if wanted != order:
        changes.append(marimo.ReorderCells(cell_ids=tuple(CellId_t(id) for id in wanted)))
    for id, cell in ours.items():
        if id in theirs:
            changes += _differences(theirs[id], cell, is_text_held=id in held, is_same=is_same)
    return changes


def _creation(cell: Cell, previous: CellId | None, order: list[CellId]) -> marimo.CreateCell:
    after = CellId_t(previous) if previous is not None else None
    before = CellId_t(order[0]) if previous is None and order else None
    order.insert(order.index(previous) + 1 if previous is not None else 0, cell.id)
    return marimo.CreateCell(
        cell_id=CellId_t(cell.id),
        code=cell.code,
        name=cell.name,
        config=config_of(cell),
        before=before,
        after=after,
    )


def _differences(
    shown: NotebookCell, cell: Cell, *, is_text_held: bool, is_same: SameText
) -> list[marimo.DocumentChange]:
    id, found = CellId_t(cell.id), list[marimo.DocumentChange]()
    if not is_text_held and shown.code != cell.code and not is_same(cell.id, shown.code, cell.code):
        found.append(marimo.SetCode(cell_id=id, code=cell.code))
    if shown.name != cell.name:
        found.append(marimo.SetName(cell_id=id, name=cell.name))
    if our_config(shown.config) != cell.config:
        found.append(marimo.SetConfig(cell_id=id, **asdict(cell.config)))
    return found


def config_of(cell: Cell) -> MarimoConfig:
    """A cell's configuration in marimo's words."""
    return MarimoConfig(**asdict(cell.config))


def our_config(config: MarimoConfig | marimo.SetConfig) -> CellConfig:
    """A cell's configuration in our words."""
    return CellConfig(**{each.name: getattr(config, each.name) for each in fields(CellConfig)})


# ── a person's → ours ──


def edits_of(change: marimo.DocumentChange, document: Document) -> list[edits.Edit]:
    """The edits that a person's change comes to, together, on the document as it is now; none for what is so already.

    A person's word counts whatever the cell's version is: they see what they type into.
    """
    match change:
        case marimo.CreateCell():
            return _created(change, document)
        case marimo.ReorderCells():
            return _reordered([CellId(id) for id in change.cell_ids], document)
        case marimo.DeleteCell() | marimo.MoveCell() | marimo.SetCode() | marimo.SetName() | marimo.SetConfig():
            cell = document.find(CellId(change.cell_id))
            return [] if cell is None else _changed(change, cell, document)
        case _:
            assert_never(change)


def _created(change: marimo.CreateCell, document: Document) -> list[edits.Edit]:
    id = CellId(change.cell_id)
    cell = document.find(id)
    if cell is not None:
        # It was run before its making was told.
        moved = marimo.MoveCell(cell_id=change.cell_id, before=change.before, after=change.after)
        return _changed(moved, cell, document) + _changed(
            marimo.SetCode(cell_id=change.cell_id, code=change.code), cell, document
        )
    return [creation(id, change.code, document, place=_place(change, document), config=our_config(change.config))]


def creation(
    id: CellId,
    code: str,
    document: Document,
    *,
    place: edits.CellPosition | None = None,
    config: CellConfig | None = None,
) -> edits.CreateCell:
    """A cell that an editor made, under the id it gave it if that can be one."""
    is_setup = id == SETUP_ID
    known = {cell.id for cell in document.cells}
    return edits.CreateCell(
        code=code,
        id=id if _CELL_ID.fullmatch(id) and id not in known and not is_setup else None,
        name="setup" if is_setup else "_",
        config=config or CellConfig(),
        place=place or edits.AtEnd(),
    )


def _changed(
    change: marimo.DeleteCell | marimo.MoveCell | marimo.SetCode | marimo.SetName | marimo.SetConfig,
    cell: Cell,
    document: Document,
) -> list[edits.Edit]:
    match change:
        case marimo.DeleteCell():
            return [edits.DeleteCell(cell=cell.id, base_version=cell.version)]
        case marimo.MoveCell():
            place = _place(change, document)
            is_possible = place is not None and place.cell != cell.id and not cell.is_setup
            return (
                [edits.MoveCell(cell=cell.id, base_version=cell.version, place=place)] if place and is_possible else []
            )
        case marimo.SetCode():
            edit = edits.EditCell(cell=cell.id, base_version=cell.version, code=change.code)
            return [edit] if change.code != cell.code else []
        case marimo.SetName():
            edit = edits.RenameCell(cell=cell.id, base_version=cell.version, name=change.name or "_")
            return [edit] if (change.name or "_") != cell.name else []
        case marimo.SetConfig():
            edit = edits.ConfigureCell(cell=cell.id, base_version=cell.version, config=our_config(change))
            return [edit] if edit.config != cell.config else []
        case _:
            assert_never(change)


def _place(change: marimo.CreateCell | marimo.MoveCell, document: Document) -> edits.After | edits.Before | None:
    if change.after is not None and document.find(CellId(change.after)) is not None:
        return edits.After(cell=CellId(change.after))
    if change.before is not None and document.find(CellId(change.before)) is not None:
        return edits.Before(cell=CellId(change.before))
    return None


def _reordered(wanted: list[CellId], document: Document) -> list[edits.Edit]:
    known = {cell.id: cell for cell in document.cells}
    first = [id for id in dict.fromkeys(wanted) if id in known and id != SETUP_ID]
    setup = [SETUP_ID] if SETUP_ID in known else []
    order = [*setup, *first, *(id for id in known if id not in first and id != SETUP_ID)]
    return edits.restore_edits(document, replace(document, cells=tuple(known[id] for id in order)))
