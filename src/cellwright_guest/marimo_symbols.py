"""Every symbol of marimo's that the guest relies on, with the shape it relies on.

marimo's internals are private and change in patch releases. After an upgrade `missing()` says which of these are
gone or changed, before anything fails in a notebook. A test reads the guest's sources and refuses a symbol that is
imported but not listed here. The bodies that the speed patches replace are pinned separately, by fingerprint.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """One name of marimo's."""

    module: str
    name: str
    parameters: tuple[str, ...] | None = None
    """What we pass when calling it; a further parameter without a default is a break too."""
    fields: tuple[str, ...] = ()
    """Fields that we read, match on or give when constructing."""
    attributes: tuple[str, ...] = ()
    """Methods, properties and instance attributes that we use."""

    @property
    def path(self) -> str:
        """As a person would write it."""
        return f"{self.module}.{self.name}"


def missing(symbols: Iterable[Symbol] | None = None) -> list[str]:
    """What this marimo no longer offers, a sentence each; empty when all is as the guest expects."""
    return [problem for symbol in symbols or SYMBOLS for problem in _problems(symbol)]


def _problems(symbol: Symbol) -> list[str]:
    try:
        found = _find(symbol)
    except (ImportError, AttributeError):
        return [f"{symbol.path} is gone"]
    lost = [f"{symbol.path} has no field {name!r}" for name in symbol.fields if name not in _fields(found)]
    lost += [f"{symbol.path} has no attribute {name!r}" for name in symbol.attributes if not _has(found, name)]
    return lost + (_call_problems(symbol, found) if symbol.parameters is not None else [])


def _find(symbol: Symbol) -> Any:
    found: Any = importlib.import_module(symbol.module)
    first, *rest = symbol.name.split(".")
    found = getattr(found, first) if hasattr(found, first) else importlib.import_module(symbol.path)
    for part in rest:
        found = getattr(found, part)
    return found


def _fields(found: Any) -> frozenset[str]:
    if dataclasses.is_dataclass(found):
        return frozenset(field.name for field in dataclasses.fields(found))
    return frozenset(getattr(found, "__struct_fields__", ())) | frozenset(getattr(found, "__annotations__", ()))


def _has(found: Any, name: str) -> bool:
    if hasattr(found, name) or name in _fields(found):
        return True
    bases = inspect.getmro(found) if inspect.isclass(found) else ()
    # An attribute that only instances have is among the names that some method's code uses.
    codes = [getattr(method, "__code__", None) for base in bases for method in vars(base).values()]
    return any(code is not None and name in code.co_names for code in codes)


def _call_problems(symbol: Symbol, found: Any) -> list[str]:
    known = inspect.signature(found).parameters
    relied = symbol.parameters or ()
    lost = [f"{symbol.path} takes no {name!r}" for name in relied if name not in known]
    unfilled = [
        f"{symbol.path} now needs {name!r}"
        for name, parameter in known.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        and name not in relied
        and name not in {"self", "cls"}
    ]
    return lost + unfilled


_RUNTIME = "marimo._runtime.runtime"
_HOOKS = "marimo._runtime.runner.hooks"
_HOOK_CONTEXT = "marimo._runtime.runner.hook_context"
_ERRORS = "marimo._messaging.errors"
_COMMANDS = "marimo._runtime.commands"
_TYPES = "marimo._messaging.types"
_GRAPH = "marimo._runtime.dataflow"
_CELL = "marimo._ast.cell"
_NOTIFICATION = "marimo._messaging.notification"
_POST = "marimo._runtime.runner.hooks_post_execution"

_KERNEL: Final = (
    Symbol(module="marimo._runtime.kernel_lifecycle", name="create_kernel", parameters=("args",)),
    Symbol(
        module="marimo._runtime.kernel_lifecycle",
        name="KernelArgs",
        fields=(
            *("streams", "debugger", "configs", "app_metadata", "user_config", "mode", "control_queue"),
            *("set_ui_element_queue", "virtual_file_storage"),
        ),
    ),
    Symbol(module="marimo._runtime.kernel_lifecycle", name="_build_hooks", parameters=("is_edit_mode", "user_config")),
    Symbol(
        module=_RUNTIME,
        name="Kernel",
        attributes=(
            *("graph", "errors", "globals", "argv", "app_metadata", "cell_metadata", "reactive_execution_mode"),
            *("_hooks", "_run_cells", "_configure_cells", "_delete_variables", "handle_message"),
            "state_updates",
        ),
    ),
    Symbol(
        module=_RUNTIME,
        name="Kernel.mutate_graph",
        parameters=("execution_requests", "deletion_requests", "cells_starting_stale"),
    ),
    Symbol(module=_RUNTIME, name="Kernel._run_cells", parameters=("cell_ids",)),
    Symbol(module=_RUNTIME, name="Kernel._configure_cells", parameters=("configs",)),
    Symbol(module=_RUNTIME, name="Kernel._delete_variables", parameters=("variables", "exclude_defs")),
    Symbol(module=_RUNTIME, name="Kernel.handle_message", parameters=("request",)),
    Symbol(module=_RUNTIME, name="Kernel.code_completion", parameters=("request", "docstrings_limit")),
    Symbol(module=_RUNTIME, name="Kernel.set_ui_element_value", parameters=("request", "notify_frontend")),
    Symbol(module=_RUNTIME, name="Kernel._find_cells_for_state", parameters=("state", "setter_cell_id")),
    Symbol(module=_RUNTIME, name="CellMetadata", fields=("config",)),
    Symbol(module="marimo._runtime", name="kernel_lifecycle"),
    Symbol(module="marimo._runtime", name="handlers"),
    Symbol(module="marimo._runtime.handlers", name="construct_interrupt_handler", parameters=()),
    Symbol(
        module="marimo._runtime.runner.scheduler",
        name="SequentialScheduler",
        attributes=("interrupted", "cancel_all", "requeue", "cells_to_run", "_prev_scheduler"),
    ),
    Symbol(module="marimo._utils.signals", name="SigintHandler"),
    Symbol(module="marimo._session.model", name="SessionMode", attributes=("EDIT",)),
    Symbol(module="marimo._ast.app_config", name="_AppConfig", attributes=("from_untrusted_dict",)),
    Symbol(module="marimo._config.config", name="DEFAULT_CONFIG"),
    Symbol(module="marimo._config.config", name="MarimoConfig"),
    Symbol(module="marimo._config.config", name="merge_config", parameters=("config", "new_config")),
    Symbol(module=_COMMANDS, name="AppMetadata", fields=("query_params", "cli_args", "app_config", "argv", "filename")),
    Symbol(module=_COMMANDS, name="CodeCompletionCommand"),
    Symbol(module=_COMMANDS, name="CommandMessage"),
    Symbol(module=_COMMANDS, name="DeleteCellCommand", fields=("cell_id",)),
    Symbol(module=_COMMANDS, name="ExecuteCellCommand", fields=("cell_id", "code")),
    Symbol(module=_COMMANDS, name="StopKernelCommand"),
    Symbol(module=_COMMANDS, name="UpdateUIElementCommand", fields=("object_ids", "values")),
    Symbol(module="marimo._types.ids", name="CellId_t"),
    Symbol(module="marimo._runtime.context", name="get_context", parameters=()),
    Symbol(module="marimo._runtime.context", name="safe_get_context", parameters=()),
    Symbol(module="marimo._runtime.context.types", name="get_context", parameters=()),
    Symbol(module="marimo._runtime.context.types", name="get_global_context", parameters=()),
    Symbol(
        module="marimo._runtime.context.types", name="ExecutionContext", fields=("cell_id", "setting_element_value")
    ),
    Symbol(
        module="marimo._runtime.context.kernel_context",
        name="KernelRuntimeContext",
        fields=(
            *("stream", "filename", "app_config", "state_registry", "cell_lifecycle_registry", "ui_element_registry"),
        ),
        attributes=("is_embedded", "with_cell_id", "execution_context", "active_scheduler"),
    ),
    Symbol(
        module="marimo._runtime.cell_lifecycle_registry",
        name="CellLifecycleRegistry",
        fields=("registry",),
        attributes=("dispose",),
    ),
    Symbol(
        module="marimo._runtime.state",
        name="StateRegistry",
        attributes=("_states", "_inv_states", "register_scope", "retain_active_states"),
    ),
)

_CELLS: Final = (
    Symbol(
        module=_CELL,
        name="CellImpl",
        fields=(
            *("code", "defs", "refs", "temporaries", "variable_data", "deleted_refs", "language", "cell_id"),
            *("config", "import_workspace", "_status", "_stale"),
        ),
        attributes=(
            *("stale", "run_result_status", "set_output", "set_runtime_state", "set_stale", "set_run_result_status"),
            "exception",
        ),
    ),
    Symbol(module=_CELL, name="CellConfig", fields=("disabled",), attributes=("configure",)),
    Symbol(module=_CELL, name="RuntimeState", fields=("state",)),
    Symbol(module=_CELL, name="CellStaleState", fields=("state",)),
    Symbol(module=_CELL, name="ImportWorkspace", fields=("imported_defs", "is_import_block")),
    Symbol(module=_CELL, name="RuntimeStateType"),
    Symbol(module="marimo._ast.visitor", name="VariableData", fields=("kind",), attributes=("language",)),
    Symbol(module="marimo._ast", name="compiler"),
    Symbol(module="marimo._ast.compiler", name="ends_with_semicolon", parameters=("code",)),
    Symbol(module="marimo._ast.compiler", name="get_filename", parameters=("cell_id",)),
)

_DATAFLOW: Final = (
    Symbol(module="marimo._runtime", name="dataflow"),
    Symbol(module=_GRAPH, name="edges"),
    Symbol(
        module=_GRAPH,
        name="transitive_closure",
        parameters=("graph", "cell_ids", "children", "inclusive", "relatives", "predicate"),
    ),
    Symbol(module=_GRAPH, name="topological_sort", parameters=("graph", "cell_ids")),
    Symbol(module=f"{_GRAPH}.edges", name="get_referring_cells", parameters=("name", "language", "topology")),
    Symbol(
        module=f"{_GRAPH}.edges",
        name="resolve_cell_references",
        parameters=("cell_id", "cell", "topology", "definitions"),
    ),
    Symbol(
        module=f"{_GRAPH}.graph",
        name="DirectedGraph",
        fields=("topology",),
        attributes=("cells", "parents", "children", "definitions", "descendants", "is_any_ancestor_disabled"),
    ),
    Symbol(
        module=f"{_GRAPH}.topology",
        name="MutableGraphTopology",
        fields=("_cells", "_children", "_parents"),
        attributes=("add_node", "remove_node", "add_edge", "remove_edge"),
    ),
    Symbol(module=f"{_GRAPH}.topology", name="GraphTopology", attributes=("cells", "children", "parents")),
    Symbol(
        module=f"{_GRAPH}.definitions", name="DefinitionRegistry", fields=("definition_conflicts", "conflict_names")
    ),
    Symbol(module=f"{_GRAPH}.types", name="Edge"),
)

_RUNS: Final = (
    Symbol(
        module=_HOOKS,
        name="NotebookCellHooks",
        attributes=("_lists", "_add", "add_pre_execution", "add_post_execution", "add_on_finish", "add_preparation"),
    ),
    Symbol(module=_HOOKS, name="_HookList", fields=("_entries",)),
    Symbol(module=_HOOKS, name="_HookEntry", fields=("hook", "priority")),
    Symbol(module=_HOOKS, name="Priority", attributes=("EARLY", "NORMAL", "LATE", "FINAL")),
    Symbol(module=_HOOK_CONTEXT, name="PreparationHookContext", fields=("graph", "cells_to_run")),
    Symbol(module=_HOOK_CONTEXT, name="PreExecutionHookContext", fields=("graph",)),
    Symbol(module=_HOOK_CONTEXT, name="PostExecutionHookContext", fields=("graph", "glbls", "all_temporaries")),
    Symbol(
        module=_HOOK_CONTEXT,
        name="OnFinishHookContext",
        fields=("graph", "cells_to_run", "cancelled_cells", "exceptions", "interrupted"),
    ),
    Symbol(
        module="marimo._runtime.runner.result", name="RunResult", fields=("output", "exception", "accumulated_output")
    ),
    Symbol(
        module="marimo._runtime.execution",
        name="ExecutionAttempt",
        fields=("cell_id",),
        attributes=("plan", "_notify"),
    ),
    *(
        Symbol(module="marimo._runtime.runner", name=name)
        for name in ("hooks_on_finish", "hooks_post_execution", "hooks_pre_execution", "hooks_preparation")
    ),
    *(
        Symbol(module=_POST, name=name, parameters=("cell", "ctx", "run_result"))
        for name in (
            *("_broadcast_variables", "_broadcast_datasets", "_broadcast_data_source_connection"),
            *("_broadcast_duckdb_datasource", "_broadcast_outputs", "broadcast_storage_backends"),
            *("render_toplevel_defs", "_store_state_reference", "_reset_matplotlib_context"),
        )
    ),
    Symbol(module="marimo", name="_tracer"),
    Symbol(module="marimo._tracer", name="MockTracer"),
    Symbol(module="marimo._tracer", name="kernel_tracer"),
    Symbol(module="marimo._entrypoints", name="registry"),
    Symbol(module="marimo._entrypoints.registry", name="get_entry_points", parameters=("group",)),
    Symbol(module="marimo._entrypoints.ids", name="KnownEntryPoint"),
    Symbol(module="marimo._runtime.control_flow", name="MarimoInterrupt"),
    Symbol(module="marimo._runtime.control_flow", name="MarimoStopError", attributes=("output",)),
    Symbol(module="marimo._runtime.exceptions", name="MarimoMissingRefError", attributes=("ref", "name_error")),
    Symbol(module="marimo._runtime.exceptions", name="MarimoRuntimeException"),
)

_TELLING: Final = (
    Symbol(module="marimo._messaging", name="notification_utils"),
    Symbol(
        module="marimo._messaging.notification_utils",
        name="broadcast_notification",
        parameters=("notification", "stream"),
    ),
    Symbol(
        module="marimo._messaging.notification_utils",
        name="CellNotificationUtils",
        attributes=("broadcast_console_output",),
    ),
    Symbol(module=_NOTIFICATION, name="NotificationMessage"),
    Symbol(module=_NOTIFICATION, name="RemoveUIElementsNotification", fields=("cell_id",)),
    Symbol(module=_NOTIFICATION, name="DatasetsNotification", fields=("tables",)),
    Symbol(module=_NOTIFICATION, name="ModelClose"),
    Symbol(module=_NOTIFICATION, name="ModelLifecycleNotification", fields=("model_id", "message")),
    Symbol(module=_NOTIFICATION, name="ModelOpen", fields=("state", "buffer_paths", "buffers", "esm_spec")),
    Symbol(module=_NOTIFICATION, name="ModelUpdate", fields=("state", "buffer_paths", "buffers", "esm_spec")),
    Symbol(module=_NOTIFICATION, name="UIElementMessageNotification", fields=("ui_element", "message")),
    Symbol(module=_NOTIFICATION, name="VariableDeclarationNotification", fields=("name", "declared_by", "used_by")),
    Symbol(module=_NOTIFICATION, name="VariablesNotification", fields=("variables",)),
    Symbol(module=_NOTIFICATION, name="VariableValuesNotification", fields=("variables",)),
    Symbol(module="marimo._messaging.variables", name="create_variable_value", parameters=("name", "value")),
    Symbol(module="marimo._data.get_datasets", name="get_datasets_from_variables", parameters=("variables",)),
    Symbol(module="marimo._types.ids", name="VariableName"),
    Symbol(module="marimo._plugins.ui._core.registry", name="UIElementRegistry", attributes=("_objects",)),
    Symbol(module="marimo._messaging.cell_output", name="CellChannel", attributes=("STDOUT", "STDERR")),
    Symbol(module="marimo._messaging.mimetypes", name="ConsoleMimeType"),
    Symbol(module=_TYPES, name="KernelMessage"),
    Symbol(module=_TYPES, name="KernelStreams", fields=("stream", "stdout", "stderr", "stdin")),
    Symbol(module=_TYPES, name="Stream", attributes=("write", "flush_console", "stop", "copy_for_thread", "cell_id")),
    Symbol(module=_TYPES, name="Stdout", attributes=("_write_with_mimetype", "_stop")),
    Symbol(module=_TYPES, name="Stderr", attributes=("_write_with_mimetype", "_stop")),
    Symbol(module=_TYPES, name="Stdin", attributes=("_readline_with_prompt", "_stop")),
    Symbol(module="marimo._messaging", name="errors"),
    Symbol(module=_ERRORS, name="Error"),
    Symbol(module=_ERRORS, name="MarimoSyntaxError", fields=("msg", "lineno")),
    Symbol(module=_ERRORS, name="ImportStarError", fields=("msg", "lineno")),
    Symbol(module=_ERRORS, name="CycleError", fields=("edges_with_vars",)),
    Symbol(module=_ERRORS, name="SetupRootError", fields=("edges_with_vars",)),
    Symbol(module=_ERRORS, name="MultipleDefinitionError", fields=("name", "cells")),
    Symbol(module=_ERRORS, name="MarimoInterruptionError"),
    Symbol(module=_ERRORS, name="MarimoAncestorPreventedError", fields=("raising_cell",)),
    Symbol(module=_ERRORS, name="MarimoAncestorStoppedError", fields=("raising_cell",)),
    Symbol(module=_ERRORS, name="MarimoExceptionRaisedError", fields=("msg", "exception_type", "raising_cell")),
    Symbol(module=_ERRORS, name="MarimoStrictExecutionError", fields=("msg", "blamed_cell")),
    Symbol(module=_ERRORS, name="MarimoSQLError", fields=("msg",)),
    Symbol(module=_ERRORS, name="MarimoInternalError"),
    Symbol(module=_ERRORS, name="UnknownError", fields=("msg", "error_type")),
    Symbol(module="marimo._output", name="formatting"),
    Symbol(module="marimo._output.formatting", name="try_format", parameters=("obj",)),
    Symbol(module="marimo._output.formatters.formatters", name="register_formatters", parameters=()),
    Symbol(module="marimo._plugins.stateless.flex", name="vstack", parameters=("items",)),
    Symbol(
        module="marimo._plugins.stateless.status._progress",
        name="_Progress",
        attributes=("title", "total", "current", "update_progress"),
    ),
    Symbol(
        module="marimo._plugins.ui._core.ui_element", name="UIElement", attributes=("_id", "value", "_value_frontend")
    ),
    Symbol(module="marimo._plugins.ui._core.ui_element", name="UIElement._update_value", parameters=("value",)),
    Symbol(module="marimo._plugins.ui", name="dropdown"),
    Symbol(module="marimo._runtime.state", name="State", attributes=("_value",)),
    Symbol(module="marimo._runtime.state", name="SetFunctor"),
)

SYMBOLS: Final = _KERNEL + _CELLS + _DATAFLOW + _RUNS + _TELLING
"""All of them, by what they are for."""
