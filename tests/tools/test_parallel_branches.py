"""Parts of a notebook that were built side by side become one: who defines a name first keeps it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cellwright.ids import CellId
from cellwright.notebook.document import Cell, Document
from cellwright.notebook.edits import EditRefused, apply_edits
from cellwright.notebook.syntax_trees import with_names
from cellwright.tools.notebook.parallel_branches import JoinConflict, JoinPlan, join


def document(*cells: tuple[str, str] | tuple[str, str, str], header: str = "") -> Document:
    made = [Cell(id=CellId(cell[0]), code=cell[1], name=cell[2] if len(cell) > 2 else "_") for cell in cells]
    return Document(cells=tuple(made), header=header)


BASE = document(("Hbol", "values = [1, 2]"))


def joined(part: Document, whole: Document, base: Document = BASE) -> list[str]:
    joint = join(base, part, whole, "second")
    assert isinstance(joint, JoinPlan), joint
    after = apply_edits(whole, joint.edits)
    assert not isinstance(after, EditRefused)
    return [cell.code for cell in after.cells]


def clash(part: Document, whole: Document, base: Document = BASE) -> str:
    found = join(base, part, whole, "second")
    assert isinstance(found, JoinConflict), found
    return found.why


def more(*cells: tuple[str, str] | tuple[str, str, str]) -> Document:
    return replace(BASE, cells=(*BASE.cells, *document(*cells).cells))


def test_parts_that_have_nothing_in_common_stand_one_behind_the_other_in_the_order_of_the_plan() -> None:
    first = more(("aaaa", "total = sum(values)"), ("bbbb", "total + 1"))
    second = more(("cccc", "largest = max(values)"), ("dddd", "largest"))
    assert joined(second, first) == [
        "values = [1, 2]",
        "total = sum(values)",
        "total + 1",
        "largest = max(values)",
        "largest",
    ]


def test_a_name_that_is_taken_is_another_one_in_the_second_part_wherever_it_is_read() -> None:
    first = more(("aaaa", "total = sum(values)"))
    second = more(("cccc", "total = max(values)"), ("dddd", 'label = f"{total:,} of {len(values)}"\nlabel.total'))
    joint = join(BASE, second, first, "second")
    assert isinstance(joint, JoinPlan)
    assert joint.renamed == {"total": "total_second"}
    assert joined(second, first)[2:] == [
        "total_second = max(values)",
        'label = f"{total_second:,} of {len(values)}"\nlabel.total',
    ]


def test_what_both_made_word_for_word_and_what_both_import_is_there_once() -> None:
    first = more(("aaaa", "import math\nimport json"), ("bbbb", "def root(x):\n    return math.sqrt(x)"))
    second = more(
        ("cccc", "import math"),
        ("dddd", "def root(x):\n    return math.sqrt(x)"),
        ("eeee", "import json, csv\nfrom math import floor\nleast = floor(root(min(values)))"),
    )
    assert joined(second, first)[3:] == ["import csv\nfrom math import floor\nleast = floor(root(min(values)))"]


def test_the_same_words_over_values_of_its_own_are_no_double() -> None:
    first = more(("aaaa", "picked = values[:1]"), ("bbbb", "size = len(picked)"))
    second = more(("cccc", "picked = values[1:]"), ("dddd", "size = len(picked)"))
    assert joined(second, first)[3:] == ["picked_second = values[1:]", "size_second = len(picked_second)"]


def test_an_import_of_another_thing_under_the_same_name_is_renamed() -> None:
    first = more(("aaaa", "import json as codec"))
    second = more(("cccc", "import pickle as codec"), ("dddd", "codec.dumps(values)"))
    assert joined(second, first)[2:] == ["import pickle as codec_second", "codec_second.dumps(values)"]


def test_new_cells_of_the_same_id_or_name_are_two_cells() -> None:
    first = more(("aaaa", "total = sum(values)", "result"))
    second = more(("aaaa", "largest = max(values)", "result"))
    joint = join(BASE, second, first, "second")
    assert isinstance(joint, JoinPlan)
    after = apply_edits(first, joint.edits)
    assert not isinstance(after, EditRefused)
    assert [(cell.code, cell.name) for cell in after.cells[1:]] == [
        ("total = sum(values)", "result"),
        ("largest = max(values)", "result_second"),
    ]
    assert len({cell.id for cell in after.cells}) == 3


def test_a_cell_that_only_one_part_changed_or_deleted_is_so() -> None:
    base = document(("Hbol", "values = [1, 2]"), ("gone", "old = 1"))
    first = document(("Hbol", "values = [1, 2]"), ("gone", "old = 1"), ("aaaa", "total = sum(values)"))
    second = replace(base, cells=(replace(base.cells[0], code="values = [1, 2, 3]", version=2),))
    assert joined(second, first, base) == ["values = [1, 2, 3]", "total = sum(values)"]


def test_a_cell_that_both_changed_is_a_clash() -> None:
    first = replace(BASE, cells=(replace(BASE.cells[0], code="values = [1]", version=2),))
    second = replace(BASE, cells=(replace(BASE.cells[0], code="values = [2]", version=2),))
    assert "changed the same cells: Hbol" in clash(second, first)


@pytest.mark.parametrize(
    "code",
    [
        "total = 1\nrows = mo.sql('SELECT * FROM total')",
        "total = 1\nprint(eval('total'))",
        "total = 1\ndef test_total(total):\n    assert total",
        "total = [total for total in values]",
        "try:\n    total = 1\nexcept ValueError as total:\n    pass",
    ],
)
def test_what_cannot_be_renamed_for_certain_is_a_clash(code: str) -> None:
    first = more(("aaaa", "total = sum(values)"))
    assert "total" in clash(more(("cccc", code)), first)


def test_packages_of_its_own_are_a_clash() -> None:
    assert "packages" in clash(replace(more(("cccc", "x = 1")), header="# /// script\n# ///"), BASE)


def test_parts_that_would_need_each_other_are_a_clash() -> None:
    first = more(("aaaa", "left = right + 1"))
    assert "need each other" in clash(more(("cccc", "right = left + 1")), first)


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("x = 1; y = x", "new = 1; y = x".replace("= x", "= new")),
        ("def f(a):\n    return x + a", "def f(a):\n    return new + a"),
        ("mo.md(f'''\n# é {x!r:>{x}} {{x}} {o.x}\n''')", "mo.md(f'''\n# é {new!r:>{new}} {{x}} {o.x}\n''')"),
        ("'é'; g(x=x, y='x')", "'é'; g(x=new, y='x')"),
        ("from a import x", "from a import x as new"),
        ("@x\nclass x:\n    pass", "@new\nclass new:\n    pass"),
        ("def g():\n    global x\n    x = 2", "def g():\n    global new\n    new = 2"),
        ("await x", "await new"),
        ("import x.y", None),
        ("def f(x):\n    return x", None),
        ("match y:\n    case [*x]:\n        pass", None),
        ("x = (", None),
        ("globals()['x']", None),
    ],
)
def test_a_name_is_replaced_where_it_means_the_notebooks_own_and_nowhere_else(code: str, wanted: str | None) -> None:
    assert with_names(code, {"x": "new"}) == wanted
