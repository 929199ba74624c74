"""marimo's kernel object: how it is made, and which cells it runs."""

from __future__ import annotations

import queue

from marimo._ast.app_config import _AppConfig
from marimo._ast.cell import CellConfig
from marimo._config.config import DEFAULT_CONFIG, merge_config
from marimo._messaging.types import KernelStreams
from marimo._runtime.commands import AppMetadata
from marimo._runtime.context.kernel_context import KernelRuntimeContext
from marimo._runtime.dataflow import transitive_closure
from marimo._runtime.kernel_lifecycle import KernelArgs, create_kernel
from marimo._runtime.runtime import Kernel
from marimo._session.model import SessionMode
from marimo._types.ids import CellId_t

from cellwright_guest import wire
from cellwright_guest.streams import OwnCommands


def new_kernel(streams: KernelStreams, own_commands: OwnCommands) -> tuple[Kernel, KernelRuntimeContext]:
    """A kernel that is no notebook yet, with marimo's defaults."""
    return create_kernel(
        KernelArgs(
            streams=streams,
            debugger=None,
            configs={},
            app_metadata=AppMetadata(query_params={}, cli_args={}, app_config=_AppConfig(), argv=[]),
            user_config=merge_config(
                DEFAULT_CONFIG,
                {"runtime": {**DEFAULT_CONFIG["runtime"], "on_cell_change": "autorun", "reactive_tests": False}},
            ),
            mode=SessionMode.EDIT,
            control_queue=own_commands,
            set_ui_element_queue=queue.Queue(),
            virtual_file_storage=None,
        )
    )


def with_stale_ancestors(kernel: Kernel, cells: set[CellId_t]) -> set[CellId_t]:
    """marimo pulls in what the asked cells need; here also what their dependents need and nobody ran yet."""
    graph = kernel.graph
    if not any(cell.stale for cell in graph.cells.values()):
        return cells
    while True:
        running = transitive_closure(graph, cells)
        needed = transitive_closure(graph, running, children=False, predicate=lambda cell: cell.stale)
        if needed <= running | cells:
            return cells
        cells = cells | (needed - running)


def configure_cells(kernel: Kernel, cells: list[wire.CellCode]) -> set[CellId_t]:
    """Enable and disable cells; those that may run now."""
    known = kernel.cell_metadata
    changed = {
        CellId_t(cell.cell): {"disabled": cell.disabled}
        for cell in cells
        if (known[CellId_t(cell.cell)].config.disabled if CellId_t(cell.cell) in known else CellConfig().disabled)
        != cell.disabled
    }
    return kernel._configure_cells(changed) if changed else set()
