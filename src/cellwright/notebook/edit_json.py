"""Edits read from JSON: what a person's file, a client or a model hands in."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, Final, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError

from cellwright.errors import UserError
from cellwright.ids import CellId
from cellwright.notebook import edits
from cellwright.notebook.document import DEFAULT_NAME, Document
from cellwright.notebook.marimo_file import new_cell_id

_KINDS: Final[dict[str, type[edits.Edit]]] = {
    "create": edits.CreateCell,
    "edit": edits.EditCell,
    "delete": edits.DeleteCell,
    "move": edits.MoveCell,
    "rename": edits.RenameCell,
    "configure": edits.ConfigureCell,
}
# Of lists, because a dataclass alone takes no configuration from here.
_ADAPTERS: Final[dict[str, TypeAdapter[list[edits.Edit]]]] = {
    op: TypeAdapter(list[kind], config=ConfigDict(extra="forbid", strict=True)) for op, kind in _KINDS.items()
}
_PLACES: Final = ("after", "before", "at")
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HINT: Final = 'For example [{"op": "create", "code": "x = 1"}].'


def parse_edits(data: object, document: Document) -> list[edits.Edit]:
    """Edits from parsed JSON; a cell may be named by its id or by its name, if only one cell has that name.

    ```json
    [{"op": "create", "code": "x = 1", "name": "load", "after": "Hbol"},
     {"op": "edit", "cell": "Hbol", "base_version": 1, "code": "x = 2"},
     {"op": "move", "cell": "load_data", "base_version": 1, "before": "Hbol"},
     {"op": "rename", "cell": "Hbol", "base_version": 1, "name": "numbers"},
     {"op": "configure", "cell": "Hbol", "base_version": 1, "config": {"hide_code": true}},
     {"op": "delete", "cell": "MJUe", "base_version": 3}]
    ```

    A place is one of `"after": cell`, `"before": cell`, `"at": "start"`, `"at": "end"`; a new cell without one goes
    to the end. `"id"` of a new cell is optional. Raises `UserError` naming the edit and the field.
    """
    if not isinstance(data, list):
        raise UserError("Edits must be a list.", hint=_HINT)
    names = _Names(document)
    for number, item in enumerate(cast("list[object]", data), 1):
        names.made.append(_edit(item, f"Edit {number}", names))
    return names.made


class _Names:
    """Finds cells of the document, and those the edits themselves create, by id or by name."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.made: list[edits.Edit] = []
        self.created: set[CellId] = set()

    def find(self, given: str, where: str) -> CellId:
        if self._document.find(CellId(given)) is not None or given in self.created:
            return CellId(given)
        named = self._document.named(given) if given != DEFAULT_NAME else ()
        if len(named) == 1:
            return named[0].id
        if not named and (made := self._find_made(given)) is not None:
            return made
        if named:
            ids = ", ".join(cell.id for cell in named)
            raise UserError(f"{where}: {len(named)} cells are named {given!r}.", hint=f"Name one by its id: {ids}.")
        known = ", ".join(cell.id if cell.name == DEFAULT_NAME else cell.name for cell in self._document.cells[:20])
        raise UserError(f"{where}: no cell {given!r}.", hint=f"Cells: {known or 'none yet'}.")

    def _find_made(self, given: str) -> CellId | None:
        """The cell an earlier edit of the list creates under this name; it gets its id now."""
        for at, edit in enumerate(self.made):
            if isinstance(edit, edits.CreateCell) and edit.name == given != DEFAULT_NAME:
                taken = {cell.id for cell in self._document.cells} | self._document.retired.keys() | self.created
                identity = edit.id or new_cell_id(taken)
                self.made[at] = replace(edit, id=identity)
                self.created.add(identity)
                return identity
        return None


def _edit(data: object, where: str, names: _Names) -> edits.Edit:
    fields = dict(cast("dict[str, Any]", data)) if isinstance(data, dict) else {}
    op = fields.pop("op", None)
    if op not in _KINDS:
        raise UserError(f"{where}: its 'op' is one of {', '.join(_KINDS)}.", hint=_HINT)
    if "place" in fields:
        raise UserError(f"{where}, field 'place': no such field.", hint=f"Give one of {', '.join(_PLACES)}.")
    given = dict[str, Any]()
    if op in ("create", "move"):
        given = {key: place for key in _PLACES if (place := fields.pop(key, None)) is not None}
        # Any place will do while the rest is checked: JSON says in other words which one it is.
        fields["place"] = {}
    edit = _checked(op, fields, where)
    if not isinstance(edit, edits.CreateCell):
        edit = replace(edit, cell=names.find(edit.cell, f"{where}, field 'cell'"))
    if isinstance(edit, edits.CreateCell | edits.MoveCell):
        place = _place(given, where, names)
        if place is None and isinstance(edit, edits.MoveCell):
            raise UserError(f"{where}: says not where to move.", hint=f"Give one of {', '.join(_PLACES)}.")
        edit = replace(edit, place=place or edits.AtEnd())
    if isinstance(edit, edits.CreateCell) and edit.id is not None:
        if _ID.fullmatch(edit.id) is None:
            raise UserError(f"{where}, field 'id': no id.", hint="Up to 64 letters, digits, `_` and `-`.")
        names.created.add(edit.id)
    return edit


def _checked(op: str, fields: dict[str, Any], where: str) -> edits.Edit:
    try:
        # As JSON: a strict reading takes no dict for a dataclass otherwise.
        return _ADAPTERS[op].validate_json(json.dumps([fields]))[0]
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"][1:])
        raise UserError(f"{where}{f', field {field!r}' if field else ''}: {first['msg']}.", hint=_HINT) from error
    except (TypeError, ValueError) as error:
        raise UserError(f"{where}: cannot be written as JSON.", hint=_HINT) from error


def _place(given: dict[str, Any], where: str, names: _Names) -> edits.CellPosition | None:
    if len(given) > 1:
        first, second, *_ = given
        raise UserError(f"{where}: has both {first!r} and {second!r}.", hint="Give one place.")
    match given:
        case {"after": str(cell)}:
            return edits.After(cell=names.find(cell, f"{where}, field 'after'"))
        case {"before": str(cell)}:
            return edits.Before(cell=names.find(cell, f"{where}, field 'before'"))
        case {"at": "start"}:
            return edits.AtStart()
        case {"at": "end"}:
            return edits.AtEnd()
        case _ if not given:
            return None
        case _:
            key = next(iter(given))
            hint = "A cell's name or id." if key != "at" else '"start" or "end".'
            raise UserError(f"{where}, field {key!r}: no place.", hint=hint)
