"""Whether an editor reads marimo's notifications, and which of marimo's hooks run around each cell when none does."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from marimo._runtime import kernel_lifecycle
from marimo._runtime.runner.hooks import NotebookCellHooks

if TYPE_CHECKING:
    from marimo._config.config import MarimoConfig


@dataclass(slots=True)
class Audience:
    """Read by the `broadcast` patch on every notification."""

    is_watching: bool = True
    """Whether notifications are worth building. Cells keep their own state either way.

    Nothing is told afterwards: an editor that joins needs the present state from the driver.
    """


audience = Audience()


ONLY_FOR_AN_EDITOR: Final = frozenset({
    "_broadcast_variables", "_broadcast_datasets", "_broadcast_data_source_connection", "_broadcast_duckdb_datasource",
    "_broadcast_outputs", "broadcast_storage_backends", "render_toplevel_defs",
})  # fmt: skip
"""Hooks of marimo's that compute something and broadcast it, and leave nothing behind in the kernel."""


def hooks(is_watched: bool) -> NotebookCellHooks:
    """marimo's hooks for a kernel in edit mode: all of them when watched, else the lean set.

    For `kernel._hooks`, with the driver's own added; the two hooks of marimo's module reloader are not among them, so
    only for kernels with `auto_reload` off. A driver reads results in a **post-execution** hook
    (`run_result.output`, `.accumulated_output`, `.exception`), starts in a **pre-execution** hook, and outcomes of
    cells that never ran in an **on-finish** hook (`cancelled_cells`, and `cells_to_run` when interrupted). When
    unwatched it formats the output itself (`marimo._output.formatting.try_format`) since `_broadcast_outputs` is left
    out. A hook of the driver's runs before marimo closes the figures and drops the `_temporaries` when it is
    registered at `Priority.EARLY`, and after the cell's status is set at `Priority.LATE`.
    """
    every = kernel_lifecycle._build_hooks(True, cast("MarimoConfig", {"runtime": {"reactive_tests": False}}))
    return every if is_watched else lean_hooks(every)


def lean_hooks(every: NotebookCellHooks) -> NotebookCellHooks:
    """A copy without the hooks that only tell an editor something; the others' order and priorities stay."""
    lean = NotebookCellHooks()
    for phase, registered in every._lists.items():
        for entry in registered._entries:
            if not _is_only_for_an_editor(entry.hook):
                lean._add(phase, entry.hook, entry.priority)
    return lean


def _is_only_for_an_editor(hook: object) -> bool:
    plain = inspect.unwrap(hook) if inspect.isfunction(hook) else hook
    module = getattr(plain, "__module__", "")
    return module.startswith("marimo.") and getattr(plain, "__name__", "") in ONLY_FOR_AN_EDITOR
