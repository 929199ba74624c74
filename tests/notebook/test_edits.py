"""Edits are all or nothing, and never overwrite what somebody else typed."""

from __future__ import annotations

import pytest

from cellwright.ids import CellId
from cellwright.notebook.document import Cell, CellConfig, Document
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
    EditRefused,
    MoveCell,
    RenameCell,
    apply_edits,
    restore_edits,
)

A, B, C = CellId("aaaa"), CellId("bbbb"), CellId("cccc")


def edited(document: Document, *edits: Edit) -> Document:
    after = apply_edits(document, edits)
    assert not isinstance(after, EditRefused), after
    return after


def refused(document: Document, *edits: Edit) -> EditRefused:
    after = apply_edits(document, edits)
    assert isinstance(after, EditRefused)
    return after


@pytest.fixture
def document() -> Document:
    return edited(
        Document.new(),
        CreateCell(code="x = 1", id=A, name="first"),
        CreateCell(code="y = x", id=B),
        CreateCell(code="z = y", id=C),
    )


def codes(document: Document) -> list[str]:
    return [cell.code for cell in document.cells]


def test_each_applied_edit_makes_its_cells_version_grow(document: Document) -> None:
    after = edited(
        document,
        EditCell(cell=A, base_version=1, code="x = 2"),
        RenameCell(cell=B, base_version=1, name="second"),
        ConfigureCell(cell=B, base_version=1, config=CellConfig(disabled=True)),
        MoveCell(cell=C, base_version=1, place=AtStart()),
    )
    assert after.cells == (
        Cell(id=C, code="z = y", version=2),
        Cell(id=A, code="x = 2", name="first", version=2),
        Cell(id=B, code="y = x", name="second", config=CellConfig(disabled=True), version=3),
    )
    assert document.cells[0].code == "x = 1"


def test_a_stale_base_version_is_refused_with_both_texts(document: Document) -> None:
    typed = edited(document, EditCell(cell=A, base_version=1, code="x = 'typed by a person'"))
    stale = EditCell(cell=A, base_version=1, code="x = 'by an agent'")
    refusal = refused(typed, CreateCell(code="w = 1"), stale)
    assert (refusal.index, refusal.reason, refusal.edit) == (1, "stale", stale)
    assert refusal.current == typed.cells[0]
    assert refusal.wanted == "x = 'by an agent'"
    assert "version 2" in refusal.message


@pytest.mark.parametrize(
    "edit",
    [
        DeleteCell(cell=A, base_version=7),
        MoveCell(cell=A, base_version=7, place=AtEnd()),
        RenameCell(cell=A, base_version=7, name="n"),
        ConfigureCell(cell=A, base_version=7, config=CellConfig()),
    ],
    ids=lambda edit: type(edit).__name__,
)
def test_every_kind_of_edit_is_checked_against_its_base_version(document: Document, edit: Edit) -> None:
    refusal = refused(document, edit)
    assert (refusal.reason, refusal.wanted) == ("stale", "")


def test_a_cell_brought_back_does_not_repeat_its_old_versions(document: Document) -> None:
    gone = edited(document, DeleteCell(cell=A, base_version=1))
    back = edited(gone, CreateCell(code="x = 'other'", id=A))
    assert back.cells[-1].version == 2
    assert refused(back, EditCell(cell=A, base_version=1, code="x = 0")).reason == "stale"


def test_edits_of_one_list_may_all_be_based_on_what_was_there_before_it(document: Document) -> None:
    after = edited(
        document, EditCell(cell=A, base_version=1, code="x = 2"), EditCell(cell=A, base_version=1, code="x = 3")
    )
    assert (after.cells[0].code, after.cells[0].version) == ("x = 3", 3)


def test_places(document: Document) -> None:
    after = edited(
        document,
        CreateCell(code="'start'", place=AtStart()),
        CreateCell(code="'after b'", place=After(cell=B)),
        CreateCell(code="'before b'", place=Before(cell=B)),
        CreateCell(code="'end'"),
    )
    assert codes(after) == ["'start'", "x = 1", "'before b'", "y = x", "'after b'", "z = y", "'end'"]
    assert codes(edited(document, MoveCell(cell=A, base_version=1, place=After(cell=C)))) == ["y = x", "z = y", "x = 1"]


def test_the_setup_cell_is_always_first(document: Document) -> None:
    setup = CellId("setup")
    after = edited(
        document,
        CreateCell(code="import os", name="setup", config=CellConfig(hide_code=True), place=AtEnd()),
        CreateCell(code="'start'", place=AtStart()),
        CreateCell(code="'before setup'", place=Before(cell=setup)),
    )
    assert codes(after)[:3] == ["import os", "'before setup'", "'start'"]
    assert after.cells[0].id == setup
    for edit in (
        MoveCell(cell=setup, base_version=1, place=AtEnd()),
        RenameCell(cell=setup, base_version=1, name="other"),
        RenameCell(cell=A, base_version=1, name="setup"),
        ConfigureCell(cell=setup, base_version=1, config=CellConfig(disabled=True)),
        EditCell(cell=setup, base_version=1, code=" \n"),
        CreateCell(code="import sys", name="setup"),
    ):
        assert refused(after, edit).reason == "setup"


@pytest.mark.parametrize("name", ["first", "1st", "class", "app", "marimo", "__", "", "ﬁne", "two words"])
def test_a_name_that_is_taken_or_no_identifier_is_refused(document: Document, name: str) -> None:
    assert refused(document, RenameCell(cell=B, base_version=1, name=name)).reason == "bad-name"
    assert refused(document, CreateCell(code="q = 1", name=name)).reason == "bad-name"


@pytest.mark.parametrize("code", ["a = '\0'", "a = '\ud800'"])
def test_code_no_file_can_hold_is_refused(document: Document, code: str) -> None:
    assert refused(document, EditCell(cell=A, base_version=1, code=code)).reason == "bad-code"


def test_unknown_cells_and_taken_ids_are_refused(document: Document) -> None:
    nowhere = CellId("nope")
    assert refused(document, DeleteCell(cell=nowhere, base_version=1)).message == (
        "No cell 'nope'. Cells: aaaa, bbbb, cccc."
    )
    assert refused(document, CreateCell(code="", place=After(cell=nowhere))).reason == "unknown-cell"
    assert refused(Document.new(), DeleteCell(cell=nowhere, base_version=1)).message == "No cell 'nope'. Cells: none."
    assert refused(document, CreateCell(code="", id=A)).reason == "taken-id"
    assert refused(document, CreateCell(code="", id=CellId("setup"))).reason == "taken-id"
    assert refused(document, CreateCell(code="", id=CellId(""))).reason == "taken-id"
    assert refused(document, MoveCell(cell=A, base_version=1, place=After(cell=A))).reason == "bad-place"


def test_a_long_list_of_known_cells_is_cut() -> None:
    document = edited(Document.new(), *(CreateCell(code=f"x{number} = 1") for number in range(30)))
    assert refused(document, DeleteCell(cell=CellId("nope"), base_version=1)).message.endswith(" ….")


def test_new_ids_are_four_letters_that_no_cell_has_or_had(document: Document) -> None:
    after = edited(document, *(CreateCell(code="") for _ in range(200)))
    ids = [cell.id for cell in after.cells]
    assert len(set(ids)) == len(ids)
    assert all(len(cell) == 4 and cell.isalpha() for cell in ids)


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("\n\nx = 1\n\n", "x = 1"),
        ("x = 1\r\ny = 2", "x = 1\ny = 2"),
        ("    x = 1\n    y = 2", "x = 1\ny = 2"),
        ("x\u00a0= 1", "x = 1"),
        ('s = """\n      \n  a\n"""', 's = """\n      \n  a\n"""'),
        ("t = '\x0c'", "t = '\x0c'"),
        ("def (", "def ("),
        ("  # odd\nx = 1", "# odd\nx = 1"),
    ],
)
def test_code_is_kept_as_it_is_but_for_line_breaks_and_outer_blanks(given: str, stored: str) -> None:
    assert edited(Document.new(), CreateCell(code=given)).cells[0].code == stored


def test_undoing_brings_back_codes_names_configuration_and_order(document: Document) -> None:
    named = edited(document, RenameCell(cell=B, base_version=1, name="second"))
    after = edited(
        named,
        RenameCell(cell=A, base_version=1, name="_"),
        RenameCell(cell=B, base_version=2, name="first"),
        RenameCell(cell=A, base_version=1, name="second"),
        DeleteCell(cell=C, base_version=1),
        CreateCell(code="new = 1", place=AtStart()),
        CreateCell(code="import os", name="setup"),
        ConfigureCell(cell=A, base_version=1, config=CellConfig(hide_code=True)),
        EditCell(cell=B, base_version=2, code="y = 0"),
        MoveCell(cell=A, base_version=1, place=AtEnd()),
    )
    back = edited(after, *restore_edits(after, named))
    assert back.has_same_content(named)
    assert [cell.id for cell in back.cells] == [A, B, C]
    again = edited(back, *restore_edits(back, after))
    assert again.has_same_content(after)
    assert restore_edits(after, after) == []
