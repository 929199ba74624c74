"""Edits read from JSON: what a person's file, a client or a model hands in."""

from __future__ import annotations

from typing import Annotated, Literal, assert_never

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from cellwright.errors import UserError
from cellwright.ids import CellId
from cellwright.notebook.document import DEFAULT_NAME, CellConfig, Document
from cellwright.notebook.edits import (
    After,
    AtEnd,
    AtStart,
    Before,
    ConfigureCell,
    CreateCell,
    DeleteCell,
    Edit,
    EditCell,
    MoveCell,
    Place,
    RenameCell,
)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Config(_Strict):
    column: int | None = None
    disabled: bool = False
    hide_code: bool = False
    expand_output: bool = False


class _Placed(_Strict):
    after: str | None = None
    before: str | None = None
    at: Literal["start", "end"] | None = None


class _Create(_Placed):
    op: Literal["create"]
    code: str
    name: str = DEFAULT_NAME
    config: _Config = _Config()
    id: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_-]{1,64}$")


class _Based(_Strict):
    cell: str
    base_version: int


class _Edit(_Based):
    op: Literal["edit"]
    code: str


class _Delete(_Based):
    op: Literal["delete"]


class _Move(_Based, _Placed):
    op: Literal["move"]


class _Rename(_Based):
    op: Literal["rename"]
    name: str


class _Configure(_Based):
    op: Literal["configure"]
    config: _Config


_AnyEdit = Annotated[_Create | _Edit | _Delete | _Move | _Rename | _Configure, Field(discriminator="op")]
_EDITS: TypeAdapter[list[_AnyEdit]] = TypeAdapter(list[_AnyEdit])


def parse_edits(data: object, document: Document) -> list[Edit]:
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
    try:
        parsed = _EDITS.validate_python(data)
    except ValidationError as error:
        raise UserError(_describe(error), hint='For example [{"op": "create", "code": "x = 1"}].') from error
    names = _Names(document)
    return [_to_edit(edit, index, names) for index, edit in enumerate(parsed)]


def _describe(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    index, *rest = first["loc"] or ("",)
    if not isinstance(index, int):
        return f"Edits must be a list: {first['msg']}."
    # Behind the index stands the tag of the union, which is no field of the person's.
    fields = ".".join(str(part) for part in rest[1:])
    return f"Edit {index + 1}{f', field {fields!r}' if fields else ''}: {first['msg']}."


class _Names:
    """Finds cells of the document, and those the edits themselves create, by id or by name."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._created: set[CellId] = set()

    def add(self, cell: CellId | None) -> None:
        if cell is not None:
            self._created.add(cell)

    def find(self, given: str, where: str) -> CellId:
        if self._document.find(CellId(given)) is not None or given in self._created:
            return CellId(given)
        named = self._document.named(given) if given != DEFAULT_NAME else ()
        if len(named) == 1:
            return named[0].id
        if named:
            ids = ", ".join(cell.id for cell in named)
            raise UserError(f"{where}: {len(named)} cells are named {given!r}.", hint=f"Name one by its id: {ids}.")
        known = ", ".join(cell.id if cell.name == DEFAULT_NAME else cell.name for cell in self._document.cells[:20])
        raise UserError(f"{where}: no cell {given!r}.", hint=f"Cells: {known or 'none yet'}.")


def _to_edit(edit: _AnyEdit, index: int, names: _Names) -> Edit:
    where = f"Edit {index + 1}"
    if isinstance(edit, _Create):
        place = _to_place(edit, f"{where}", names) or AtEnd()
        identity = CellId(edit.id) if edit.id is not None else None
        names.add(identity)
        return CreateCell(code=edit.code, name=edit.name, config=_to_config(edit.config), place=place, id=identity)
    cell, version = names.find(edit.cell, f"{where}, field 'cell'"), edit.base_version
    match edit:
        case _Edit():
            return EditCell(cell=cell, base_version=version, code=edit.code)
        case _Delete():
            return DeleteCell(cell=cell, base_version=version)
        case _Move():
            place = _to_place(edit, where, names)
            if place is None:
                raise UserError(f"{where}: says not where to move.", hint="Give one of `after`, `before`, `at`.")
            return MoveCell(cell=cell, base_version=version, place=place)
        case _Rename():
            return RenameCell(cell=cell, base_version=version, name=edit.name)
        case _Configure():
            return ConfigureCell(cell=cell, base_version=version, config=_to_config(edit.config))
        case _:
            assert_never(edit)


def _to_place(edit: _Create | _Move, where: str, names: _Names) -> Place | None:
    given = [field for field in ("after", "before", "at") if getattr(edit, field) is not None]
    if len(given) > 1:
        raise UserError(f"{where}: has both {given[0]!r} and {given[1]!r}.", hint="Give one place.")
    if edit.after is not None:
        return After(cell=names.find(edit.after, f"{where}, field 'after'"))
    if edit.before is not None:
        return Before(cell=names.find(edit.before, f"{where}, field 'before'"))
    if edit.at is not None:
        return AtStart() if edit.at == "start" else AtEnd()
    return None


def _to_config(config: _Config) -> CellConfig:
    return CellConfig(
        column=config.column,
        disabled=config.disabled,
        hide_code=config.hide_code,
        expand_output=config.expand_output,
    )
