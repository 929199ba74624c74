"""How much of what a kernel says is kept for those who join later: bounded, whatever it says and for how long."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from marimo._messaging.notification import (
    CellNotification,
    DatasetsNotification,
    DataSourceConnectionsNotification,
    ModelLifecycleNotification,
    NotificationMessage,
    SQLSchemaListPreviewNotification,
    SQLTableListPreviewNotification,
    SQLTablePreviewNotification,
    UIElementMessageNotification,
    VariableValuesNotification,
)
from marimo._session.state.session_view import SessionView

_CONSOLE_BYTES: Final = 4 << 20
_GATHERED_BYTES: Final = 128 << 20
_GATHERED: Final = (
    DatasetsNotification,
    DataSourceConnectionsNotification,
    ModelLifecycleNotification,
    SQLSchemaListPreviewNotification,
    SQLTableListPreviewNotification,
    SQLTablePreviewNotification,
    VariableValuesNotification,
)
"""Of these marimo's view gathers one after the other and never lets go."""


class Retained:
    """Watches over one session's view."""

    def __init__(self, view: SessionView) -> None:
        self._view = view
        self._gathered = 0
        self._consoles: defaultdict[str, int] = defaultdict(int)

    def before(self, notification: NotificationMessage, size: int) -> bool:
        """Make room for this. False: it is not to be told, this cell has printed more than anybody reads."""
        if isinstance(notification, _GATHERED):
            self._gathered += size
            if self._gathered > _GATHERED_BYTES:
                self.forget()
                self._gathered = size
        if not isinstance(notification, CellNotification):
            return True
        if notification.status == "running":
            self._consoles[notification.cell_id] = 0
        if notification.console and notification.output is None:
            self._consoles[notification.cell_id] += size
            return self._consoles[notification.cell_id] <= _CONSOLE_BYTES
        return True

    def after(self, notification: NotificationMessage) -> None:
        """Of what a `mo.ui` element was told, its value is kept, and not every message there ever was."""
        if isinstance(notification, UIElementMessageNotification):
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
        view.datasets = DatasetsNotification(tables=[])
        view.data_connectors = DataSourceConnectionsNotification(connections=[])
