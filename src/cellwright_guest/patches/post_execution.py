"""`post-execution`: two hooks after every cell that cost as much as the notebook is long, or compile the same line.

`_store_state_reference` builds the set of all names in the notebook after each cell, to prune a registry that is
empty unless `mo.state` is used. `_reset_matplotlib_context` compiles a one-line string after each cell.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from marimo._runtime.context.types import get_context, get_global_context
from marimo._runtime.runner import hooks_post_execution as hooks

from cellwright_guest.patches.swap import Swap

if TYPE_CHECKING:
    from marimo._ast.cell import CellImpl
    from marimo._runtime.runner.hook_context import PostExecutionHookContext
    from marimo._runtime.runner.result import RunResult

_stock_reset_matplotlib_context = hooks._reset_matplotlib_context


@dataclass(frozen=True, slots=True)
class _Either:
    """What is in one of two containers, without joining them."""

    first: Container[object]
    second: Container[object]

    def __contains__(self, name: object) -> bool:
        return name in self.first or name in self.second


def _store_state_reference(cell: CellImpl, ctx: PostExecutionHookContext, run_result: RunResult) -> None:
    del run_result
    states = get_context().state_registry
    states.register_scope(ctx.glbls, defs=cell.defs)
    if states._states or states._inv_states:
        active: Any = _Either(ctx.graph.definitions, ctx.all_temporaries)
        states.retain_active_states(active)


def _reset_matplotlib_context(cell: CellImpl, ctx: PostExecutionHookContext, run_result: RunResult) -> None:
    if not get_global_context().mpl_installed:
        return
    marimo: Any = ctx.glbls.get("__marimo__")
    if marimo is None:
        _stock_reset_matplotlib_context(cell, ctx, run_result)
    else:
        marimo._output.mpl.close_figures()


SWAPS = (
    Swap(owner=hooks, name="_store_state_reference", fingerprint="d88573dc36f6", ours=_store_state_reference),
    Swap(owner=hooks, name="_reset_matplotlib_context", fingerprint="5cbf2d626e39", ours=_reset_matplotlib_context),
)
