"""The reactive graph as plain values: which cell defines what, and who depends on whom."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from cellwright.ids import CellId


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeProblem:
    """Why a cell's code cannot be part of the graph."""

    kind: Literal["syntax", "star-import", "too-complex"]
    message: str
    line: int | None = None
    """1-based, inside the cell."""
    column: int | None = None
    """1-based."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One cell's place in the graph. A cell with a problem defines and needs nothing."""

    cell: CellId
    defs: frozenset[str] = frozenset()
    refs: frozenset[str] = frozenset()
    """Names it reads that it does not define; builtins included when read."""
    deletes: frozenset[str] = frozenset()
    """Names of other cells it deletes."""
    parents: frozenset[CellId] = frozenset()
    children: frozenset[CellId] = frozenset()
    language: Literal["python", "sql"] = "python"
    problem: CodeProblem | None = None


_Step = Callable[[Node], frozenset[CellId]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """Cells that need each other, and the names that tie them together."""

    cells: tuple[CellId, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """All cells of a notebook with their dependencies."""

    nodes: Mapping[CellId, Node]
    """In the order of the notebook."""
    order: tuple[CellId, ...]
    """Parents before children, else as in the notebook; cells in a cycle or below one are left out."""
    cycles: tuple[Cycle, ...]
    defined_twice: Mapping[str, tuple[CellId, ...]]
    """Names that more than one cell defines, with those cells in notebook order."""

    def descendants(self, cells: Iterable[CellId]) -> frozenset[CellId]:
        """These cells and everything that depends on them; unknown ids are ignored."""
        return reachable(self.nodes, cells, lambda node: node.children)

    def ancestors(self, cells: Iterable[CellId]) -> frozenset[CellId]:
        """These cells and everything they depend on; unknown ids are ignored."""
        return reachable(self.nodes, cells, lambda node: node.parents)

    def in_order(self, cells: Iterable[CellId]) -> tuple[CellId, ...]:
        """The given cells, parents first; those in a cycle come last, as in the notebook."""
        wanted = set(cells)
        sorted_cells = [cell for cell in self.order if cell in wanted]
        return (*sorted_cells, *(cell for cell in self.nodes if cell in wanted - set(sorted_cells)))


def reachable(nodes: Mapping[CellId, Node], cells: Iterable[CellId], step: _Step) -> frozenset[CellId]:
    """These cells and all that come after them by steps of this kind."""
    found: set[CellId] = set()
    waiting = [cell for cell in cells if cell in nodes]
    while waiting:
        cell = waiting.pop()
        if cell not in found:
            found.add(cell)
            waiting.extend(step(nodes[cell]))
    return frozenset(found)


def find_cycles(nodes: Mapping[CellId, Node], order: Collection[CellId]) -> tuple[Cycle, ...]:
    """Every knot of cells that reach each other; `order` are the cells in no cycle and below none."""
    cycles: list[Cycle] = []
    seen = set(order)
    for cell, node in nodes.items():
        if cell in seen:
            continue
        below = reachable(nodes, node.children, lambda each: each.children)
        knot = below & reachable(nodes, node.parents, lambda each: each.parents)
        seen |= knot
        if len(knot) > 1:
            names = {
                name
                for member in knot
                for child in nodes[member].children & knot
                for name in (nodes[member].defs & nodes[child].refs) | (nodes[member].refs & nodes[child].deletes)
            }
            cells = tuple(each for each in nodes if each in knot)
            cycles.append(Cycle(cells=cells, names=tuple(sorted(names))))
    return tuple(cycles)
