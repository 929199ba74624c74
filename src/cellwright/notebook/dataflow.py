"""The reactive graph as plain values: which cell defines what, and who depends on whom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
        return self._reach(cells, lambda node: node.children)

    def ancestors(self, cells: Iterable[CellId]) -> frozenset[CellId]:
        """These cells and everything they depend on; unknown ids are ignored."""
        return self._reach(cells, lambda node: node.parents)

    def in_order(self, cells: Iterable[CellId]) -> tuple[CellId, ...]:
        """The given cells, parents first; those in a cycle come last, as in the notebook."""
        wanted = set(cells)
        sorted_cells = [cell for cell in self.order if cell in wanted]
        return (*sorted_cells, *(cell for cell in self.nodes if cell in wanted - set(sorted_cells)))

    def _reach(self, cells: Iterable[CellId], step: _Step) -> frozenset[CellId]:
        found: set[CellId] = set()
        waiting = [cell for cell in cells if cell in self.nodes]
        while waiting:
            cell = waiting.pop()
            if cell not in found:
                found.add(cell)
                waiting.extend(step(self.nodes[cell]))
        return frozenset(found)


def find_cycles(nodes: Mapping[CellId, Node]) -> tuple[Cycle, ...]:
    """Every knot of cells that reach each other (Tarjan, without recursion)."""
    knots = [knot for knot in _strongly_connected(nodes) if len(knot) > 1]
    place = {cell: index for index, cell in enumerate(nodes)}
    cycles: list[Cycle] = []
    for knot in sorted((sorted(knot, key=place.__getitem__) for knot in knots), key=lambda knot: place[knot[0]]):
        members = set(knot)
        names = {
            name
            for cell in knot
            for child in nodes[cell].children & members
            for name in (nodes[cell].defs & nodes[child].refs) | (nodes[cell].refs & nodes[child].deletes)
        }
        cycles.append(Cycle(cells=tuple(knot), names=tuple(sorted(names))))
    return tuple(cycles)


def _strongly_connected(nodes: Mapping[CellId, Node]) -> list[list[CellId]]:
    index: dict[CellId, int] = {}
    low: dict[CellId, int] = {}
    stack: list[CellId] = []
    on_stack: set[CellId] = set()
    found: list[list[CellId]] = []
    for root in nodes:
        if root in index:
            continue
        work = [(root, iter(sorted(nodes[root].children)))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            cell, children = work[-1]
            child = next(children, None)
            if child is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[cell])
                if low[cell] == index[cell]:
                    found.append(_pop_through(stack, on_stack, cell))
            elif child not in index:
                index[child] = low[child] = len(index)
                stack.append(child)
                on_stack.add(child)
                work.append((child, iter(sorted(nodes[child].children))))
            elif child in on_stack:
                low[cell] = min(low[cell], index[child])
    return found


def _pop_through(stack: list[CellId], on_stack: set[CellId], cell: CellId) -> list[CellId]:
    at = stack.index(cell)
    component = stack[at:]
    del stack[at:]
    on_stack.difference_update(component)
    return component
