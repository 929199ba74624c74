"""The graph is the one marimo's own kernel would build, and looking at it is cheap."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import marimo
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marimo._ast.compiler import compile_cell
from marimo._runtime.dataflow import DirectedGraph, topological_sort
from marimo._types.ids import CellId_t

from cellwright.ids import CellId
from cellwright.notebook.dataflow import CodeProblem, Cycle
from cellwright.notebook.document import Cell, Document
from cellwright.notebook.files import read
from cellwright.notebook.marimo_graph import compiled, graph

SHIPPED: Final = sorted(
    path for path in Path(marimo.__file__).parent.rglob("*.py") if "\napp = marimo.App(" in path.read_text()
)


def notebook(*codes: str) -> Document:
    return Document(cells=tuple(Cell(id=CellId(f"c{index}"), code=code) for index, code in enumerate(codes)))


def marimo_graph(document: Document) -> DirectedGraph:
    built = DirectedGraph()
    for cell in document.cells:
        try:
            built.register_cell(CellId_t(cell.id), compile_cell(cell.code, cell_id=CellId_t(cell.id)))
        except SyntaxError:
            continue
    return built


def assert_same_as_marimo(document: Document) -> None:
    ours, theirs = graph(document), marimo_graph(document)
    for cell, impl in theirs.cells.items():
        node = ours.nodes[CellId(cell)]
        assert (node.parents, node.children) == (theirs.parents[cell], theirs.children[cell]), cell
        assert node.defs == impl.defs
    assert list(ours.order) == topological_sort(theirs, list(theirs.cells))
    assert set(ours.defined_twice) == set(theirs.get_multiply_defined())
    in_cycles = {cell for cycle in theirs.cycles for edge in cycle for cell in edge}
    tied = {cell for cycle in ours.cycles for cell in cycle.cells}
    # marimo names one way round for each edge it adds; we name every cell that leads back to itself.
    assert in_cycles <= tied
    assert tied == {cell for cell, node in ours.nodes.items() if cell in ours.ancestors(node.parents)}


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_the_graph_of_a_shipped_notebook_is_marimos(path: Path) -> None:
    assert_same_as_marimo(read(path).document)


STATEMENTS = st.sampled_from(
    [
        "a = 1", "b = a", "c = a + b", "a = c", "del a", "b = [a for a in b]", "import os", "def f():\n    return a",
        "_p = a\nb = _p", "print(c)", "from os import *", "d = (", "x = mo.sql(f'select * from tab')", "", "tab = 1",
        "y = mo.sql(f'create table tab as select 1')", "z = mo.sql(f'select * from b')", "del b", "for a in b: pass",
        "mo.sql(f'create schema sch')", "mo.sql(f'create table sch.tab (i int)')", "mo.sql(f'select * from sch.tab')",
    ]
)  # fmt: skip


@given(codes=st.lists(STATEMENTS, max_size=8))
def test_the_graph_of_any_notebook_is_marimos(codes: list[str]) -> None:
    assert_same_as_marimo(notebook(*codes))


def test_nodes_tell_what_a_cell_defines_and_needs() -> None:
    found = graph(notebook("x = 1", "y = x + len([])", "del y"))
    middle = found.nodes[CellId("c1")]
    assert (middle.defs, middle.refs) == ({"y"}, {"x", "len"})
    assert (middle.parents, middle.children) == ({"c0"}, {"c2"})
    assert found.nodes[CellId("c2")].deletes == {"y"}
    assert found.order == ("c0", "c1", "c2")
    assert found.ancestors([CellId("c2"), CellId("gone")]) == {"c0", "c1", "c2"}


def test_a_cycle_names_its_cells_and_the_names_that_tie_them() -> None:
    found = graph(notebook("a = c", "b = a", "c = b", "d = c", "p = q", "q = p"))
    assert found.cycles == (
        Cycle(cells=(CellId("c0"), CellId("c1"), CellId("c2")), names=("a", "b", "c")),
        Cycle(cells=(CellId("c4"), CellId("c5")), names=("p", "q")),
    )
    assert found.order == ()
    assert found.in_order([CellId("c3"), CellId("c0")]) == ("c0", "c3")


def test_a_name_defined_twice_names_its_cells() -> None:
    assert graph(notebook("x = 1", "y = 1", "x = 2")).defined_twice == {"x": ("c0", "c2")}


def test_problems_point_into_the_cell() -> None:
    assert compiled("x = 1\ny = = 2").problem == CodeProblem(kind="syntax", message="invalid syntax", line=2, column=5)
    assert compiled("x = 1\nfrom os import *").problem == CodeProblem(
        kind="star-import", message="Importing symbols with `import *` is not allowed in marimo.", line=2
    )
    deep = compiled("x = " + "-" * 3000 + "1").problem
    assert deep is not None
    assert deep.kind == "too-complex"


@pytest.mark.slow
def test_a_long_chain_in_any_order_needs_no_deep_recursion() -> None:
    codes = ["x0 = x1999", *(f"x{number} = x{number - 1}" for number in range(1, 2000))]
    found = graph(notebook(*reversed(codes)))
    assert len(found.cycles[0].cells) == 2000
