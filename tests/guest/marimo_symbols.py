"""The symbols of marimo's of which the guest relies on more than that they are there: the shape it relies on.

marimo's internals are private and change in patch releases. After an upgrade `missing()` says which of these are
gone or changed, before anything fails in a notebook. A test asks the same of every symbol that the guest's sources
import. The bodies that the speed patches replace are pinned separately, by fingerprint.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
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


_NOTATION: Final = re.compile(r"([\w.]+)(?:\(([^)]*)\))?(?: \{([^}]*)\})?(?: \[([^\]]*)\])?")
_TABLE: Final = """\
marimo._ast.app_config: _AppConfig [from_untrusted_dict]
marimo._ast.cell: CellConfig {disabled} [configure] CellImpl {code defs refs temporaries variable_data deleted_refs
    language cell_id config import_workspace _status _stale} [stale run_result_status set_output set_runtime_state
    set_stale set_run_result_status exception] CellStaleState {state} ImportWorkspace {imported_defs is_import_block}
    RuntimeState {state}
marimo._ast.compiler: ends_with_semicolon(code) get_filename(cell_id)
marimo._ast.visitor: VariableData {kind} [language]
marimo._config.config: merge_config(config new_config)
marimo._data.get_datasets: get_datasets_from_variables(variables)
marimo._data.models: Database {name dialect schemas schemas_resolved engine} DataTable {source_type source name num_rows
    num_columns variable_name engine type columns primary_keys indexes} DataTableColumn {name type external_type
    sample_values} Schema {name tables tables_resolved}
marimo._entrypoints.registry: get_entry_points(group)
marimo._messaging.cell_output: CellChannel [STDOUT STDERR]
marimo._messaging.errors: CycleError {edges_with_vars} ImportStarError {msg lineno} MarimoAncestorPreventedError
    {raising_cell} MarimoAncestorStoppedError {raising_cell} MarimoExceptionRaisedError {msg exception_type
    raising_cell} MarimoSQLError {msg} MarimoStrictExecutionError {msg blamed_cell} MarimoSyntaxError {msg lineno}
    MultipleDefinitionError {name cells} SetupRootError {edges_with_vars} UnknownError {msg error_type}
marimo._messaging.notification: DataSourceConnectionsNotification {connections} DatasetsNotification {tables}
    ModelLifecycleNotification {model_id message} ModelOpen
    {state buffer_paths buffers esm_spec} ModelUpdate {state buffer_paths buffers esm_spec} RemoveUIElementsNotification
    {cell_id} UIElementMessageNotification {ui_element message} VariableDeclarationNotification {name declared_by
    used_by} VariableValuesNotification {variables} VariablesNotification {variables}
marimo._messaging.notification_utils: CellNotificationUtils [broadcast_console_output]
    broadcast_notification(notification stream)
marimo._messaging.types: KernelStreams {stream stdout stderr stdin} Stderr [_write_with_mimetype _stop] Stdin
    [_readline_with_prompt _stop] Stdout [_write_with_mimetype _stop] Stream [write flush_console stop copy_for_thread
    cell_id]
marimo._messaging.variables: create_variable_value(name value)
marimo._output.formatters.formatters: register_formatters()
marimo._output.formatting: try_format(obj)
marimo._plugins.stateless.flex: vstack(items)
marimo._plugins.stateless.status._progress: _Progress [title total current update_progress]
marimo._plugins.ui._core.registry: UIElementRegistry [_objects]
marimo._plugins.ui._core.ui_element: UIElement [_id value _value_frontend] UIElement._update_value(value)
marimo._runtime.cell_lifecycle_registry: CellLifecycleRegistry {registry} [dispose]
marimo._runtime.commands: AppMetadata {query_params cli_args app_config argv filename} DeleteCellCommand {cell_id}
    ExecuteCellCommand {cell_id code} UpdateUIElementCommand {object_ids values}
marimo._runtime.context: get_context() safe_get_context()
marimo._runtime.context.kernel_context: KernelRuntimeContext {stream filename app_config state_registry
    cell_lifecycle_registry ui_element_registry} [is_embedded with_cell_id execution_context active_scheduler]
marimo._runtime.context.types: ExecutionContext {cell_id setting_element_value} get_context() get_global_context()
marimo._runtime.control_flow: MarimoStopError [output]
marimo._runtime.dataflow: topological_sort(graph cell_ids) transitive_closure(graph cell_ids children inclusive
    relatives predicate)
marimo._runtime.dataflow.definitions: DefinitionRegistry {definition_conflicts conflict_names}
marimo._runtime.dataflow.edges: get_referring_cells(name language topology) resolve_cell_references(cell_id cell
    topology definitions)
marimo._runtime.dataflow.graph: DirectedGraph {topology} [cells parents children definitions descendants
    is_any_ancestor_disabled]
marimo._runtime.dataflow.topology: GraphTopology [cells children parents] MutableGraphTopology {_cells _children
    _parents} [add_node remove_node add_edge remove_edge]
marimo._runtime.exceptions: MarimoMissingRefError [ref name_error]
marimo._runtime.execution: ExecutionAttempt {cell_id} [plan _notify]
marimo._runtime.handlers: construct_interrupt_handler()
marimo._runtime.kernel_lifecycle: KernelArgs {streams debugger configs app_metadata user_config mode control_queue
    set_ui_element_queue virtual_file_storage} _build_hooks(is_edit_mode user_config) create_kernel(args)
marimo._runtime.runner.hook_context: OnFinishHookContext {graph cells_to_run cancelled_cells exceptions interrupted}
    PostExecutionHookContext {graph glbls all_temporaries} PreExecutionHookContext {graph} PreparationHookContext {graph
    cells_to_run}
marimo._runtime.runner.hooks: NotebookCellHooks [_lists _add add_pre_execution add_post_execution add_on_finish
    add_preparation] Priority [EARLY NORMAL LATE FINAL] _HookEntry {hook priority} _HookList {_entries}
marimo._runtime.runner.hooks_post_execution: _broadcast_data_source_connection(cell ctx run_result)
    _broadcast_datasets(cell ctx run_result) _broadcast_duckdb_datasource(cell ctx run_result) _broadcast_outputs(cell
    ctx run_result) _broadcast_variables(cell ctx run_result) _reset_matplotlib_context(cell ctx run_result)
    _store_state_reference(cell ctx run_result) broadcast_storage_backends(cell ctx run_result)
    render_toplevel_defs(cell ctx run_result)
marimo._runtime.runner.result: RunResult {output exception accumulated_output}
marimo._runtime.runner.scheduler: SequentialScheduler [interrupted cancel_all requeue cells_to_run _prev_scheduler]
marimo._runtime.runtime: CellMetadata {config} Kernel [graph errors globals argv app_metadata cell_metadata
    reactive_execution_mode _hooks _run_cells _configure_cells _delete_variables handle_message state_updates]
    Kernel._configure_cells(configs) Kernel._delete_variables(variables exclude_defs) Kernel._find_cells_for_state(state
    setter_cell_id) Kernel._run_cells(cell_ids) Kernel.code_completion(request docstrings_limit)
    Kernel.handle_message(request) Kernel.mutate_graph(execution_requests deletion_requests cells_starting_stale)
    Kernel.set_ui_element_value(request notify_frontend)
marimo._runtime.state: State [_value] StateRegistry [_states _inv_states register_scope retain_active_states]
marimo._session.model: SessionMode [EDIT]
marimo._sql.engines.types: InferenceConfig {auto_discover_schemas auto_discover_tables auto_discover_columns}
    SQLConnection [execute sql_output_format get_default_database get_default_schema get_databases get_schemas
    get_tables_in_schema get_table_details inference_config execute_in_explain_mode is_compatible source dialect]
marimo._sql.get_engines: SUPPORTED_ENGINES [insert] engine_to_data_source_connection(variable_name engine)
    get_engines_from_variables(variables)
marimo._sql.utils: convert_to_output(sql_output_format to_polars to_pandas to_native) sql_type_to_data_type(type_str)
"""


def _symbols() -> Iterator[Symbol]:
    for row in _TABLE.replace("\n    ", " ").splitlines():
        module, _, names = row.partition(": ")
        for found in _NOTATION.finditer(names):
            name, parameters, fields, attributes = found.groups()
            yield Symbol(
                module=module,
                name=name,
                parameters=None if parameters is None else tuple(parameters.split()),
                fields=tuple((fields or "").split()),
                attributes=tuple((attributes or "").split()),
            )


SYMBOLS: Final = tuple(_symbols())
"""All of them; the table says of each `name(parameters) {fields} [attributes]`."""
