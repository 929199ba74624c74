"""marimo's notifications: which a kernel may send, those made from kept outcomes.

How much is kept for late joiners.

A kernel is caged and may be hostile: a notification is decoded into marimo's own types and encoded again, so that what
was checked is what is sent.
"""

from __future__ import annotations

import html
import logging
from collections import defaultdict
from collections.abc import Callable
from typing import Final, cast

import msgspec
from marimo._ast.cell import RuntimeStateType
from marimo._messaging import notification as marimo
from marimo._messaging.cell_output import CellOutput
from marimo._messaging.errors import Error, MarimoExceptionRaisedError, MarimoInterruptionError, MarimoSyntaxError
from marimo._messaging.mimetypes import KnownMimeType
from marimo._session.state.session_view import SessionView
from marimo._types.ids import CellId_t

from cellwright.kernel.observation import CellOutcome, CellStatus

logger = logging.getLogger(__name__)

MAX_BYTES: Final = 12 << 20
"""Outputs are cut to 8 MB in the kernel; what is larger than that, escaped, was not made by marimo."""
SPOKEN: Final = (
    marimo.CellNotification
    | marimo.ExecutionNotification
    | marimo.CompletedRunNotification
    | marimo.InterruptedNotification
    | marimo.FunctionCallResultNotification
    | marimo.UIElementMessageNotification
    | marimo.RemoveUIElementsNotification
    | marimo.ModelLifecycleNotification
    | marimo.CompletionResultNotification
    | marimo.AlertNotification
    | marimo.VariablesNotification
    | marimo.VariableValuesNotification
    | marimo.DatasetsNotification
    | marimo.DataColumnPreviewNotification
    | marimo.DataSourceConnectionsNotification
    | marimo.DataSourceDiscoveryResultNotification
    | marimo.SQLTablePreviewNotification
    | marimo.SQLTableListPreviewNotification
    | marimo.SQLSchemaListPreviewNotification
    | marimo.ValidateSQLResultNotification
    | marimo.StorageNamespacesNotification
    | marimo.StorageEntriesNotification
)
"""Not among them: changes of the document, of files, packages, secrets or settings, and all that only a server
says; nor where to download a storage's file, which a kernel could make any address."""

_decoder: Final = msgspec.json.Decoder(SPOKEN)


def admitted(body: bytes, is_cell: Callable[[CellId_t], bool]) -> marimo.NotificationMessage | None:
    """What this frame says, if a kernel may say it, about a cell that there is; else None."""
    if len(body) > MAX_BYTES:
        logger.warning("a notification of %s bytes was not passed on", len(body))
        return None
    try:
        notification = _decoder.decode(body)
    except (msgspec.MsgspecError, RecursionError, ValueError) as problem:
        logger.warning("a notification was not passed on: %s", str(problem)[:200])
        return None
    if isinstance(notification, marimo.CellNotification | marimo.ExecutionNotification) and not is_cell(
        notification.cell_id
    ):
        return None
    return notification


_STATES: Final[dict[CellStatus, RuntimeStateType]] = {"running": "running", "disabled": "disabled-transitively"}
"""Of a cell whose outcome is this; idle, however it ended."""
_CUT: Final = "\n… too large to be shown whole; run the cell to see it."


def notification_of(outcome: CellOutcome) -> marimo.CellNotification:
    """How this cell looks, whole: output, console and status."""
    console = [CellOutput.stdout(outcome.console)] if outcome.console else []
    return marimo.CellNotification(
        cell_id=CellId_t(outcome.id),
        output=_output(outcome),
        console=console,
        status=_STATES.get(outcome.status, "idle"),
        stale_inputs=outcome.status == "stale",
    )


def blank(cell: str) -> marimo.CellNotification:
    """A cell that has not run."""
    return marimo.CellNotification(
        cell_id=CellId_t(cell), output=CellOutput.empty(), console=[], status="idle", stale_inputs=False
    )


def _output(outcome: CellOutcome) -> CellOutput:
    if outcome.error is not None:
        return CellOutput.errors([_error(outcome)])
    output = outcome.output
    if output is None:
        return CellOutput.empty()
    if not output.data and output.text:
        return _shown("text/html", f"<pre class='text-xs'>{html.escape(output.text + _CUT)}</pre>")
    return _shown(cast("KnownMimeType", output.mimetype), output.data)


def _shown(mimetype: KnownMimeType, data: str) -> CellOutput:
    shown = CellOutput.empty()
    shown.mimetype, shown.data = mimetype, data
    return shown


def _error(outcome: CellOutcome) -> Error:
    assert outcome.error is not None
    if outcome.status == "interrupted":
        return MarimoInterruptionError()
    if outcome.error.type == "syntax":
        return MarimoSyntaxError(msg=outcome.error.message, lineno=outcome.error.line)
    return MarimoExceptionRaisedError(
        msg=outcome.error.message, exception_type=outcome.error.type, raising_cell=None, traceback=None
    )


_CONSOLE_BYTES: Final = 4 << 20
_GATHERED_BYTES: Final = 128 << 20
_GATHERED: Final = (
    marimo.DatasetsNotification,
    marimo.DataSourceConnectionsNotification,
    marimo.ModelLifecycleNotification,
    marimo.SQLSchemaListPreviewNotification,
    marimo.SQLTableListPreviewNotification,
    marimo.SQLTablePreviewNotification,
    marimo.VariableValuesNotification,
)
"""Of these marimo's view gathers one after the other and never lets go."""


class RetainedOutput:
    """Watches over one session's view."""

    def __init__(self, view: SessionView) -> None:
        self._view = view
        self._gathered = 0
        self._consoles: defaultdict[str, int] = defaultdict(int)

    def before(self, notification: marimo.NotificationMessage, size: int) -> bool:
        """Make room for this. False: it is not to be told, this cell has printed more than anybody reads."""
        if isinstance(notification, _GATHERED):
            self._gathered += size
            if self._gathered > _GATHERED_BYTES:
                self.forget()
                self._gathered = size
        if not isinstance(notification, marimo.CellNotification):
            return True
        if notification.status == "running":
            self._consoles[notification.cell_id] = 0
        if notification.console and notification.output is None:
            self._consoles[notification.cell_id] += size
            return self._consoles[notification.cell_id] <= _CONSOLE_BYTES
        return True

    def after(self, notification: marimo.NotificationMessage) -> None:
        """Of what a `mo.ui` element was told, its value is kept, and not every message there ever was."""
        if isinstance(notification, marimo.UIElementMessageNotification):
            self._view.ui_element_messages.pop(notification.ui_element, None)
            if notification.message.get("type") == "marimo-ui-value-update" and len(self._view.ui_values) < 10_000:
                self._view.ui_values[notification.ui_element] = notification.message.get("value")

    def forget(self) -> None:
        """Let go of everything but the cells."""
        view = self._view
        view.ui_values.clear()
        view.ui_element_messages.clear()
        view.model_states.clear()
        view.variable_values.clear()
        view.datasets = marimo.DatasetsNotification(tables=[])
        view.data_connectors = marimo.DataSourceConnectionsNotification(connections=[])
