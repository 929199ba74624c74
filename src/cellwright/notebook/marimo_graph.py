"""The reactive graph, by marimo's own compiler and marimo's own rules for edges. Compiles code, never runs it.

Compiled cells are cached by their code and names are looked up in indexes, so looking at one edit among a
thousand cells costs one compilation; marimo's `DirectedGraph` scans every cell for every name.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from marimo._ast import compiler
from marimo._ast.cell import CellImpl
from marimo._ast.errors import ImportStarError
from marimo._ast.variables import is_local
from marimo._runtime.dataflow import topological_sort
from marimo._runtime.dataflow.definitions import DefinitionRegistry
from marimo._runtime.dataflow.edges import get_referring_cells, resolve_cell_references
from marimo._runtime.dataflow.topology import MutableGraphTopology
from marimo._types.ids import CellId_t

from cellwright.ids import CellId
from cellwright.notebook.dataflow import CodeProblem, Graph, Node, find_cycles
from cellwright.notebook.document import Document
from cellwright.notebook.syntax_trees import PARSE_LOCK, without_warnings

_ANY_CELL: Final = CellId_t("cell")
_STAR_IMPORT: Final = re.compile(r"^line (?P<line>\d+|\.\.\.) SyntaxError: ")
_compile: Final[Any] = compiler.ast_compile


def compile_locked(*arguments: Any, **more: Any) -> Any:
    """Marimo's `compile`, when no other thread makes a syntax tree."""
    with PARSE_LOCK:
        return _compile(*arguments, **more)


# It goes past `ast.parse`, and its checks and its generated code come here in whichever thread they are wanted.
compiler.ast_compile = compile_locked


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What marimo makes of a piece of code, whichever cell holds it."""

    impl: CellImpl | None
    problem: CodeProblem | None = None
    has_statements: bool = False
    is_coroutine: bool = False


@lru_cache(maxsize=8192)
def compiled(code: str) -> Compiled:
    """Marimo's reading of this code, or why there is none."""
    try:
        with without_warnings():
            impl = compiler.compile_cell(code, cell_id=_ANY_CELL)
    except ImportStarError as error:
        return Compiled(impl=None, problem=_star_import(str(error)))
    except SyntaxError as error:
        problem = CodeProblem(kind="syntax", message=error.msg, line=error.lineno, column=error.offset)
        return Compiled(impl=None, problem=problem)
    except (ValueError, RecursionError, MemoryError) as error:
        problem = CodeProblem(kind="too-complex", message=f"Python cannot compile this: {error or 'out of memory'}.")
        return Compiled(impl=None, problem=problem)
    # The tree and the code objects are most of the memory and nobody needs them again.
    slim = replace(impl, mod=ast.Module(body=[], type_ignores=[]), body=None, last_expr=None)
    return Compiled(impl=slim, has_statements=bool(impl.mod.body), is_coroutine=impl.is_coroutine())


def _star_import(message: str) -> CodeProblem:
    match = _STAR_IMPORT.match(message)
    line = match["line"] if match else ""
    return CodeProblem(
        kind="star-import", message=_STAR_IMPORT.sub("", message), line=int(line) if line.isdigit() else None
    )


def graph(document: Document) -> Graph:
    """The reactive graph of a document: what marimo would build, without a kernel."""
    return _graph(tuple((cell.id, cell.code) for cell in document.cells))


@lru_cache(maxsize=16)
def _graph(cells: tuple[tuple[CellId, str], ...]) -> Graph:
    found = {cell: compiled(code) for cell, code in cells}
    topology, definitions = _register(found)
    _connect(topology, definitions)
    nodes = {cell: _to_node(cell, result, topology) for cell, result in found.items()}
    place = {cell: index for index, cell in enumerate(nodes)}
    twice = {
        str(name): tuple(sorted((CellId(cell) for cell in cells), key=place.__getitem__))
        for name, cells in definitions.get_multiply_defined()
    }
    order = tuple(CellId(cell) for cell in topological_sort(topology, list(topology.cells)))
    return Graph(nodes=nodes, order=order, cycles=find_cycles(nodes, order), defined_twice=dict(sorted(twice.items())))


def _register(found: Mapping[CellId, Compiled]) -> tuple[MutableGraphTopology, DefinitionRegistry]:
    topology, definitions = MutableGraphTopology(), DefinitionRegistry()
    for cell, result in found.items():
        if result.impl is not None:
            topology.add_node(CellId_t(cell), result.impl)
            for name, variables in result.impl.variable_data.items():
                definitions.register_definition(CellId_t(cell), name, variables)
    return topology, definitions


def _connect(topology: MutableGraphTopology, definitions: DefinitionRegistry) -> None:
    """Add the edges marimo adds when it registers cells from top to bottom."""
    readers: dict[str, set[CellId_t]] = defaultdict(set)
    deleters: dict[str, set[CellId_t]] = defaultdict(set)
    for cell, impl in topology.cells.items():
        for name in impl.refs:
            readers[name].add(cell)
        for name in impl.deleted_refs:
            deleters[name].add(cell)
    place = {cell: index for index, cell in enumerate(topology.cells)}
    for cell, impl in topology.cells.items():
        # marimo resolves a pair when its second cell arrives: by the reader's rules if that is the reader.
        for parents in resolve_cell_references(cell, impl, topology, definitions).values():
            for parent in parents:
                if place[parent] < place[cell]:
                    topology.add_edge(parent, cell)
        for name, variables in impl.variable_data.items():
            children = get_referring_cells(name, "sql", topology) if variables[-1].language == "sql" else readers[name]
            for child in children:
                if place[child] < place[cell]:
                    topology.add_edge(cell, child)
        for name in impl.refs:
            for deleter in deleters[name] - {cell}:
                topology.add_edge(cell, deleter)


def _to_node(cell: CellId, result: Compiled, topology: MutableGraphTopology) -> Node:
    impl = result.impl
    if impl is None:
        return Node(cell=cell, problem=result.problem)
    return Node(
        cell=cell,
        defs=frozenset(impl.defs),
        refs=frozenset(name for name in impl.refs if not is_local(name)),
        deletes=frozenset(impl.deleted_refs),
        parents=frozenset(CellId(parent) for parent in topology.parents[CellId_t(cell)]),
        children=frozenset(CellId(child) for child in topology.children[CellId_t(cell)]),
        language="sql" if impl.language == "sql" else "python",
    )
