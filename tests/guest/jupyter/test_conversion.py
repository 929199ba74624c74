"""Cells of Jupyter as cells of marimo: names, magics, what is shown. Nothing runs."""

from __future__ import annotations

import json

import pytest

from cellwright_guest.jupyter.convert_main import convert
from cellwright_guest.jupyter.records import NotebookConversion


def converted(*sources: str) -> NotebookConversion:
    cells = [{"cell_type": "code", "source": source, "outputs": []} for source in sources]
    return convert(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))


def codes(*sources: str) -> list[str]:
    return [cell.code for cell in converted(*sources).cells if cell.sources]


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (("x = 1", "x = x + 1", "x"), ["x = 1", "x_2 = x\nx_2 = x_2 + 1", "x_2"]),
        (("x = 1", "x = 2", "x"), ["x = 1", "x_2 = 2", "x_2"]),
        (("d = {}", "d['a'] = 1", "d"), ["d = {}", "d_2 = d\nd_2['a'] = 1", "d_2"]),
        (("x = 1", "if y:\n    x = 2", "x"), ["x = 1", "x_2 = x\nif y:\n    x_2 = 2", "x_2"]),
        (("import os", "import os\nos.getcwd()"), ["import os", "pass  # imported above\nos.getcwd()"]),
        (("for i in a: print(i)", "for i in b: print(i)"), ["for _i in a: print(_i)", "for _i in b: print(_i)"]),
        (("_a = 1", "_a"), ["a = 1", "a"]),
        (("x = 1", "x = 2\nf = [x for x in y]", "x"), ["x = 1", "x_2 = 2\nf = [x for x in y]", "x_2"]),
        (("é = 1; x = 'é'", "x = f'{x} é'", "x"), ["é = 1; x = 'é'", "x_2 = x\nx_2 = f'{x_2} é'", "x_2"]),
        (("x = 1", "def f(x):\n    return x", "x = 2", "f(x)"),
         ["x = 1", "def f(x):\n    return x", "x_2 = 2", "f(x_2)"]),
    ],
)  # fmt: skip
def test_each_name_is_bound_by_one_cell_and_means_what_it_meant(sources: tuple[str, ...], expected: list[str]) -> None:
    assert codes(*sources) == expected


def test_cells_are_joined_where_a_function_reads_what_is_bound_again() -> None:
    cells = [cell for cell in converted("x = 1", "def f(): return x", "x = 2", "f()").cells if cell.sources]
    assert [cell.sources for cell in cells] == [(1, 2, 3), (4,)]


def test_one_bare_magic_spoils_no_other_cell() -> None:
    cells = converted("%nonsense here", "x = 1", "%%unknown\nanything ( at all", "x").cells
    assert [(cell.code, bool(cell.refused)) for cell in cells] == [
        ("# %nonsense here", True), ("x = 1", False), ("# %%unknown\n# anything ( at all", True), ("x", False),
    ]  # fmt: skip


def test_a_percent_sign_in_pythons_own_lines_is_no_magic() -> None:
    source = 'text = """\n%d and !x\n"""\nvalue = (7\n% 4)\nx != 3'
    assert codes(source) == [source]


def test_pip_cells_become_requirements_and_a_foreign_source_is_named() -> None:
    found = converted("!pip install -q 'rich>=13' git+https://example.org/x.git\n%pip install numpy==2.0")
    assert found.requirements == ("rich>=13", "numpy==2.0")
    assert found.cells[0].refused == ("`git+https://example.org/x.git` is not a package of an index",)


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"cells": [1]}', '{"cells": "x"}', "[" * 100_000, '{"cells": [{"source": 3}]}']
)
def test_what_is_no_notebook_is_a_value(text: str) -> None:
    assert convert(text).problem
