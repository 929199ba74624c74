"""`invalidation`: freeing a cell's state costs what the cell holds, not what the notebook holds.

Stock marimo asks twice which modules the whole notebook imports and which are missing, although nothing can change
in between, and visits every descendant although only cells with registered items have anything to dispose of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from marimo._ast.visitor import VariableData
from marimo._messaging import notification_utils
from marimo._messaging.notification import RemoveUIElementsNotification
from marimo._runtime.context import get_context
from marimo._runtime.runtime import Kernel

from cellwright_guest.patches.swap import Swap

if TYPE_CHECKING:
    from marimo._types.ids import CellId_t


def _invalidate_cell_state(
    self: Kernel, cell_id: CellId_t, exclude_defs: set[str] | None = None, deletion: bool = False
) -> None:
    cell = self.graph.cells[cell_id]
    cell.import_workspace.imported_defs = set()
    temporaries = {name: [VariableData(kind="variable")] for name in cell.temporaries}
    self._delete_variables({**cell.variable_data, **temporaries}, exclude_defs or set())
    cell.set_output(None)
    lifecycles = get_context().cell_lifecycle_registry
    if lifecycles.registry:
        lifecycles.dispose(cell_id, deletion=deletion)
        for descendant in self.graph.descendants(cell_id):
            if descendant in lifecycles.registry:
                lifecycles.dispose(descendant, deletion=deletion)
    notification_utils.broadcast_notification(RemoveUIElementsNotification(cell_id=cell_id))


SWAPS = (Swap(owner=Kernel, name="_invalidate_cell_state", fingerprint="27ab875de0b0", ours=_invalidate_cell_state),)
