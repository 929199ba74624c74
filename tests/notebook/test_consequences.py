"""What edits would do is known before a kernel sees them."""

from __future__ import annotations

import pytest

from cellwright.ids import CellId
from cellwright.notebook.consequences import Consequences, foresee
from cellwright.notebook.dataflow import CodeProblem, Cycle
from cellwright.notebook.document import Cell, CellConfig, Document
from cellwright.notebook.edits import (
    AtEnd,
    ConfigureCell,
    CreateCell,
    DeleteCell,
    Edit,
    EditCell,
    EditRefused,
    MoveCell,
)

A, B, C, D, E = (CellId(letter * 4) for letter in "abcde")


@pytest.fixture
def document() -> Document:
    codes = {A: "x = 1", B: "y = x", C: "z = y", D: "print(z)", E: "other = 1"}
    return Document(cells=tuple(Cell(id=cell, code=code) for cell, code in codes.items()))


def consequences(document: Document, *edits: Edit) -> Consequences:
    found = foresee(document, edits)
    assert isinstance(found, Consequences)
    return found


def test_an_edit_makes_its_cell_and_its_dependents_stale_in_running_order(document: Document) -> None:
    found = consequences(document, EditCell(cell=B, base_version=1, code="y = x + 1"))
    assert found.changed == (B,)
    assert found.stale == found.would_run == (B, C, D)
    assert found.is_sound


def test_nothing_is_stale_after_a_move_or_without_edits(document: Document) -> None:
    assert consequences(document, MoveCell(cell=A, base_version=1, place=AtEnd())).stale == ()
    assert consequences(document).stale == ()


def test_a_syntax_error_is_found_where_it_stands_and_blocks_what_needs_it(document: Document) -> None:
    found = consequences(document, EditCell(cell=B, base_version=1, code="y = 1\nx +"))
    assert found.problems == {B: CodeProblem(kind="syntax", message="invalid syntax", line=2, column=4)}
    assert found.lost_names == {"y": (C,)}
    assert found.stale == (C, D, B)
    assert found.would_run == (C, D)
    assert not found.is_sound


def test_a_star_import_is_found(document: Document) -> None:
    found = consequences(document, EditCell(cell=E, base_version=1, code="from os import *"))
    assert found.problems[E].kind == "star-import"


def test_a_cycle_and_a_second_definition_run_nothing(document: Document) -> None:
    found = consequences(document, EditCell(cell=A, base_version=1, code="x = z"))
    assert found.cycles == (Cycle(cells=(A, B, C), names=("x", "y", "z")),)
    assert found.would_run == ()
    twice = consequences(document, EditCell(cell=E, base_version=1, code="x = 3"))
    assert twice.defined_twice == {"x": (A, E)}
    assert twice.would_run == ()
    assert set(twice.stale) == {B, C, D, E}


def test_deleting_a_used_name_tells_who_loses_it(document: Document) -> None:
    found = consequences(document, DeleteCell(cell=A, base_version=1))
    assert found.deleted == (A,)
    assert found.lost_names == {"x": (B,)}
    assert found.would_run == (B, C, D)
    assert consequences(document, DeleteCell(cell=E, base_version=1)).lost_names == {}


def test_disabled_cells_and_their_dependents_do_not_run_until_enabled(document: Document) -> None:
    off = ConfigureCell(cell=C, base_version=1, config=CellConfig(disabled=True))
    disabled = consequences(document, off, EditCell(cell=A, base_version=1, code="x = 5"))
    assert disabled.stale == (A, B, C, D)
    assert disabled.would_run == (A, B)
    on = ConfigureCell(cell=C, base_version=2, config=CellConfig())
    assert consequences(disabled.document, on).would_run == (C, D)


def test_the_setup_cell_can_need_nobody(document: Document) -> None:
    found = consequences(document, CreateCell(code="import os\nw = x", name="setup"))
    assert found.setup_needs == ("x",)
    assert CellId("setup") not in found.would_run
    assert not found.is_sound


def test_refused_edits_have_no_consequences(document: Document) -> None:
    assert isinstance(foresee(document, [DeleteCell(cell=CellId("nope"), base_version=1)]), EditRefused)
