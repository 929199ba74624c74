"""Edits from JSON: clear about what is wrong, and where."""

from __future__ import annotations

import pytest

from cellwright.errors import UserError
from cellwright.ids import CellId
from cellwright.notebook.document import Cell, CellConfig, Document
from cellwright.notebook.edit_json import parse_edits
from cellwright.notebook.edits import (
    After,
    AtEnd,
    AtStart,
    Before,
    ConfigureCell,
    CreateCell,
    DeleteCell,
    EditCell,
    MoveCell,
    RenameCell,
    apply_edits,
)

A, B = CellId("aaaa"), CellId("bbbb")
DOCUMENT = Document(
    cells=(
        Cell(id=A, code="x = 1", name="load"),
        Cell(id=B, code="y = 1", name="twin"),
        Cell(id=CellId("cccc"), code="z = 1", name="twin"),
        Cell(id=CellId("dddd"), code=""),
    )
)


def test_every_kind_of_edit_can_be_read_with_cells_named_by_id_or_name() -> None:
    assert parse_edits(
        [
            {"op": "create", "code": "w = 1", "name": "n", "id": "new_", "after": "load"},
            {"op": "create", "code": "", "config": {"hide_code": True, "column": 2}},
            {"op": "create", "code": "", "at": "start"},
            {"op": "edit", "cell": "load", "base_version": 1, "code": "x = 2"},
            {"op": "move", "cell": "bbbb", "base_version": 1, "before": "new_"},
            {"op": "move", "cell": "bbbb", "base_version": 1, "at": "end"},
            {"op": "rename", "cell": "aaaa", "base_version": 2, "name": "start"},
            {"op": "configure", "cell": "aaaa", "base_version": 3, "config": {"disabled": True}},
            {"op": "delete", "cell": "aaaa", "base_version": 4},
        ],
        DOCUMENT,
    ) == [
        CreateCell(code="w = 1", name="n", id=CellId("new_"), place=After(cell=A)),
        CreateCell(code="", config=CellConfig(hide_code=True, column=2), place=AtEnd()),
        CreateCell(code="", place=AtStart()),
        EditCell(cell=A, base_version=1, code="x = 2"),
        MoveCell(cell=B, base_version=1, place=Before(cell=CellId("new_"))),
        MoveCell(cell=B, base_version=1, place=AtEnd()),
        RenameCell(cell=A, base_version=2, name="start"),
        ConfigureCell(cell=A, base_version=3, config=CellConfig(disabled=True)),
        DeleteCell(cell=A, base_version=4),
    ]


OK = {"op": "create", "code": ""}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "Edits must be a list."),
        ([OK, 3], "Edit 2: its 'op' is one of create, edit, delete, move, rename, configure."),
        ([OK, {}], "Edit 2: its 'op' is one of create, edit, delete, move, rename, configure."),
        ([{"op": "create"}], "Edit 1, field 'code': Field required."),
        ([{"op": "create", "code": 3}], "Edit 1, field 'code': Input should be a valid string."),
        ([{**OK, "colour": "red"}], "Edit 1, field 'colour': Unexpected keyword argument."),
        ([{**OK, "config": {"column": "a"}}], "Edit 1, field 'config.column': Input should be a valid integer."),
        ([{"op": "edit", "cell": "load", "code": ""}], "Edit 1, field 'base_version': Field required."),
        ([{"op": "delete", "cell": "load", "base_version": "1"}],
         "Edit 1, field 'base_version': Input should be a valid integer."),
        ([{**OK, "config": {"disabled": 1}}], "Edit 1, field 'config.disabled': Input should be a valid boolean."),
        ([{**OK, "place": {"cell": "load"}}], "Edit 1, field 'place': no such field."),
        ([{"op": "rename", "cell": "load", "base_version": 1, "name": "n", "at": "end"}],
         "Edit 1, field 'at': Unexpected keyword argument."),
        ([{**OK, "id": "../x"}], "Edit 1, field 'id': no id."),
        ([{**OK, "after": 3}], "Edit 1, field 'after': no place."),
        ([{**OK, "at": "middle"}], "Edit 1, field 'at': no place."),
        ([{**OK, "code": object()}], "Edit 1: cannot be written as JSON."),
        ([{**OK, "after": "nope"}], "Edit 1, field 'after': no cell 'nope'."),
        ([{**OK, "before": "_"}], "Edit 1, field 'before': no cell '_'."),
        ([{**OK, "after": "load", "at": "end"}], "Edit 1: has both 'after' and 'at'."),
        ([OK, {"op": "delete", "cell": "twin", "base_version": 1}], "Edit 2, field 'cell': 2 cells are named 'twin'."),
        ([{"op": "move", "cell": "load", "base_version": 1}], "Edit 1: says not where to move."),
    ],
)  # fmt: skip
def test_a_wrong_edit_is_named_by_position_and_field(data: object, message: str) -> None:
    with pytest.raises(UserError) as refused:
        parse_edits(data, DOCUMENT)
    assert refused.value.message == message
    assert refused.value.hint


def test_an_empty_notebook_has_no_cells_to_name() -> None:
    with pytest.raises(UserError) as refused:
        parse_edits([{"op": "delete", "cell": "x", "base_version": 1}], Document.new())
    assert refused.value.hint == "Cells: none yet."


def test_a_place_may_name_a_cell_that_an_earlier_edit_of_the_list_makes() -> None:
    document = Document.new()
    made = parse_edits(
        [
            {"op": "create", "code": "z = x", "name": "last"},
            {"op": "create", "code": "x = 1", "name": "first", "before": "last"},
            {"op": "create", "code": "y = 2", "name": "middle", "after": "first"},
        ],
        document,
    )
    after = apply_edits(document, made)
    assert isinstance(after, Document)
    assert [cell.name for cell in after.cells] == ["first", "middle", "last"]
