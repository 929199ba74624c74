"""Edits are values: what to change, and the version of the cell that whoever asks had seen.

`apply_edits` is all or nothing. An edit of a cell that has changed meanwhile is refused with both texts, so
nobody can overwrite what somebody else typed.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, assert_never

from cellwright.ids import CellId
from cellwright.notebook.document import DEFAULT_NAME, PLAIN, SETUP_ID, SETUP_NAME, Cell, CellConfig, Document
from cellwright.notebook.marimo_file import new_cell_id, storable_code


@dataclass(frozen=True, slots=True, kw_only=True)
class AtStart:
    """Before all other cells, behind the setup cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtEnd:
    """Behind all other cells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """Directly behind this cell."""

    cell: CellId


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """Directly in front of this cell."""

    cell: CellId


CellPosition = AtStart | AtEnd | After | Before


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateCell:
    """A new cell. Named `setup`, it becomes the setup cell and stands first whatever `place` says."""

    code: str
    name: str = DEFAULT_NAME
    config: CellConfig = PLAIN
    place: CellPosition = AtEnd()
    id: CellId | None = None
    """Given only to bring a deleted cell back, or to refer to it from a later edit of the same list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditCell:
    """New code for a cell."""

    cell: CellId
    base_version: int
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteCell:
    """Take a cell out."""

    cell: CellId
    base_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveCell:
    """Put a cell elsewhere."""

    cell: CellId
    base_version: int
    place: CellPosition


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameCell:
    """A new name for a cell. A named function cell can no longer be imported from the notebook by other code."""

    cell: CellId
    base_version: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigureCell:
    """A new configuration for a cell, as a whole."""

    cell: CellId
    base_version: int
    config: CellConfig


Edit = CreateCell | EditCell | DeleteCell | MoveCell | RenameCell | ConfigureCell

EditRefusalReason = Literal["stale", "unknown-cell", "taken-id", "bad-name", "bad-code", "setup", "bad-place", "owned"]
"""owned: the cell is another agent's, and not this one's to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRefused:
    """Why none of the edits were made."""

    index: int
    """Which edit of the list."""
    edit: Edit
    reason: EditRefusalReason
    message: str
    current: Cell | None = None
    """For `stale`: the cell as it is now, to be set against what the edit wanted."""

    @property
    def wanted(self) -> str:
        """The text the edit would have put there, if it would have put any."""
        return self.edit.code if isinstance(self.edit, CreateCell | EditCell) else ""


class _Refusal(Exception):
    def __init__(self, reason: EditRefusalReason, message: str, current: Cell | None = None) -> None:
        super().__init__(message)
        self.reason: EditRefusalReason = reason
        self.current = current


_RESERVED: Final = frozenset({"app", "marimo", "__generated_with", "__name__", "__"})


def apply_edits(document: Document, edits: Sequence[Edit]) -> Document | EditRefused:
    """The document after all edits in order, or why there is none. Each edit makes its cell's version grow.

    Several edits of one cell in one list are all based on the version the cell had before the list.
    """
    draft = _Draft(document)
    for index, edit in enumerate(edits):
        try:
            _apply(draft, edit)
        except _Refusal as refusal:
            return EditRefused(
                index=index, edit=edit, reason=refusal.reason, message=str(refusal), current=refusal.current
            )
    return replace(document, cells=tuple(draft.cells), retired=draft.retired)


class _Draft:
    """The cells while a list of edits is being applied."""

    def __init__(self, document: Document) -> None:
        self.cells = list(document.cells)
        self.retired = dict(document.retired)
        self.seen = {cell.id: cell.version for cell in document.cells}
        self._origin = document.origin.document if document.origin else document

    def storable(self, cell: CellId, code: str) -> str:
        """The code as the file will hold it; what was read from the file needs no second look."""
        read = self._origin.find(cell)
        return code if read is not None and read.code == code else _checked_code(code, is_setup=cell == SETUP_ID)


def _apply(draft: _Draft, edit: Edit) -> None:
    if isinstance(edit, CreateCell):
        _create(draft, edit)
        return
    cells, at = draft.cells, _locate(draft.cells, edit, draft.seen)
    cell = cells[at]
    match edit:
        case EditCell():
            cells[at] = replace(cell, code=draft.storable(cell.id, edit.code), version=cell.version + 1)
        case DeleteCell():
            del cells[at]
            draft.retired[cell.id] = cell.version
        case MoveCell():
            _move(cells, edit, at)
        case RenameCell():
            _rename(cells, edit.name, at)
        case ConfigureCell():
            _check_config(cell.id, edit.config)
            cells[at] = replace(cell, config=edit.config, version=cell.version + 1)
        case _:
            assert_never(edit)


def _locate(
    cells: list[Cell], edit: EditCell | DeleteCell | MoveCell | RenameCell | ConfigureCell, seen: dict[CellId, int]
) -> int:
    at = _index(cells, edit.cell)
    cell = cells[at]
    if edit.base_version not in (cell.version, seen.get(cell.id)):
        raise _Refusal(
            "stale",
            f"Cell {cell.id!r} is at version {cell.version}, the edit was based on {edit.base_version}: "
            "it has changed since. Read it again.",
            cell,
        )
    return at


def _index(cells: list[Cell], cell: CellId) -> int:
    for at, candidate in enumerate(cells):
        if candidate.id == cell:
            return at
    known = ", ".join(candidate.id for candidate in cells[:20]) or "none"
    raise _Refusal("unknown-cell", f"No cell {cell!r}. Cells: {known}{' …' if len(cells) > 20 else ''}.")


def _create(draft: _Draft, edit: CreateCell) -> None:
    cells = draft.cells
    taken = {cell.id for cell in cells}
    is_setup = edit.name == SETUP_NAME
    identity = SETUP_ID if is_setup else edit.id if edit.id is not None else new_cell_id(taken | draft.retired.keys())
    if identity in taken:
        message = "There already is a setup cell." if is_setup else f"There already is a cell {identity!r}."
        raise _Refusal("setup" if is_setup else "taken-id", f"{message} Edit it instead.")
    if not identity or (identity == SETUP_ID) != is_setup:
        raise _Refusal("taken-id", f"The id {identity!r} cannot be given to this cell. Leave it out.")
    _check_config(identity, edit.config)
    cell = Cell(
        id=identity,
        name=edit.name if is_setup else _checked_name(cells, edit.name),
        code=draft.storable(identity, edit.code),
        config=edit.config,
        version=draft.retired.get(identity, 0) + 1,
    )
    cells.insert(0 if is_setup else _position(cells, edit.place), cell)


def _move(cells: list[Cell], edit: MoveCell, at: int) -> None:
    if cells[at].is_setup:
        raise _Refusal("setup", "The setup cell is always first and cannot be moved.")
    if isinstance(edit.place, After | Before) and edit.place.cell == edit.cell:
        raise _Refusal("bad-place", f"Cell {edit.cell!r} cannot be moved next to itself.")
    cell = cells.pop(at)
    cells.insert(_position(cells, edit.place), replace(cell, version=cell.version + 1))


def _rename(cells: list[Cell], name: str, at: int) -> None:
    cell = cells[at]
    if cell.is_setup or name == SETUP_NAME:
        raise _Refusal("setup", f"Only the setup cell is, and always is, named {SETUP_NAME!r}.")
    others = [*cells[:at], *cells[at + 1 :]]
    cells[at] = replace(cell, name=_checked_name(others, name), version=cell.version + 1)


def _position(cells: list[Cell], place: CellPosition) -> int:
    first = 1 if cells and cells[0].is_setup else 0
    match place:
        case AtStart():
            return first
        case AtEnd():
            return len(cells)
        case After():
            return _index(cells, place.cell) + 1
        case Before():
            return max(first, _index(cells, place.cell))
        case _:
            assert_never(place)


def _checked_name(others: list[Cell], name: str) -> str:
    if name == DEFAULT_NAME:
        return name
    is_identifier = name.isidentifier() and not keyword.iskeyword(name)
    if not is_identifier or unicodedata.normalize("NFKC", name) != name or name in _RESERVED:
        raise _Refusal(
            "bad-name", f"{name!r} cannot name a cell: it must be a Python identifier, and not a reserved one."
        )
    if any(cell.name == name for cell in others):
        raise _Refusal("bad-name", f"Another cell is already named {name!r}.")
    return name


def _checked_code(code: str, *, is_setup: bool) -> str:
    if re.search(r"[\0\ud800-\udfff]", code):
        raise _Refusal("bad-code", "The code holds characters that no Python file can hold (NUL or lone surrogates).")
    if is_setup and not code.strip():
        raise _Refusal("setup", "The setup cell cannot be empty. Delete it instead.")
    storable = storable_code(code, is_setup=is_setup)
    if storable is None:
        raise _Refusal("bad-code", "Marimo's file format cannot hold this code. Look for odd indentation at its start.")
    return storable


def _check_config(cell: CellId, config: CellConfig) -> None:
    if cell == SETUP_ID and config != CellConfig(hide_code=config.hide_code):
        raise _Refusal("setup", "Of the setup cell only `hide_code` can be configured.")


def created(cell: Cell, place: CellPosition) -> CreateCell:
    """The edit that makes this cell, under its id."""
    identity = None if cell.is_setup else cell.id
    return CreateCell(code=cell.code, name=cell.name, config=cell.config, place=place, id=identity)


def restore_edits(current: Document, earlier: Document) -> list[Edit]:
    """The edits that turn `current` back into `earlier`: what undoes everything done in between.

    Codes, names, configurations and order come back; versions go on growing.
    """
    now = {cell.id: cell for cell in current.cells}
    then = {cell.id: cell for cell in earlier.cells}
    edits: list[Edit] = [
        DeleteCell(cell=cell.id, base_version=cell.version) for cell in current.cells if cell.id not in then
    ]
    # Names first go to nobody: two cells may have swapped theirs.
    renamed = [cell for cell in earlier.cells if cell.id in now and now[cell.id].name != cell.name]
    edits += [
        RenameCell(cell=cell.id, base_version=now[cell.id].version, name=DEFAULT_NAME)
        for cell in renamed
        if now[cell.id].name != DEFAULT_NAME and cell.name != DEFAULT_NAME
    ]
    edits += [RenameCell(cell=cell.id, base_version=now[cell.id].version, name=cell.name) for cell in renamed]
    order = [cell.id for cell in current.cells if cell.id in then]
    for at, cell in enumerate(earlier.cells):
        place = After(cell=earlier.cells[at - 1].id) if at else AtStart()
        edits += _restore_cell(cell, now.get(cell.id), order, at, place)
    return edits


def _restore_cell(cell: Cell, now: Cell | None, order: list[CellId], at: int, place: CellPosition) -> list[Edit]:
    if now is None:
        order.insert(at, cell.id)
        return [created(cell, place)]
    edits: list[Edit] = []
    if order[at] != cell.id:
        order.remove(cell.id)
        order.insert(at, cell.id)
        edits.append(MoveCell(cell=cell.id, base_version=now.version, place=place))
    if now.code != cell.code:
        edits.append(EditCell(cell=cell.id, base_version=now.version, code=cell.code))
    if now.config != cell.config:
        edits.append(ConfigureCell(cell=cell.id, base_version=now.version, config=cell.config))
    return edits
