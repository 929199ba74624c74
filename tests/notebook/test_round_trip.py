"""The file format is lossless: what was not edited keeps its bytes, what was edited reads back as it was meant."""

from __future__ import annotations

import ast
import contextlib
import difflib
from pathlib import Path
from typing import Final

import marimo
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from marimo._ast.load import load_app
from marimo._ast.parse import parse_notebook as marimo_parse

from cellwright.errors import UserError
from cellwright.ids import CellId
from cellwright.notebook.document import CellConfig, Document
from cellwright.notebook.edits import (
    After,
    AtEnd,
    AtStart,
    Before,
    CellPosition,
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
from cellwright.notebook.files import new, read, save
from cellwright.notebook.marimo_file import parse_notebook
from cellwright.notebook.render import render
from tests.sampling import every

MARIMO: Final = Path(marimo.__file__).parent
SHIPPED: Final = sorted(path for path in MARIMO.rglob("*.py") if "\napp = marimo.App(" in path.read_text())

ODDITIES: Final = '''\
#!/usr/bin/env python
# /// script
# dependencies = ["numpy"]
# ///
"""A docstring."""
# a comment

import marimo

__generated_with = "0.1.0"
app = marimo.App(width="full", css_file="a.css")  # the app

with app.setup(hide_code=True):
    import math

    # the end of setup


# above one
@app.cell(hide_code=True)
def one(
    mo,
):
    x: int = 1  # ünï
    return (x,)  # handed on


@app.function
def double(value: int) -> int:
    """Twice."""
    return value * 2


# above thing
@app.class_definition(expand_output=True)
class Thing:
    size = 3


@app.cell
async def _(asyncio):
    await asyncio.sleep(0)
    return
    # never reached


@app.cell
def _(): y = 2; return y,


@app.cell
def _(x):
    z = x

stray = 1


@app.cell
def _(x):
    w = x
    # below, without a return

    # and further below


@app.cell(disabled=True, column=1)
def _(mo):
    mo.md("""
    # Title

      indented {x}
    """)
    return


@app.cell
def _(df, mo):
    rows = mo.sql(
        f"""
        SELECT * FROM df
        """
    )
    return (rows,)


app._unparsable_cell(
    r"""
    def broken(:
        pass
    """,
    name="broken",
)


# above the guard
if __name__ == "__main__":
    app.run()
# below the guard
'''

SPLICED: Final = {
    "\n": ODDITIES,
    "crlf": ODDITIES.replace("\n", "\r\n"),
    "cr": ODDITIES.replace("\n", "\r"),
    "tabs": ODDITIES.replace("    ", "\t"),
    "no final newline": ODDITIES.rstrip("\n"),
    "no guard": ODDITIES[: ODDITIES.index("# above the guard")],
    "blank start": "\n\n" + ODDITIES,
}


def edited(document: Document, *edits: Edit) -> Document:
    after = apply_edits(document, edits)
    assert not isinstance(after, EditRefused), after
    return after


def changed_lines(before: str, after: str) -> list[str]:
    return [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"]


def test_marimo_still_ships_notebooks_to_test_with() -> None:
    assert len(SHIPPED) > 100


@pytest.mark.sampled(9)
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_a_shipped_notebook_round_trips_and_has_the_ids_marimo_gives(path: Path) -> None:
    document = read(path).document
    assert render(document).encode() == path.read_bytes()
    app = load_app(path)
    assert app is not None
    assert [(cell.id, cell.code) for cell in document.cells] == [
        (data.cell_id, data.code) for data in app._cell_manager.cell_data()
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", every(SHIPPED, 4), ids=lambda path: path.name)
def test_an_edit_of_a_shipped_notebook_touches_only_that_cell_and_signatures(path: Path) -> None:
    document = read(path).document
    target = document.cells[len(document.cells) // 2]
    code = f"{target.code}\nfresh_name = 1"
    after = edited(document, EditCell(cell=target.id, base_version=1, code=code), CreateCell(code="fresh_name + 1"))
    text = render(after)
    assert parse_notebook(text, "x").has_same_content(after)
    untouched = [cell for cell in document.cells if cell.id != target.id]
    assert document.origin is not None
    chunks = dict(document.origin.layout.chunks)
    for cell in untouched:
        assert chunks[cell.id].span.of(document.origin.text) in text


@pytest.mark.parametrize("text", SPLICED.values(), ids=SPLICED.keys())
def test_odd_notebooks_round_trip(text: str) -> None:
    assert render(parse_notebook(text, "odd")) == text


@pytest.mark.parametrize("text", SPLICED.values(), ids=SPLICED.keys())
def test_everything_read_from_an_odd_notebook(text: str) -> None:
    document = parse_notebook(text, "odd")
    assert [(cell.id, cell.name) for cell in document.cells] == [
        ("setup", "setup"), ("Hbol", "one"), ("MJUe", "_"), ("vblA", "_"), ("bkHC", "_"),
        ("lEQa", "_"), ("PKri", "_"), ("Xref", "_"), ("SFPL", "_"), ("BYtC", "_"), ("RGSE", "broken"),
    ]  # fmt: skip
    assert document.cells[1].code == "x: int = 1  # ünï"
    assert document.cells[1].config == CellConfig(hide_code=True)
    assert document.cells[8].config == CellConfig(disabled=True, column=1)
    assert document.options == {"width": "full", "css_file": "a.css"}
    assert document.script_metadata == 'dependencies = ["numpy"]\n'


@pytest.mark.parametrize("text", SPLICED.values(), ids=SPLICED.keys())
def test_a_new_user_of_a_name_changes_only_the_return_of_its_definer(text: str) -> None:
    document = parse_notebook(text, "odd")
    after = edited(document, CreateCell(code="z + 1"))
    lines = changed_lines(text, render(after))
    assert [line for line in lines if line.startswith("-")] == ['- __generated_with = "0.1.0"']
    assert "# below, without" in render(edited(document, CreateCell(code="w + 1")))
    assert "+     return (z,)" in lines or "+ \treturn (z,)" in lines
    assert parse_notebook(render(after), "odd").has_same_content(after)


@pytest.mark.slow
@pytest.mark.parametrize("text", every(SPLICED.values(), 4), ids=SPLICED.keys())
def test_every_single_edit_of_an_odd_notebook_reads_back_and_can_be_undone_to_the_byte(text: str) -> None:
    document = parse_notebook(text, "odd")
    for cell in document.cells:
        edits: list[Edit] = [
            EditCell(cell=cell.id, base_version=1, code="import math" if cell.is_setup else "value = 3"),
            ConfigureCell(cell=cell.id, base_version=1, config=CellConfig(hide_code=not cell.config.hide_code)),
            DeleteCell(cell=cell.id, base_version=1),
        ]
        if not cell.is_setup:
            edits += [
                RenameCell(cell=cell.id, base_version=1, name="renamed"),
                MoveCell(cell=cell.id, base_version=1, place=AtStart()),
                MoveCell(cell=cell.id, base_version=1, place=AtEnd()),
                CreateCell(code="def f():\n    return x", place=Before(cell=cell.id)),
            ]
        for edit in edits:
            after = edited(document, edit)
            written = render(after)
            assert parse_notebook(written, "odd").has_same_content(after), edit
            back = edited(after, *restore_edits(after, document))
            assert back.has_same_content(document)
            assert render(back) == text


def test_a_renamed_cell_keeps_its_body_to_the_byte() -> None:
    document = parse_notebook(ODDITIES, "odd")
    after = edited(document, RenameCell(cell=CellId("Hbol"), base_version=1, name="uno"))
    assert set(changed_lines(ODDITIES, render(after))) == {
        '- __generated_with = "0.1.0"',
        f'+ __generated_with = "{marimo.__version__}"',
        "- def one(",
        "-     mo,",
        "- ):",
        "+ def uno():",
    }


def test_comments_above_a_deleted_cell_stay_and_comments_above_a_moved_cell_go_with_it() -> None:
    document = parse_notebook(ODDITIES, "odd")
    one, thing = CellId("Hbol"), CellId("vblA")
    text = render(
        edited(
            document,
            DeleteCell(cell=one, base_version=1),
            MoveCell(cell=thing, base_version=1, place=AtEnd()),
        )
    )
    assert "# above one\n" in text
    assert text.index("# above thing\n@app.class_definition") > text.index("app._unparsable_cell")


def test_a_signature_changes_when_the_setup_cell_takes_a_name_over() -> None:
    text = render(
        edited(
            Document.new(),
            CreateCell(code="import math", id=CellId("aaaa")),
            CreateCell(code="math.pi", name="area"),
        )
    )
    assert "def area(math):" in text
    document = parse_notebook(text, "x")
    first = document.cells[0]
    after = edited(document, DeleteCell(cell=first.id, base_version=1), CreateCell(code="import math", name="setup"))
    assert "with app.setup:\n    import math\n" in render(after)
    assert "def area():" in render(after)


def test_a_function_that_loses_its_independence_becomes_a_cell() -> None:
    document = parse_notebook(ODDITIES, "odd")
    text = render(edited(document, EditCell(cell=CellId("MJUe"), base_version=1, code="def double(v):\n    return x")))
    assert "@app.cell\ndef _(x: int):\n    def double(v):\n        return x\n\n    return\n" in text


def test_a_named_cell_that_holds_one_function_keeps_its_name() -> None:
    after = edited(Document.new(), CreateCell(code="def f():\n    return 1", name="keeper"))
    assert parse_notebook(render(after), "x").cells[0].name == "keeper"


def test_a_new_notebook_is_what_marimo_itself_would_write() -> None:
    codes = ["import marimo as mo", "x = 1", "def f(a):\n    return a", "y = x + f(1)\nprint(y)"]
    after = edited(Document.new(options={"width": "full"}), *(CreateCell(code=code) for code in codes))
    assert (
        render(after)
        == f'''\
import marimo

__generated_with = "{marimo.__version__}"
app = marimo.App(width="full")


@app.cell
def _():
    import marimo as mo

    return


@app.cell
def _():
    x = 1
    return (x,)


@app.function
def f(a):
    return a


@app.cell
def _(x):
    y = x + f(1)
    print(y)
    return


if __name__ == "__main__":
    app.run()
'''
    )


def test_header_and_options_can_be_changed_and_quotes_survive() -> None:
    document = Document.new(header="# hello\n", options={"app_title": 'say "hi"', "auto_download": ["html"]})
    read_back = parse_notebook(render(document), "x")
    assert read_back.has_same_content(document)
    assert read_back.options == {"app_title": 'say "hi"', "auto_download": ["html"]}
    changed = Document(cells=read_back.cells, header="", options={}, origin=read_back.origin)
    assert render(changed).startswith("import marimo\n")
    assert "app = marimo.App()\n" in render(changed)
    headed = Document(cells=(), header="# new", options=read_back.options, origin=read_back.origin)
    assert render(headed).startswith("# new\n\nimport marimo\n")


def test_metadata_needs_exactly_one_script_block() -> None:
    block = "# /// script\n# x = 1\n#\n# ///\n"
    assert Document.new(header=block).script_metadata == "x = 1\n\n"
    assert Document.new(header=f"{block}\n{block}").script_metadata is None
    assert Document.new(header="# nothing").script_metadata is None


def test_a_marimo_alias_and_a_missing_version_line_survive() -> None:
    text = "import marimo as m\n\napp = m.App()\n\n@app.cell\ndef _():\n    x = 1\n    return\n"
    document = parse_notebook(text, "x")
    after = edited(document, CreateCell(code="x"))
    assert render(after) == text.replace("return\n", "return (x,)\n\n\n@app.cell\ndef _(x):\n    x\n    return\n")


def test_a_cell_on_one_line_is_written_anew_when_it_must_return_something() -> None:
    text = "import marimo\n\napp = marimo.App()\n\n@app.cell\ndef _(): q = 1\n"
    after = edited(parse_notebook(text, "x"), CreateCell(code="q"))
    assert "@app.cell\ndef _():\n    q = 1\n    return (q,)\n" in render(after)
    assert parse_notebook(render(after), "x").has_same_content(after)


def test_a_version_that_is_no_string_is_left_alone() -> None:
    text = "import marimo\n\n__generated_with = 3\napp = marimo.App()\n"
    document = parse_notebook(text, "x")
    assert "__generated_with = 3\n" in render(edited(document, CreateCell(code="x = 1")))


def test_an_unparsable_setup_cell_is_still_the_setup_cell() -> None:
    after = edited(Document.new(), CreateCell(code="import (", name="setup"), CreateCell(code="x = 1"))
    document = parse_notebook(render(after), "x")
    assert document.has_same_content(after)
    assert document.cells[0].id == "setup"
    mended = edited(document, EditCell(cell=CellId("setup"), base_version=1, code="# only a comment"))
    assert "with app.setup:\n    # only a comment\n    pass\n" in render(mended)
    assert parse_notebook(render(mended), "x").has_same_content(mended)
    waiting = edited(mended, EditCell(cell=CellId("setup"), base_version=2, code="await f()"))
    assert "async with app.setup:\n" in render(waiting)


# ── anything an agent may send ──

LINES = st.sampled_from(
    [
        "x = 1", "y = x + 1", "import os", "def f(a):\n    return a", "class C:\n    z = 1", "# comment", "", "   ",
        's = """\n  a\n      \n\tb\n"""', "t = 'ü\u2028\x0c'", "if x:\n    y = 2", "await g()", "mo.md('hi')",
        "from os import *", "def (", "'''", '"""', "\\", "    indented = 1", "  # odd", "x: int = 3", "return 1",
        "del x", "sum = 3", "async def k():\n\tpass", "mo.sql(f'select * from {t}')", "print(a,\n  b)", "x = 1  \n",
        "u = '\u00a0'", "w = 'a\\\nb'", "lambda: (yield)", "global x", "return", "f'{x!r:>{y}}'", "app = 2", "\t",
        "_p = 1; _p", "@dec\ndef h(): ...", "pass",
    ]
)  # fmt: skip
CODES = st.lists(LINES, max_size=5).map("\n".join) | st.text(max_size=20)
CONFIGS = st.builds(CellConfig, column=st.none() | st.integers(0, 3), disabled=st.booleans(), hide_code=st.booleans())
NAMES = st.sampled_from(["_", "_", "alpha", "beta", "gamma", "ünder", "f", "setup", "class", "app", "not a name"])


@st.composite
def edits_of(draw: st.DrawFn, document: Document) -> Edit:
    place: CellPosition = draw(st.sampled_from([AtStart(), AtEnd()]))
    if document.cells and draw(st.booleans()):
        anchor = draw(st.sampled_from(document.cells)).id
        place = draw(st.sampled_from([After(cell=anchor), Before(cell=anchor)]))
    if not document.cells or draw(st.integers(0, 3)) == 0:
        return CreateCell(code=draw(CODES), name=draw(NAMES), config=draw(CONFIGS), place=place)
    cell = draw(st.sampled_from(document.cells))
    return draw(
        st.one_of(
            st.builds(EditCell, cell=st.just(cell.id), base_version=st.just(cell.version), code=CODES),
            st.builds(DeleteCell, cell=st.just(cell.id), base_version=st.just(cell.version)),
            st.builds(MoveCell, cell=st.just(cell.id), base_version=st.just(cell.version), place=st.just(place)),
            st.builds(RenameCell, cell=st.just(cell.id), base_version=st.just(cell.version), name=NAMES),
            st.builds(ConfigureCell, cell=st.just(cell.id), base_version=st.just(cell.version), config=CONFIGS),
        )
    )


@pytest.mark.slow
@given(data=st.data(), text=st.sampled_from([*SPLICED.values(), render(Document.new())]))
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_whatever_edits_are_made_the_saved_text_reads_back_as_the_same_notebook(data: st.DataObject, text: str) -> None:
    document = start = parse_notebook(text, "x")
    for _ in range(data.draw(st.integers(1, 6))):
        after = apply_edits(document, [data.draw(edits_of(document))])
        document = document if isinstance(after, EditRefused) else after
    written = render(document)
    ast.parse(written)
    assert parse_notebook(written, "x").has_same_content(document)
    notebook = marimo_parse(written)
    assert notebook is not None
    assert [cell.code for cell in notebook.cells] == [cell.code for cell in document.cells]
    back = edited(document, *restore_edits(document, start))
    assert render(back) == text


@given(code=CODES)
def test_stored_code_means_what_was_sent_and_is_stored_the_same_again(code: str) -> None:
    once = apply_edits(Document.new(), [CreateCell(code=code)])
    if isinstance(once, EditRefused):
        assert once.reason == "bad-code"
        return
    with contextlib.suppress(SyntaxError, ValueError):
        meant = ast.dump(ast.parse(code.replace("\u00a0", " ")))
        assert ast.dump(ast.parse(once.cells[0].code)) == meant
    twice = apply_edits(Document.new(), [CreateCell(code=once.cells[0].code)])
    assert not isinstance(twice, EditRefused)
    assert twice.cells[0].code == once.cells[0].code


def test_saving_a_new_notebook_and_reading_it_gives_the_same_document(tmp_path: Path) -> None:
    document = edited(Document.new(), CreateCell(code="x = 1", name="start"), CreateCell(code="mo.md('# hi')"))
    saved = save(new(tmp_path / "fresh.py"), document)
    assert read(tmp_path / "fresh.py").document.has_same_content(document)
    assert saved == save(new(tmp_path / "fresh.py"), document)


@given(data=st.data())
def test_a_mangled_notebook_is_refused_or_still_lossless(data: st.DataObject) -> None:
    lines = list[str](ODDITIES.splitlines(keepends=True))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        lines[at : at + 1] = data.draw(
            st.sampled_from([[], [lines[at]] * 2, [lines[at].strip() + "; y = 1\n"], ["\n"]])
        )
    text = "".join(lines)
    try:
        document = parse_notebook(text, "x")
    except UserError:
        return
    assert render(document) == text
    after = edited(document, CreateCell(code="z, x, w"))
    assert parse_notebook(render(after), "x").has_same_content(after)


def test_statements_crowded_onto_a_cells_line_get_a_line_of_their_own_when_it_is_edited() -> None:
    text = 'import marimo\n\napp = marimo.App(); a = 1\n\napp._unparsable_cell("x +"); y = 1\n'
    document = parse_notebook(text, "x")
    after = edited(
        document,
        CreateCell(code="import os", name="setup"),
        EditCell(cell=document.cells[0].id, base_version=1, code="x = 1"),
    )
    assert render(after) == (
        "import marimo\n\napp = marimo.App(); a = 1\n\nwith app.setup:\n    import os\n\n"
        "@app.cell\ndef _():\n    x = 1\n    return\ny = 1\n"
    )
    together = 'import marimo\napp = marimo.App(); app._unparsable_cell("x +"); app._unparsable_cell("y +")\n'
    assert render(parse_notebook(together, "x")) == together


def test_a_cell_too_complex_for_marimo_is_kept_while_others_are_edited() -> None:
    deep = "x = " + "-" * 900 + "1"
    text = f"import marimo\n\napp = marimo.App()\n\n\n@app.cell\ndef _():\n    {deep}\n    return\n"
    document = parse_notebook(text, "x")
    assert document.cells[0].code == deep
    after = edited(document, CreateCell(code="y = 1"))
    assert render(after) == text[:-1] + "\n\n\n@app.cell\ndef _():\n    y = 1\n    return\n"
