"""Tidying names cells and gives a title, changes nobody's code or names; and what a reader would miss is said."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from cellwright.notebook.document import DEFAULT_NAME, Document
from cellwright.notebook.edits import CreateCell, Edit, apply_edits
from cellwright.notebook.marimo_file import parse_notebook
from cellwright.notebook.render import render
from cellwright.runs.deliver.cleanup import is_readable, tidy
from cellwright.runs.plan.plan import Plan

PLAN = Plan(title="Penguins", deliverable="Which penguins are heaviest.")


def notebook(*cells: str | tuple[str, str]) -> Document:
    edits: list[Edit] = [
        CreateCell(code=cell) if isinstance(cell, str) else CreateCell(name=cell[0], code=cell[1]) for cell in cells
    ]
    document = apply_edits(Document.new(), edits)
    assert isinstance(document, Document)
    return document


def tidied(document: Document, *, title: str | None = None, plan: Plan | None = None) -> Document:
    after = apply_edits(document, tidy(document, title=title, plan=plan))
    assert isinstance(after, Document), after
    assert parse_notebook(render(after), "tidied").has_same_content(after)
    return after


def names(*codes: str) -> list[str]:
    return [cell.name for cell in tidied(notebook(*codes)).cells]


# ── names ──


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("monthly_revenue = df.groupby('month').sum()", "monthly_revenue"),
        ("import pandas as pd\nimport numpy as np", "imports"),
        ("import pandas as pd\nsales = pd.read_csv('x')", "sales"),
        ("_private = 1\nchart = draw(_private)\nchart", "chart"),
        ("a = 1\nb = a", "b"),
        ("fig, ax = plt.subplots()\nax.plot(x)\nfig", "fig"),
        ("mo.ui.table(monthly)", "show_monthly"),
        ("[column for column in frame]", "show_frame"),
        ("def clean(x):\n    return x\n\nready = clean(raw)", "ready"),
        ("def one(): ...\ndef two(): ...", "define_one"),
        ("print('hello')", "step"),
        ("with open('x') as handle:\n    text = handle.read()", "text"),
        ("for item in things:\n    last = item", "item"),
        ("test_data = 1", "cell_test_data"),
        ("1 / 2", "result"),
        ("this is not: python", "broken"),
        ("app = 1", "app_2"),
    ],
)
def test_a_cell_is_named_by_what_it_is_about(code: str, name: str) -> None:
    assert names(code) == [name]


def test_markdown_and_single_definitions_keep_their_place_without_a_name() -> None:
    codes = ['mo.md("# Hello")', "def shared(x):\n    return x", "class Penguin:\n    pass"]
    assert names(*codes) == [DEFAULT_NAME] * 3


def test_names_are_unique_and_leave_room_for_functions_at_the_top_of_the_file() -> None:
    assert names("def sales():\n    return 1", "sales2 = 1", "print(x)", "print(y)") == [
        DEFAULT_NAME,
        "sales2",
        "show_x",
        "show_y",
    ]
    document = notebook("def total(x):\n    return x", "if True:\n    total_2 = 1", ("total_3", "total_3 = 1"))
    assert [cell.name for cell in tidied(document).cells] == [DEFAULT_NAME, "total_2", "total_3"]
    assert names("print(total)", "def show_total(): ...") == ["show_total_2", DEFAULT_NAME]


def test_a_persons_names_and_everybodys_code_stay() -> None:
    document = notebook(("my_own", "x = 1"), "y = x", ("setup", "import os"))
    after = tidied(document, title="T")
    assert {cell.code for cell in document.cells} <= {cell.code for cell in after.cells}
    assert [cell.name for cell in after.cells if cell.id in {one.id for one in document.cells}] == [
        "setup",
        "my_own",
        "y",
    ]


def test_tidying_twice_changes_nothing() -> None:
    document = notebook("import marimo as mo", "x = 1", "mo.md('hi')")
    once = tidied(document, title="Penguins", plan=PLAN)
    assert tidy(once, title="Penguins", plan=PLAN) == []


CODES = st.sampled_from([
    "x = 1", "import os", "mo.md('# hi')", "def f(): ...", "class test_x: ...", "äö = 1", "ﬁ = 2", "test = 1", "(", "",
    "match = 1\ntype = 2", "_x = 1", "print(1)", "x, *y = z", "async def g(): ...\nh = 1", "setup = 1", "marimo = 1",
])  # fmt: skip


@given(st.lists(CODES, max_size=8))
def test_whatever_the_cells_the_edits_apply_and_no_code_changes(codes: list[str]) -> None:
    document = notebook(*codes)
    after = tidied(document, title="A title", plan=PLAN)
    known = {cell.id: cell.code for cell in after.cells}
    assert all(known[cell.id] == cell.code for cell in document.cells)
    given_names = [cell.name for cell in after.cells if cell.name != DEFAULT_NAME]
    assert len(set(given_names)) == len(given_names)
    assert not any(name.startswith("test") for name in given_names)


# ── the title ──


def test_a_new_notebook_without_a_title_gets_one_on_top() -> None:
    after = tidied(notebook("import marimo as mo", "x = 1"), title="Heavy <b>penguins</b>", plan=PLAN)
    assert (after.cells[0].name, after.cells[0].config.hide_code) == ("title", True)
    assert after.cells[0].code == snapshot('''\
mo.md(r"""
# Heavy &lt;b&gt;penguins&lt;/b&gt;

Which penguins are heaviest.
""")\
''')


def test_the_plans_title_is_taken_where_none_is_given() -> None:
    assert "# Penguins" in tidied(notebook("import marimo as mo"), title="", plan=PLAN).cells[0].code


def test_a_notebook_somebody_else_began_gets_no_title() -> None:
    assert [edit for edit in tidy(notebook("x = 1"), title=None, plan=PLAN) if isinstance(edit, CreateCell)] == []


@pytest.mark.parametrize(
    "code",
    ['mo.md("# Mine")', 'mo.md(r"""\n# Mine\n""")', 'mo.md(f"# About {x}")', 'mo.Html("<h1>Mine</h1>")',
     'mo.vstack([mo.md("# Mine"), table])', 'mo.md("# Mine").center()'],
)  # fmt: skip
def test_a_title_that_is_there_is_enough(code: str) -> None:
    document = notebook("import marimo as mo", code)
    assert [edit for edit in tidy(document, title="Other", plan=None) if isinstance(edit, CreateCell)] == []


def test_a_second_level_heading_is_no_title() -> None:
    document = notebook("import marimo as mo", 'mo.md("## Part\\n\\nuses # signs")')
    assert len([edit for edit in tidy(document, title="T") if isinstance(edit, CreateCell)]) == 1


def test_where_marimo_is_not_imported_the_title_brings_the_import_along() -> None:
    after = tidied(notebook("x = 1"), title="T")
    assert [cell.code for cell in after.cells] == ['mo.md(r"""\n# T\n""")', "import marimo as mo", "x = 1"]


def test_where_mo_is_something_else_there_is_no_title() -> None:
    assert len(tidied(notebook("mo = 1"), title="T").cells) == 1


# ── what a reader misses ──

TOLD = ("import marimo as mo", 'mo.md("# T")')


def missed(*codes: str) -> list[str]:
    return [
        line.partition(": ")[2] if line.startswith("Cell") else line for line in is_readable(notebook(*TOLD, *codes))
    ]


def test_a_notebook_that_reads_well_has_no_complaints() -> None:
    chart = (
        "fig, ax = plt.subplots()\nax.bar(m.index, m)\nax.set_title('Revenue')\n"
        "ax.set_xlabel('Month')\nax.set_ylabel('Revenue (EUR)')\nfig"
    )
    assert is_readable(notebook(*TOLD, "sales = pd.read_csv(sales_csv)", "mo.md('So it fell.')", chart)) == ()


def test_what_is_missing_is_said_in_short_sentences() -> None:
    long = "\n".join(f"x = {number}" for number in range(50))
    wide = "\n".join(f"x{number} = 1" for number in range(9))
    document = notebook("df", ("long", long), ("wide", wide), ("both", "d = pd.read_csv('x')\nd.plot(title='T')"))
    assert is_readable(document) == snapshot(
        (
            'The notebook has no title: begin with a markdown cell `mo.md("# …")`.',
            "Cell long has 50 lines: split it, one idea per cell.",
            "Cell wide defines 9 variables: split it, one idea per cell.",
            "Cell both reads data and draws a chart: give each a cell of its own.",
            "Cell both: the chart needs an x label and a y label, with units.",
            f"Cell {document.cells[0].id} shows a result, and no markdown before it says what it is about.",
        )
    )


def test_many_results_without_a_word_between_them_are_said() -> None:
    (line,) = is_readable(notebook(*TOLD, *(f"a{number}" for number in range(6))))
    assert line.startswith("4 results up to Cell")


@pytest.mark.parametrize(
    ("code", "lacks"),
    [
        ("plt.plot(x)", ["the chart needs a title and an x label and a y label, with units."]),
        ("plt.plot(x)\nplt.title('T')\nplt.xlabel('a')\nplt.ylabel('b')", []),
        ("fig, ax = plt.subplots()\nax.plot(x)\nax.set(title='T', xlabel='a', ylabel='b')", []),
        ("fig, axes = plt.subplots(2)\naxes[0].hist(x)\nfig.suptitle('T')", [
            "the chart needs an x label and a y label, with units."]),
        ("ax.pie(x)\nax.set_title('T')", []),
        ("df.plot(kind='bar', title='T', xlabel='a', ylabel='b')", []),
        ("df.plot.bar()", ["the chart needs a title and an x label and a y label, with units."]),
        ("df.plot.pie(title='T')", []),
        ("sns.lineplot(df, x='month', y='revenue')", ["the chart needs a title, with units."]),
        ("sns.lineplot(df, x='month', y='net_revenue').set(title='T', ylabel='Net revenue (EUR)')", []),
        ("alt.Chart(df).mark_bar().encode(x='month', y='revenue')", ["the chart needs a title, with units."]),
        ("alt.Chart(df).mark_bar().encode(alt.X('a_b', title='A'), alt.Y('b_c').title('B')).properties(title='T')", []),
        ("px.line(df, x='month', y='net_revenue', title='T', labels={})", []),
        ("px.line(df, x='month', y='net_revenue')", ["the chart needs a title, with units."]),
        ("go.Figure().update_layout(title='T')", []),
        ("game.plot(story)", []),
        ("this is broken(", []),
    ],
)  # fmt: skip
def test_a_chart_without_words_is_found_by_reading_it(code: str, lacks: list[str]) -> None:
    assert missed(code) == lacks


def test_two_charts_in_one_cell_are_two_ideas() -> None:
    code = "a = px.line(d, x='m', y='r', title='A')\nb = px.bar(d, x='m', y='r', title='B')"
    assert is_readable(notebook(*TOLD, ("charts", code))) == (
        "Cell charts draws 2 charts: give each a cell of its own.",
    )


def test_a_notebook_that_needs_cellwright_is_said_to_need_it() -> None:
    assert is_readable(notebook(*TOLD, ("own", "import cellwright"))) == (
        "Cell own imports cellwright, which is not everywhere: write `import cellwright_cells as cellwright`, a small "
        "package with all that a notebook uses of it.",
    )
    assert is_readable(notebook(*TOLD, ("own", "import cellwright_cells as cellwright"))) == ()


def test_how_the_goal_was_read_stands_at_the_end_once_and_as_words_only() -> None:
    document = notebook("import marimo as mo", "total = 6\ntotal")
    said = ("8 (net {of}\n returns). Read otherwise: gross: 9.",)
    once = apply_edits(document, tidy(document, title="Sums", readings=said))
    assert isinstance(once, Document)
    [cell] = [cell for cell in once.cells if cell.name == "readings"]
    assert once.cells[-1] is cell
    assert ast.literal_eval(cell.code.removeprefix("mo.md(").removesuffix(")")) == (
        "**How the question was read**\n\n- 8 (net {of} returns). Read otherwise: gross: 9."
    )
    assert tidy(once, title="Sums", readings=said) == []
