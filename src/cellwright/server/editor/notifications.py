"""What a kernel may say to an editor. It is caged and may be hostile: what is not on the list is not passed on.

A notification is decoded into marimo's own types and encoded again, so that what was checked is what is sent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

import msgspec
from marimo._messaging.notification import (
    AlertNotification,
    CellNotification,
    CompletedRunNotification,
    CompletionResultNotification,
    DataColumnPreviewNotification,
    DatasetsNotification,
    DataSourceConnectionsNotification,
    DataSourceDiscoveryResultNotification,
    ExecutionNotification,
    FunctionCallResultNotification,
    InterruptedNotification,
    ModelLifecycleNotification,
    NotificationMessage,
    RemoveUIElementsNotification,
    SQLSchemaListPreviewNotification,
    SQLTableListPreviewNotification,
    SQLTablePreviewNotification,
    UIElementMessageNotification,
    ValidateSQLResultNotification,
    VariablesNotification,
    VariableValuesNotification,
)
from marimo._types.ids import CellId_t

logger = logging.getLogger(__name__)

MAX_BYTES: Final = 12 << 20
"""Outputs are cut to 8 MB in the kernel; what is larger than that, escaped, was not made by marimo."""
SPOKEN: Final = (
    CellNotification
    | ExecutionNotification
    | CompletedRunNotification
    | InterruptedNotification
    | FunctionCallResultNotification
    | UIElementMessageNotification
    | RemoveUIElementsNotification
    | ModelLifecycleNotification
    | CompletionResultNotification
    | AlertNotification
    | VariablesNotification
    | VariableValuesNotification
    | DatasetsNotification
    | DataColumnPreviewNotification
    | DataSourceConnectionsNotification
    | DataSourceDiscoveryResultNotification
    | SQLTablePreviewNotification
    | SQLTableListPreviewNotification
    | SQLSchemaListPreviewNotification
    | ValidateSQLResultNotification
)
"""Not among them: changes of the document, of files, packages, secrets or settings, and all that only a server says."""

_decoder: Final = msgspec.json.Decoder(SPOKEN)


def admitted(body: bytes, is_cell: Callable[[CellId_t], bool]) -> NotificationMessage | None:
    """What this frame says, if a kernel may say it, about a cell that there is; else None."""
    if len(body) > MAX_BYTES:
        logger.warning("a notification of %s bytes was not passed on", len(body))
        return None
    try:
        notification = _decoder.decode(body)
    except (msgspec.MsgspecError, RecursionError, ValueError) as problem:
        logger.warning("a notification was not passed on: %s", str(problem)[:200])
        return None
    if isinstance(notification, CellNotification | ExecutionNotification) and not is_cell(notification.cell_id):
        return None
    return notification
