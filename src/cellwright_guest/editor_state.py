"""What an editor is told when it begins to watch: names, values, tables, databases, widgets and what people had set.

Outputs are not here: the kernel does not keep them, the host does. marimo says once that a widget was made, and
nothing keeps its state in that form: without the record here, a widget of a cell that ran unwatched would never show.
"""

from __future__ import annotations

from typing import Any

from marimo._data.get_datasets import get_datasets_from_variables
from marimo._messaging import notification
from marimo._messaging.notification_utils import broadcast_notification
from marimo._messaging.variables import create_variable_value
from marimo._runtime.context.kernel_context import KernelRuntimeContext
from marimo._runtime.runtime import Kernel
from marimo._sql.get_engines import engine_to_data_source_connection, get_engines_from_variables
from marimo._types.ids import VariableName

_widgets: dict[Any, notification.ModelOpen] = {}
"""By marimo's id of the widget, which is a text."""


def remember_widget(told: notification.ModelLifecycleNotification) -> None:
    """Take in what happened to a widget; messages that change no state are passed over."""
    model, message = told.model_id, told.message
    if isinstance(message, notification.ModelOpen):
        _widgets[model] = message
    elif isinstance(message, notification.ModelUpdate) and model in _widgets:
        _widgets[model] = _updated(_widgets[model], message)
    elif isinstance(message, notification.ModelClose):
        _widgets.pop(model, None)


def _updated(before: notification.ModelOpen, update: notification.ModelUpdate) -> notification.ModelOpen:
    kept = [
        (path, buffer)
        for path, buffer in zip(before.buffer_paths, before.buffers, strict=False)
        if path and path[0] not in update.state
    ]
    buffers = [*kept, *zip(update.buffer_paths, update.buffers, strict=False)]
    return notification.ModelOpen(
        state=before.state | update.state,
        buffer_paths=[path for path, _ in buffers],
        buffers=[buffer for _, buffer in buffers],
        esm_spec=update.esm_spec or before.esm_spec,
    )


async def send_present_state(kernel: Kernel, context: KernelRuntimeContext) -> None:
    """Everything an editor would know had it been there from the start."""
    _send_variables(kernel)
    for model, message in _widgets.items():
        broadcast_notification(notification.ModelLifecycleNotification(model_id=model, message=message))
    for reference in list(context.ui_element_registry._objects.values()):
        element: Any = reference()
        if element is not None and element._value_frontend != element._initial_value_frontend:
            message = {"type": "marimo-ui-value-update", "value": element._value_frontend}
            broadcast_notification(notification.UIElementMessageNotification(ui_element=element._id, message=message))


def _send_variables(kernel: Kernel) -> None:
    graph, held = kernel.graph, kernel.globals
    broadcast_notification(
        notification.VariablesNotification(
            variables=[
                notification.VariableDeclarationNotification(
                    name=VariableName(name),
                    declared_by=list(cells),
                    used_by=list(graph.get_referring_cells(name, language="python")),
                )
                for name, cells in graph.definitions.items()
            ]
        )
    )
    defined = [name for name in graph.definitions if name in held]
    values = [create_variable_value(name=name, value=held[name]) for name in defined]
    if values:
        broadcast_notification(notification.VariableValuesNotification(variables=values))
    tables = get_datasets_from_variables([(VariableName(name), held[name]) for name in defined])
    if tables:
        broadcast_notification(notification.DatasetsNotification(tables=tables))
    engines = get_engines_from_variables([(VariableName(name), held[name]) for name in defined])
    connections = [engine_to_data_source_connection(name, engine) for name, engine in engines]
    if connections:
        broadcast_notification(notification.DataSourceConnectionsNotification(connections=connections))
