"""What edits would do, told before a kernel sees them. Pure: compiles code, runs none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cellwright.ids import CellId
from cellwright.notebook.dataflow import CodeProblem, Cycle, Graph
from cellwright.notebook.document import SETUP_ID, Document
from cellwright.notebook.edits import Edit, EditRefused, apply_edits
from cellwright.notebook.marimo_graph import graph


@dataclass(frozen=True, slots=True, kw_only=True)
class Consequences:
    """What a list of edits leads to. Problems are those of the whole notebook afterwards."""

    document: Document
    """The notebook with the edits made."""
    changed: tuple[CellId, ...] = ()
    """Cells that are new or have other code, in notebook order."""
    deleted: tuple[CellId, ...] = ()
    problems: Mapping[CellId, CodeProblem]
    """Cells whose code marimo refuses: syntax errors, `import *`."""
    cycles: tuple[Cycle, ...] = ()
    defined_twice: Mapping[str, tuple[CellId, ...]]
    """Names more than one cell defines: marimo runs none of those cells."""
    setup_needs: tuple[str, ...] = ()
    """Names of other cells the setup cell uses, though it runs before all of them."""
    lost_names: Mapping[str, tuple[CellId, ...]]
    """Names these edits took away, with the cells that use them."""
    stale: tuple[CellId, ...] = ()
    """Cells whose last result no longer holds: the changed ones and all that depend on them, in running order."""
    would_run: tuple[CellId, ...] = ()
    """The stale cells a reactive run would run: without the disabled, the broken, and whatever needs them."""

    @property
    def is_sound(self) -> bool:
        """True when marimo would refuse no cell."""
        return not (self.problems or self.cycles or self.defined_twice or self.setup_needs)


def foresee(document: Document, edits: Sequence[Edit]) -> Consequences | EditRefused:
    """What would happen if these edits were made and run reactively, or why they cannot be made."""
    after = apply_edits(document, edits)
    if isinstance(after, EditRefused):
        return after
    before_graph, after_graph = graph(document), graph(after)
    codes = {cell.id: cell.code for cell in document.cells}
    changed = tuple(cell.id for cell in after.cells if codes.get(cell.id) != cell.code)
    deleted = tuple(cell.id for cell in document.cells if after.find(cell.id) is None)
    bereft = {child for cell in deleted for child in before_graph.nodes[cell].children}
    disabled = {cell.id for cell in document.cells if cell.config.disabled}
    enabled = {cell.id for cell in after.cells if cell.id in disabled and not cell.config.disabled}
    stale = after_graph.descendants({*changed, *bereft, *_rewired(before_graph, after_graph), *enabled})
    return Consequences(
        document=after,
        changed=changed,
        deleted=deleted,
        problems={cell: node.problem for cell, node in after_graph.nodes.items() if node.problem},
        cycles=after_graph.cycles,
        defined_twice=after_graph.defined_twice,
        setup_needs=_needs_of_setup(after_graph),
        lost_names=_lost_names(before_graph, after_graph),
        stale=after_graph.in_order(stale),
        would_run=after_graph.in_order(stale - _blocked(after, after_graph)),
    )


def _rewired(before: Graph, after: Graph) -> set[CellId]:
    """Cells that lost or gained a parent because another cell now defines other names."""
    return {
        cell
        for cell, node in after.nodes.items()
        if (old := before.nodes.get(cell)) is not None and old.parents != node.parents
    }


def _needs_of_setup(graph: Graph) -> tuple[str, ...]:
    setup = graph.nodes.get(SETUP_ID)
    if setup is None:
        return ()
    return tuple(sorted({name for parent in setup.parents for name in graph.nodes[parent].defs & setup.refs}))


def _lost_names(before: Graph, after: Graph) -> dict[str, tuple[CellId, ...]]:
    still_defined = {name for node in after.nodes.values() for name in node.defs}
    lost = {name for node in before.nodes.values() for name in node.defs} - still_defined
    users = {name: tuple(cell for cell, node in after.nodes.items() if name in node.refs) for name in sorted(lost)}
    return {name: used_by for name, used_by in users.items() if used_by}


def _blocked(document: Document, graph: Graph) -> frozenset[CellId]:
    """Cells that cannot run now, and everything below them."""
    blocked = {cell.id for cell in document.cells if cell.config.disabled}
    blocked |= {cell for cell, node in graph.nodes.items() if node.problem}
    blocked |= {cell for cycle in graph.cycles for cell in cycle.cells}
    blocked |= {cell for cells in graph.defined_twice.values() for cell in cells}
    if _needs_of_setup(graph):
        blocked.add(SETUP_ID)
    return graph.descendants(blocked)
