"""Sections of the analyst as edits: what stands stays, what a person wrote is theirs, nothing is defined twice."""

from __future__ import annotations

from cellwright.analyst.drafts import CellDraft
from cellwright.ids import CellId
from cellwright.notebook.document import Cell, Document
from cellwright.notebook.edit_json import parse_edits
from cellwright.notebook.edits import EditRefused, apply_edits
from cellwright.tools.section_cells import (
    AnalystCell,
    FittedSection,
    fit,
    namesakes,
    to_take_out,
    without_known_imports,
)


def cell(id: str, code: str, name: str = "_") -> Cell:
    return Cell(id=CellId(id), code=code, name=name)


def notebook(*cells: Cell) -> Document:
    return Document(cells=cells)


def draft(name: str, code: str | None = None, *, words: bool = False, top: bool = False) -> CellDraft:
    return CellDraft(name=name, code=f"{name} = 1" if code is None else code, is_words=words, at_start=top)


def ours(section: str, *cells: Cell, top: bool = False) -> tuple[AnalystCell, ...]:
    return tuple(
        AnalystCell(section=section, draft=each.name, id=each.id, code=each.code, is_at_start=top) for each in cells
    )


def after(document: Document, fitted: FittedSection) -> list[str]:
    changed = apply_edits(document, parse_edits(list(fitted.edits), document))
    assert not isinstance(changed, EditRefused), changed
    return [each.name for each in changed.cells]


IMPORTS = cell("imports", "import marimo as mo", "imports")


def test_new_cells_come_behind_and_what_belongs_on_top_comes_first_in_its_order() -> None:
    document = notebook(IMPORTS)
    fitted = fit(
        document, "tell", [draft("title", top=True), draft("answer", top=True), draft("next")], (), is_new=True
    )
    assert after(document, fitted) == ["title", "answer", "imports", "next"]


def test_in_a_persons_notebook_nothing_is_put_above_their_cells() -> None:
    read = cell("a1", "sales = 1", "sales")
    document = notebook(IMPORTS, cell("p", "mine = 1", "mine"), read)
    drafts = [draft("title", top=True), draft("answer", top=True), draft("next")]
    fitted = fit(document, "tell", drafts, ours("read", read), is_new=False)
    assert after(document, fitted) == ["imports", "mine", "title", "answer", "sales", "next"]


def test_words_hide_their_code() -> None:
    fitted = fit(notebook(), "read", [draft("about", "mo.md('x')", words=True), draft("sales")], (), is_new=True)
    assert [edit.get("config") for edit in fitted.edits] == [{"hide_code": True}, None]


def test_a_section_that_stands_needs_no_edit() -> None:
    standing = cell("a", "sales = 1", "sales")
    fitted = fit(notebook(standing), "read", [draft("sales")], ours("read", standing), is_new=True)
    assert (fitted.edits, [each.draft for each in fitted.stands]) == ((), ["sales"])


def test_a_section_made_anew_edits_removes_and_adds_in_its_own_place() -> None:
    first, second, last = cell("a", "one = 1", "one"), cell("b", "two = 1", "two"), cell("c", "end = 1", "end")
    document = notebook(first, second, last)
    wanted = [draft("one", "one = 2"), draft("three"), draft("four")]
    fitted = fit(document, "look", wanted, (*ours("look", first, second), *ours("tell", last)), is_new=True)
    assert [edit["op"] for edit in fitted.edits] == ["create", "create", "edit", "delete"]
    assert after(document, fitted) == ["one", "three", "four", "end"]


def test_what_a_person_changed_in_our_cell_stays() -> None:
    written, now = cell("a", "sales = 1", "sales"), cell("a", "sales = 2  # mine", "sales")
    fitted = fit(notebook(now), "read", [draft("sales", "sales = 3")], ours("read", written), is_new=True)
    assert (fitted.edits, fitted.left) == ((), ("sales",))


def test_a_variable_that_somebody_else_has_is_a_clash_and_nothing_is_written() -> None:
    document = notebook(cell("p", "tests = 3", "mine"))
    fitted = fit(document, "test", [draft("all_tests", "tests = 1"), draft("fine")], (), is_new=False)
    assert fitted == FittedSection(clashes=("tests",))


def test_a_cell_that_is_there_word_for_word_is_not_written_again() -> None:
    document = notebook(cell("p", "def difference():\n    return 1", "theirs"))
    fitted = fit(document, "test", [draft("difference", "def difference():\n    return 1")], (), is_new=False)
    assert (fitted.edits, fitted.clashes) == ((), ())


def test_a_name_that_a_cell_has_gets_a_number() -> None:
    document = notebook(cell("p", "x = 1", "read_sales"))
    fitted = fit(document, "read", [draft("read_sales", "sales = 1")], (), is_new=False)
    assert (fitted.edits[0]["name"], fitted.names) == ("read_sales_2", (("read_sales", "read_sales_2"),))


def test_imports_that_the_notebook_makes_are_left_out() -> None:
    known = [cell("p", "import pandas as pd\nfrom scipy import stats\nx = 1")]
    drafts = [draft("libraries", "import numpy as np\nimport pandas as pd\nfrom scipy import stats")]
    assert [each.code for each in without_known_imports(drafts, known)] == ["import numpy as np"]
    assert without_known_imports([draft("libraries", "import pandas as pd")], known) == []


def test_another_module_under_the_same_name_is_a_clash() -> None:
    document = notebook(cell("p", "import polars as pd"))
    assert fit(document, "read", [draft("libraries", "import pandas as pd")], (), is_new=False).clashes == ("pd",)


def test_words_that_only_lead_to_cells_that_failed_go_with_them() -> None:
    drafts = [
        draft("intro", words=True),
        draft("chart"),
        draft("more", words=True),
        draft("table"),
        draft("other"),
        draft("end", words=True),
    ]
    assert to_take_out(drafts, {"chart", "table"}) == ("intro", "chart", "table")


def test_a_run_that_takes_up_an_earlier_one_knows_its_cells_by_their_names() -> None:
    left = cell("a", "answer = 1", "answer")
    document = notebook(left, cell("p", "mine = 1", "mine"))
    drafts = [draft("answer", "answer = 2")]
    found = namesakes(document, "tell", drafts, ())
    fitted = fit(document, "tell", drafts, found, is_new=False)
    assert [(edit["op"], edit["cell"]) for edit in fitted.edits] == [("edit", "a")]
