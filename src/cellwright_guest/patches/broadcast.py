"""`broadcast`: when no editor watches, marimo's notifications are neither built nor encoded.

Every status a cell has is still kept on the cell; only the telling is left out. While `audience.is_watching` (the
state at the start) each function here is marimo's own. What goes to a stream other than the kernel's is always sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from marimo._ast.cell import CellImpl, RuntimeStateType
from marimo._messaging import notification_utils
from marimo._messaging.notification import ModelLifecycleNotification
from marimo._runtime.context import get_context, safe_get_context
from marimo._runtime.execution import ExecutionAttempt
from marimo._runtime.runtime import Kernel

from cellwright_guest import editor_state
from cellwright_guest.patches.audience import audience
from cellwright_guest.patches.swap import Swap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from marimo._messaging.notification import NotificationMessage
    from marimo._messaging.types import Stream
    from marimo._runtime.commands import DeleteCellCommand, ExecuteCellCommand
    from marimo._types.ids import CellId_t

_stock_broadcast_notification = notification_utils.broadcast_notification
_stock_set_runtime_state = CellImpl.set_runtime_state
_stock_set_stale = CellImpl.set_stale
_stock_plan = ExecutionAttempt.plan.__func__
_stock_notify = ExecutionAttempt._notify
_stock_mutate_graph = Kernel.mutate_graph


def _broadcast(notification: NotificationMessage, stream: Stream | None = None) -> None:
    if isinstance(notification, ModelLifecycleNotification):
        editor_state.remember_widget(notification)
    if audience.is_watching or _is_another(stream):
        _stock_broadcast_notification(notification, stream)


def _is_another(stream: Stream | None) -> bool:
    """Whether this is given and not the kernel's own: such a listener is there, watched or not."""
    context = safe_get_context()
    return stream is not None and (context is None or stream is not context.stream)


def _set_runtime_state(self: CellImpl, status: RuntimeStateType, stream: Stream | None = None) -> None:
    if audience.is_watching or _is_another(stream):
        _stock_set_runtime_state(self, status, stream)
    else:
        self._status.state = status


def _set_stale(self: CellImpl, stale: bool, stream: Stream | None = None, broadcast: bool = True) -> None:
    if audience.is_watching or _is_another(stream):
        _stock_set_stale(self, stale, stream, broadcast)
    else:
        self._stale.state = stale


def _plan(cls: type[ExecutionAttempt], cell_id: CellId_t, code: str) -> ExecutionAttempt:
    return _stock_plan(cls, cell_id, code) if audience.is_watching else cls(cell_id)


def _notify(self: ExecutionAttempt, phase: Literal["running", "completed"]) -> None:
    if audience.is_watching:
        _stock_notify(self, phase)


def _mutate_graph(
    self: Kernel,
    execution_requests: Sequence[ExecuteCellCommand],
    deletion_requests: Sequence[DeleteCellCommand],
    cells_starting_stale: set[CellId_t] | None = None,
) -> set[CellId_t]:
    if audience.is_watching:
        return _stock_mutate_graph(self, execution_requests, deletion_requests, cells_starting_stale)
    # An embedded notebook does not tell its variables, and mutate_graph asks for nothing else there.
    context = vars(get_context())
    context["is_embedded"] = lambda: True
    try:
        return _stock_mutate_graph(self, execution_requests, deletion_requests, cells_starting_stale)
    finally:
        context.pop("is_embedded", None)


SWAPS = (
    Swap(owner=notification_utils, name="broadcast_notification", fingerprint="9dd36c83898f", ours=_broadcast),
    Swap(owner=CellImpl, name="set_runtime_state", fingerprint="220f215a2061", ours=_set_runtime_state),
    Swap(owner=CellImpl, name="set_stale", fingerprint="5576b9d3ec4e", ours=_set_stale),
    Swap(owner=ExecutionAttempt, name="plan", fingerprint="2e118cd7eb81", ours=_plan),
    Swap(owner=ExecutionAttempt, name="_notify", fingerprint="f149aeeaca7e", ours=_notify),
    Swap(owner=Kernel, name="mutate_graph", fingerprint="80e42dd8d584", ours=_mutate_graph),
)
