"""Whoever documents a notebook changes its words: an edit that would compute something else is refused."""

from __future__ import annotations

import pytest

from cellwright.notebook.document import CellConfig, Document
from cellwright.notebook.edits import (
    ConfigureCell,
    CreateCell,
    DeleteCell,
    Edit,
    EditCell,
    EditRefused,
    RenameCell,
    apply_edits,
)
from cellwright.tools.notebook.words_only import computing_change

CODE = "def twice(x):\n    return 2 * x\n\ntotal = twice(21)"


def _notebook(*codes: str) -> Document:
    made = apply_edits(Document.new(), [CreateCell(code=code) for code in codes])
    assert not isinstance(made, EditRefused)
    return made


def _after(before: Document, *edits: Edit) -> Document:
    made = apply_edits(before, list(edits))
    assert not isinstance(made, EditRefused)
    return made


@pytest.mark.parametrize(
    "code",
    [
        'def twice(x):\n    """Twice as much."""\n    return 2 * x\n\n# the answer\ntotal = twice(21)',
        "def twice(x):\n    return 2 * x\n\n\ntotal = (twice(21))",
    ],
)
def test_docstrings_comments_and_layout_are_words(code: str) -> None:
    before = _notebook(CODE)
    cell = before.cells[0]
    after = _after(before, EditCell(cell=cell.id, base_version=cell.version, code=code))
    assert computing_change(before, after) == ""


@pytest.mark.parametrize(
    "code", ["def twice(x):\n    return 3 * x\n\ntotal = twice(21)", "total = 42", "total = twice(", ""]
)
def test_other_code_is_refused(code: str) -> None:
    before = _notebook(CODE)
    cell = before.cells[0]
    after = _after(before, EditCell(cell=cell.id, base_version=cell.version, code=code))
    assert "compute something else" in computing_change(before, after)


@pytest.mark.parametrize(
    ("code", "is_prose"),
    [
        ('mo.md("# Sales")', True),
        ('mo.md(f"It is {total:,} of {len(rows)}.")', True),
        ('mo.md(f"{rows.clear()}")', False),
        ('mo.md(f"{(total := 3)}")', False),
        ("more = total + 1", False),
        ('print("hello")', False),
        ("mo.md(open('x').read())", False),
    ],
)
def test_a_new_cell_is_markdown_that_reads_and_calls_nothing(code: str, is_prose: bool) -> None:
    before = _notebook(CODE)
    assert (computing_change(before, _after(before, CreateCell(code=code))) == "") is is_prose


def test_names_are_words_and_cells_that_compute_stay_and_stay_on() -> None:
    before = _notebook(CODE, 'mo.md("old")')
    [code, prose] = before.cells
    renamed = _after(before, RenameCell(cell=code.id, base_version=code.version, name="answer"))
    assert computing_change(before, renamed) == ""
    assert computing_change(before, _after(before, DeleteCell(cell=prose.id, base_version=prose.version))) == ""
    gone = _after(before, DeleteCell(cell=code.id, base_version=code.version))
    assert "would be gone" in computing_change(before, gone)
    off = ConfigureCell(cell=code.id, base_version=code.version, config=CellConfig(disabled=True))
    assert "switched off" in computing_change(before, _after(before, off))
