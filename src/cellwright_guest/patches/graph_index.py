"""`graph-index`: who refers to a name, who deletes it and who is disabled is looked up, not searched for.

Stock marimo scans every cell for each of these questions, so a notebook of N cells pays N² to be registered and
N·depth to be run. The index hangs on the topology it describes, and follows it through the four methods that change
a topology. It is rebuilt when the cells were replaced wholesale (`reorder_nodes`) or the patches were re-applied.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from marimo._ast.cell import CellConfig
from marimo._runtime.dataflow import edges  # pyrefly: ignore[implicit-reexport]  # a module of it
from marimo._runtime.dataflow.graph import DirectedGraph
from marimo._runtime.dataflow.topology import MutableGraphTopology

from cellwright_guest.patches.swap import Swap

if TYPE_CHECKING:
    from marimo._ast.cell import CellImpl
    from marimo._runtime.dataflow.definitions import DefinitionRegistry
    from marimo._runtime.dataflow.topology import GraphTopology
    from marimo._types.ids import CellId_t

_ATTRIBUTE = "_cellwright_index"

_stock_add_node = MutableGraphTopology.add_node
_stock_remove_node = MutableGraphTopology.remove_node
_stock_add_edge = MutableGraphTopology.add_edge
_stock_remove_edge = MutableGraphTopology.remove_edge
_stock_get_referring_cells = edges.get_referring_cells
_stock_configure = CellConfig.configure
_stock_is_any_ancestor_disabled = DirectedGraph.is_any_ancestor_disabled


@dataclass(slots=True)
class _Epoch:
    """What outdates every index at once: patches taken out and put in, a cell switched off or on."""

    installation: int = 0
    disabling: int = 0


_epoch = _Epoch()


@dataclass(slots=True)
class _Index:
    cells: dict[CellId_t, CellImpl]
    installation: int
    referring: dict[str, dict[CellId_t, None]] = field(default_factory=dict[str, "dict[CellId_t, None]"])
    """In the order of registration, so that the sets made from it are laid out, and walked, as marimo's are."""
    deleting: dict[str, set[CellId_t]] = field(default_factory=dict[str, "set[CellId_t]"])
    sql: set[CellId_t] = field(default_factory=set["CellId_t"])
    below_disabled: set[CellId_t] | None = None
    """Cells with a disabled ancestor; None when it has to be worked out again."""
    disabling: int = -1

    def add(self, cell_id: CellId_t, cell: CellImpl) -> None:
        for name in cell.refs:
            self.referring.setdefault(name, {})[cell_id] = None
        for name in cell.deleted_refs & cell.refs:
            self.deleting.setdefault(name, set()).add(cell_id)
        if cell.language == "sql":
            self.sql.add(cell_id)

    def discard(self, cell_id: CellId_t, cell: CellImpl) -> None:
        for name in cell.refs:
            self.referring[name].pop(cell_id)
            if not self.referring[name]:
                del self.referring[name]
        for name in cell.deleted_refs & cell.refs:
            self.deleting[name].discard(cell_id)
        self.sql.discard(cell_id)
        self.below_disabled = None


def before_put_in() -> None:
    """Every index made before is void: the topologies may have changed unseen."""
    _epoch.installation += 1


def _index_of(topology: MutableGraphTopology) -> _Index:
    index: _Index | None = vars(topology).get(_ATTRIBUTE)
    if index is None or index.cells is not topology._cells or index.installation != _epoch.installation:
        index = _Index(topology._cells, _epoch.installation)
        for cell_id, cell in topology._cells.items():
            index.add(cell_id, cell)
        vars(topology)[_ATTRIBUTE] = index
    return index


def _add_node(self: MutableGraphTopology, cell_id: CellId_t, cell: CellImpl) -> None:
    index = _index_of(self)
    _stock_add_node(self, cell_id, cell)
    index.add(cell_id, cell)


def _remove_node(self: MutableGraphTopology, cell_id: CellId_t) -> None:
    index = _index_of(self)
    cell = self._cells.get(cell_id)
    _stock_remove_node(self, cell_id)
    assert cell is not None
    index.discard(cell_id, cell)


def _add_edge(self: MutableGraphTopology, parent: CellId_t, child: CellId_t) -> None:
    _stock_add_edge(self, parent, child)
    _index_of(self).below_disabled = None


def _remove_edge(self: MutableGraphTopology, parent: CellId_t, child: CellId_t) -> None:
    _stock_remove_edge(self, parent, child)
    _index_of(self).below_disabled = None


def _configure(self: CellConfig, update: dict[str, Any] | CellConfig) -> None:
    before = self.disabled
    _stock_configure(self, update)
    if self.disabled != before:
        _epoch.disabling += 1


def _below_disabled(topology: MutableGraphTopology) -> set[CellId_t]:
    index = _index_of(topology)
    below = index.below_disabled
    if below is None or index.disabling != _epoch.disabling:
        below = set["CellId_t"]()
        queue = [cell_id for cell_id, cell in topology._cells.items() if cell.config.disabled]
        for cell_id in queue:
            fresh = topology._children[cell_id] - below
            below |= fresh
            queue += fresh
        index.below_disabled, index.disabling = below, _epoch.disabling
    return below


def _is_disabled(self: DirectedGraph, cell_id: CellId_t) -> bool:
    cell = self.topology._cells.get(cell_id)
    if cell is None:
        raise ValueError(f"Cell {cell_id} not in graph.")
    return cell.config.disabled or cell_id in _below_disabled(self.topology)


def _has_disabled_ancestor(self: DirectedGraph, cell_id: CellId_t) -> bool:
    if cell_id not in _below_disabled(self.topology):
        return False
    # A disabled cell inside a cycle is below itself, but is not its own ancestor.
    return not self.topology._cells[cell_id].config.disabled or _stock_is_any_ancestor_disabled(self, cell_id)


def _get_referring_cells(name: str, language: Literal["python", "sql"], topology: GraphTopology) -> set[CellId_t]:
    if type(topology) is not MutableGraphTopology:
        return _stock_get_referring_cells(name, language, topology)
    index = _index_of(topology)
    if language == "sql":
        return _stock_get_referring_cells(name, language, topology) if index.sql else set()
    # A comprehension grows as marimo's does: the same order of iteration, so the same cycle is found first.
    return {cell_id for cell_id in index.referring.get(name, ())}  # noqa: C416


def _compute_edges_for_cell(
    cell_id: CellId_t, cell: CellImpl, topology: GraphTopology, definitions: DefinitionRegistry
) -> tuple[set[CellId_t], set[CellId_t]]:
    parents: set[CellId_t] = set()
    children: set[CellId_t] = set()
    for name, variable_data in cell.variable_data.items():
        children.update(_get_referring_cells(name, variable_data[-1].language, topology) - {cell_id})
    for defining_cells in edges.resolve_cell_references(cell_id, cell, topology, definitions).values():
        parents.update(defining_cells)
    for name in cell.refs:
        children.update(_cells_deleting(name, topology) - {cell_id})
    for name in cell.deleted_refs:
        parents.update(_get_referring_cells(name, "python", topology) - {cell_id})
    return parents, children


def _cells_deleting(name: str, topology: GraphTopology) -> set[CellId_t]:
    if type(topology) is MutableGraphTopology and not _index_of(topology).deleting.get(name):
        return set()
    referring = _get_referring_cells(name, "python", topology)
    return {cell_id for cell_id in referring if name in topology.cells[cell_id].deleted_refs}


SWAPS = (
    Swap(owner=MutableGraphTopology, name="add_node", fingerprint="f2a2ff9c54d8", ours=_add_node),
    Swap(owner=MutableGraphTopology, name="remove_node", fingerprint="5ceb45ecc93c", ours=_remove_node),
    Swap(owner=MutableGraphTopology, name="add_edge", fingerprint="be6338466230", ours=_add_edge),
    Swap(owner=MutableGraphTopology, name="remove_edge", fingerprint="df8a76a63788", ours=_remove_edge),
    Swap(owner=CellConfig, name="configure", fingerprint="f2c42300791b", ours=_configure),
    Swap(owner=DirectedGraph, name="is_disabled", fingerprint="dbfc87073291", ours=_is_disabled),
    Swap(owner=DirectedGraph, name="is_any_ancestor_disabled", fingerprint="5f6da284cc03", ours=_has_disabled_ancestor),
    Swap(owner=edges, name="get_referring_cells", fingerprint="fd819cdfd084", ours=_get_referring_cells),
    Swap(owner=edges, name="compute_edges_for_cell", fingerprint="5788e53bd362", ours=_compute_edges_for_cell),
)
