"""`graph-walks`: the same walks over the graph, with the same answers, in fewer steps.

`transitive_closure` without a call per cell, `get_path` without copying the path at every step,
`is_any_ancestor_stale` that stops at the first, `topological_sort` that does not number a thousand cells to sort one,
and `get_multiply_defined` that sorts the conflicts instead of all definitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from marimo._runtime import dataflow
from marimo._runtime.dataflow.definitions import DefinitionRegistry
from marimo._runtime.dataflow.graph import DirectedGraph
from marimo._runtime.dataflow.topology import MutableGraphTopology

from cellwright_guest.patches.swap import Swap

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from marimo._ast.cell import CellImpl
    from marimo._runtime.dataflow.topology import GraphTopology
    from marimo._runtime.dataflow.types import Edge
    from marimo._types.ids import CellId_t

_stock_topological_sort = dataflow.topological_sort


def _transitive_closure(
    graph: GraphTopology,
    cell_ids: set[CellId_t],
    *,
    children: bool = True,
    inclusive: bool = True,
    relatives: Callable[[CellId_t, bool], set[CellId_t]] | None = None,
    predicate: Callable[[CellImpl], bool] | None = None,
) -> set[CellId_t]:
    seen = cell_ids.copy()
    queue = list(cell_ids)
    if relatives is None:
        neighbours = graph.children if children else graph.parents
        for cell_id in queue:
            fresh = neighbours[cell_id] - seen
            seen |= fresh
            queue += fresh
    else:
        for cell_id in queue:
            fresh = relatives(cell_id, children) - seen
            seen |= fresh
            queue += fresh
    found = seen - cell_ids
    if predicate is not None:
        cells = graph.cells
        found = {cell_id for cell_id in found if predicate(cells[cell_id])}
    return cell_ids | found if inclusive else found


def _get_path(self: MutableGraphTopology, source: CellId_t, dst: CellId_t) -> list[Edge]:
    if source == dst:
        return []
    came_from = {source: source}
    queue = [source]
    for cell_id in queue:
        for child in self._children[cell_id]:
            if child in came_from:
                continue
            came_from[child] = cell_id
            if child == dst:
                return _steps(came_from, source, dst)
            queue.append(child)
    return []


def _steps(came_from: dict[CellId_t, CellId_t], source: CellId_t, dst: CellId_t) -> list[Edge]:
    steps: list[Edge] = []
    while dst != source:
        steps.append((came_from[dst], dst))
        dst = came_from[dst]
    return steps[::-1]


def _is_any_ancestor_stale(self: DirectedGraph, cell_id: CellId_t) -> bool:
    cells, parents = self.topology._cells, self.topology._parents
    if not parents[cell_id] or not any(cell._stale.state for cell in cells.values()):
        return False
    seen = {cell_id}
    queue = [cell_id]
    for current in queue:
        fresh = parents[current] - seen
        if any(cells[parent]._stale.state for parent in fresh):
            return True
        seen |= fresh
        queue += fresh
    return False


def _topological_sort(graph: GraphTopology, cell_ids: Collection[CellId_t]) -> list[CellId_t]:
    if len(cell_ids) == 1:
        (only,) = cell_ids
        if only not in graph.parents[only]:
            return [only]
    return _stock_topological_sort(graph, cell_ids)


def _get_multiply_defined(self: DefinitionRegistry) -> list[tuple[str, set[CellId_t]]]:
    conflicts = [
        (self.conflict_names[key], key, definers)
        for key, definers in self.definition_conflicts.items()
        if len(definers) > 1
    ]
    conflicts.sort(key=lambda conflict: conflict[:2])
    return [(name, definers) for name, _, definers in conflicts]


SWAPS = (
    Swap(owner=dataflow, name="transitive_closure", fingerprint="770885f8adc8", ours=_transitive_closure),
    Swap(owner=dataflow, name="topological_sort", fingerprint="4d3f91a8bcb6", ours=_topological_sort),
    Swap(owner=MutableGraphTopology, name="get_path", fingerprint="66e0660068bb", ours=_get_path),
    Swap(owner=DirectedGraph, name="is_any_ancestor_stale", fingerprint="b89adca1f5c1", ours=_is_any_ancestor_stale),
    Swap(owner=DefinitionRegistry, name="get_multiply_defined", fingerprint="14e6af74019f", ours=_get_multiply_defined),
)
