from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from marimo._ast.cell import CellConfig as MarimoConfig
from marimo._messaging.notebook import changes as marimo
from marimo._messaging.notebook.document import NotebookCell, NotebookDocument
from marimo._types.ids import CellId_t

from cellwright.ids import CellId
from cellwright.notebook.document import Cell, CellConfig, Document
from cellwright.notebook.edits import EditRefused, apply_edits
from cellwright.server.editor.document_sync import edits_of, our_config, to_show

ids = st.sampled_from(["Hbol", "MJUe", "vblA", "bkHC", "lEQa"])
codes = st.sampled_from(["", "x = 1", "y = x", "print(1)"])
configs = st.builds(CellConfig, disabled=st.booleans(), hide_code=st.booleans())
cells = st.lists(
    st.builds(Cell, id=ids.map(CellId), code=codes, config=configs), unique_by=lambda cell: cell.id, max_size=5
)


def shown(document: list[Cell]) -> NotebookDocument:
    return NotebookDocument(
        NotebookCell(
            id=CellId_t(cell.id),
            code=cell.code,
            name=cell.name,
            config=MarimoConfig(disabled=cell.config.disabled, hide_code=cell.config.hide_code),
        )
        for cell in document
    )


def looks(document: NotebookDocument) -> list[tuple[str, str, str, CellConfig]]:
    return [(cell.id, cell.code, cell.name, our_config(cell.config)) for cell in document.cells]


@given(before=cells, after=cells)
def test_an_editor_that_is_told_the_changes_shows_what_is_ours(before: list[Cell], after: list[Cell]) -> None:
    editor = shown(before)
    changes = to_show(editor.cells, Document(cells=tuple(after)), is_same=lambda cell, theirs, ours: False)
    editor.apply(marimo.Transaction(changes=tuple(changes), source="host"))
    assert looks(editor) == looks(shown(after))
    assert to_show(editor.cells, Document(cells=tuple(after)), is_same=lambda cell, theirs, ours: False) == []


@given(before=cells, after=cells, held=st.sets(ids.map(CellId)))
def test_a_cell_that_is_being_typed_into_keeps_its_text_and_its_place_until_the_typing_is_known(
    before: list[Cell], after: list[Cell], held: set[CellId]
) -> None:
    editor = shown(before)
    changes = to_show(editor.cells, Document(cells=tuple(after)), is_same=lambda cell, theirs, ours: False, held=held)
    editor.apply(marimo.Transaction(changes=tuple(changes), source="host"))
    texts = {CellId(cell.id): cell.code for cell in editor.cells}
    assert all(texts[cell.id] == cell.code for cell in before if cell.id in held)
    rest = {cell.id: cell.code for cell in after if cell.id not in held or cell.id not in {b.id for b in before}}
    assert rest.items() <= texts.items()


orders = st.lists(ids, max_size=5)
anchors = st.none() | ids.map(CellId_t)
changed = st.one_of(
    st.builds(
        marimo.CreateCell,
        cell_id=st.sampled_from(["newA", "Hbol", "", "a/b"]).map(CellId_t),
        code=codes,
        name=st.just("_"),
        config=st.builds(MarimoConfig),
        before=anchors,
        after=anchors,
    ),
    st.builds(marimo.DeleteCell, cell_id=ids.map(CellId_t)),
    st.builds(marimo.MoveCell, cell_id=ids.map(CellId_t), before=anchors, after=anchors),
    st.builds(marimo.SetCode, cell_id=ids.map(CellId_t), code=codes),
    st.builds(marimo.ReorderCells, cell_ids=orders.map(lambda order: tuple(CellId_t(id) for id in order))),
    st.builds(
        marimo.SetConfig,
        cell_id=ids.map(CellId_t),
        column=st.none(),
        disabled=st.booleans(),
        hide_code=st.booleans(),
        expand_output=st.just(False),
    ),
)


@given(before=cells, change=changed)
def test_whatever_a_person_changes_is_an_edit_of_ours_that_is_not_refused(
    before: list[Cell], change: marimo.DocumentChange
) -> None:
    document = apply_edits(Document(cells=tuple(before)), edits_of(change, Document(cells=tuple(before))))
    assert not isinstance(document, EditRefused)
    if isinstance(change, marimo.SetCode) and any(cell.id == change.cell_id for cell in before):
        found = document.find(CellId(change.cell_id))
        assert found is not None
        assert found.code == change.code
