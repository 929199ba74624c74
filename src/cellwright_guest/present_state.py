"""What an editor is told when it begins to watch: names, values, tables, widgets and what people had set.

Outputs are not here: the kernel does not keep them, the host does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from marimo._data.get_datasets import get_datasets_from_variables
from marimo._messaging.notification import (
    DatasetsNotification,
    UIElementMessageNotification,
    VariableDeclarationNotification,
    VariablesNotification,
    VariableValuesNotification,
)
from marimo._messaging.notification_utils import broadcast_notification
from marimo._messaging.variables import create_variable_value
from marimo._types.ids import VariableName

from cellwright_guest import widget_models

if TYPE_CHECKING:
    from marimo._runtime.context.kernel_context import KernelRuntimeContext
    from marimo._runtime.runtime import Kernel


async def tell(kernel: Kernel, context: KernelRuntimeContext) -> None:
    """Everything an editor would know had it been there from the start."""
    _tell_variables(kernel)
    for widget in widget_models.alive():
        broadcast_notification(widget)
    for reference in list(context.ui_element_registry._objects.values()):
        element: Any = reference()
        if element is not None and element._value_frontend != element._initial_value_frontend:
            message = {"type": "marimo-ui-value-update", "value": element._value_frontend}
            broadcast_notification(UIElementMessageNotification(ui_element=element._id, message=message))


def _tell_variables(kernel: Kernel) -> None:
    graph, held = kernel.graph, kernel.globals
    broadcast_notification(
        VariablesNotification(
            variables=[
                VariableDeclarationNotification(
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
        broadcast_notification(VariableValuesNotification(variables=values))
    tables = get_datasets_from_variables([(VariableName(name), held[name]) for name in defined])
    if tables:
        broadcast_notification(DatasetsNotification(tables=tables))
