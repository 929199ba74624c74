"""From marimo's run hooks and progress bars to what the host is told of each cell.

marimo's notifications are for its frontend; we learn everything from the hooks it calls around each cell, so a run
costs no serialisation that nobody reads.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Collection
from typing import Any

from marimo._ast.cell import CellImpl
from marimo._output import formatting
from marimo._plugins.stateless.status._progress import _Progress
from marimo._runtime.context import safe_get_context
from marimo._runtime.context.kernel_context import KernelRuntimeContext
from marimo._runtime.control_flow import MarimoInterrupt, MarimoStopError
from marimo._runtime.runner import hook_context
from marimo._runtime.runner.hooks import NotebookCellHooks, Priority
from marimo._runtime.runner.result import RunResult
from marimo._runtime.runner.scheduler import SequentialScheduler
from marimo._runtime.runtime import Kernel
from marimo._types.ids import CellId_t

from cellwright_guest import faults, outputs, previews, report_wire, wire
from cellwright_guest.streams import ConsoleWriter, DescriptorCapture, HostSocket

_SECONDS_BETWEEN = 0.1

EmitProgress = Callable[[str, float, float | None], None]


def follow_progress(emit: EmitProgress) -> None:
    """Call `emit(title, done, total)` as any bar moves: now and then while it does, always at its end."""
    update, close = _Progress.update_progress, _Progress.close
    last = 0.0

    @functools.wraps(update)
    def update_and_emit(
        self: _Progress, increment: int = 1, title: str | None = None, subtitle: str | None = None
    ) -> None:
        nonlocal last
        update(self, increment, title, subtitle)
        if time.monotonic() - last >= _SECONDS_BETWEEN:
            last = time.monotonic()
            emit(self.title or "", self.current, self.total)

    @functools.wraps(close)
    def close_and_emit(self: _Progress) -> None:
        close(self)
        emit(self.title or "", self.current, self.total)

    bar: Any = _Progress
    bar.update_progress = update_and_emit
    bar.close = close_and_emit


logger = logging.getLogger(__name__)

_PREVIEW_TIMEOUT_SECONDS = 2.0

BeforeCell = Callable[[CellId_t, list[str], list[CellId_t]], None]
"""Told of the cell that comes next, of those that ran in this request, and of those planned that have not."""


class Reporter:
    """Tells the host what happens in one kernel, request by request."""

    def __init__(self, host: HostSocket, console: ConsoleWriter) -> None:
        self._host = host
        self._console = console
        self._request = 0
        self._started_at = 0.0
        self._planned: dict[CellId_t, None] = {}
        self._reported: dict[str, None] = {}
        self.before_cell: BeforeCell = _at_once
        self.captured: DescriptorCapture | None = None
        self.bounds = wire.Bind(filename="", threads=1)

    def begin(self, request: int) -> None:
        """Everything from here on belongs to `request`; 0 is what the notebook does by itself."""
        self._request = request
        self._planned.clear()
        self._reported.clear()

    def attach(self, hooks: NotebookCellHooks) -> None:
        """Listen to a kernel's runs."""
        hooks.add_preparation(self._prepared, Priority.EARLY)
        hooks.add_pre_execution(self._started, Priority.FINAL)
        # Early: marimo closes matplotlib's figures in a later hook.
        hooks.add_post_execution(self._finished, Priority.EARLY)
        hooks.add_on_finish(self._run_over, Priority.EARLY)

    def structural(self, kernel: Kernel, before: dict[CellId_t, Any], asked: Collection[str]) -> None:
        """Report cells that cannot run at all: broken syntax, cycles, names defined twice."""
        for cell_id, errors in kernel.errors.items():
            if cell_id in asked or before.get(cell_id) != errors:
                error = faults.structural(errors)
                self._emit(report_wire.CellReport(cell=cell_id, status="failed", error=error))

    def progress(self, title: str, done: float, total: float | None) -> None:
        """A progress bar of the running cell moved."""
        self._host.send(
            wire.Progress(request=self._request, cell=self._console.cell, title=title, done=done, total=total)
        )

    # ── hooks ──

    def _prepared(self, context: hook_context.PreparationHookContext) -> None:
        self._planned.update(dict.fromkeys(context.cells_to_run))

    def _started(self, cell: CellImpl, context: hook_context.PreExecutionHookContext) -> None:
        self.before_cell(
            cell.cell_id, [*self._reported], [planned for planned in self._planned if planned not in self._reported]
        )
        self._console.begin(self._request, cell.cell_id)
        self._host.send(wire.CellStarted(request=self._request, cell=cell.cell_id))
        self._started_at = time.perf_counter()

    def _finished(self, cell: CellImpl, context: hook_context.PostExecutionHookContext, result: RunResult) -> None:
        ms = (time.perf_counter() - self._started_at) * 1e3
        try:
            report = self._report(cell, context, result, ms)
        except KeyboardInterrupt:
            report = _interrupted(cell, ms)
        except Exception as error:
            logger.exception("cell %s cannot be reported", cell.cell_id)
            status = "ok" if result.exception is None else "failed"
            fault = report_wire.CellError(type="NotShown", message=f"{type(error).__name__}: {error}"[:2_000])
            report = report_wire.CellReport(cell=cell.cell_id, status=status, ms=ms, error=fault)
        if self.captured is not None:
            self.captured.drain(lambda text: self._console.write("stdout", text), self.bounds.console_bytes)
        self._console.end()
        self._emit(report)

    def _run_over(self, context: hook_context.OnFinishHookContext) -> None:
        for cell_id in self._planned:
            if cell_id not in self._reported:
                self._emit(self._not_run(cell_id, context))
        self._planned.clear()

    # ── reports ──

    def _emit(self, report: report_wire.CellReport) -> None:
        # The last place of a cell that ran twice is its own.
        self._reported.pop(report.cell, None)
        self._reported[report.cell] = None
        # The next cell's start, or the end of the run, is right behind it.
        self._host.hold(wire.CellFinished(request=self._request, report=report))

    def _report(
        self, cell: CellImpl, context: hook_context.PostExecutionHookContext, result: RunResult, ms: float
    ) -> report_wire.CellReport:
        exception = result.exception
        if exception is None and result.output is None and _is_run_interrupted():
            # An interrupt that hits marimo's own code around a cell leaves an empty result: the cell may not have run.
            return _interrupted(cell, ms)
        if exception is None or isinstance(exception, MarimoStopError):
            return report_wire.CellReport(
                cell=cell.cell_id,
                status="ok" if exception is None else "stopped",
                ms=ms,
                output=self._output(result),
                variables=self._variables(cell, context.glbls),
            )
        if isinstance(exception, MarimoInterrupt):
            return _interrupted(cell, ms)
        return report_wire.CellReport(
            cell=cell.cell_id, status="failed", ms=ms, error=faults.raised(exception, cell=cell.cell_id)
        )

    def _output(self, result: RunResult) -> report_wire.Output | None:
        value = result.output
        if value is None and result.accumulated_output:
            value = result.accumulated_output.stack()
        if value is None:
            return None
        formatted = formatting.try_format(value)
        if isinstance(formatted.exception, KeyboardInterrupt):
            raise formatted.exception
        if formatted.exception is not None:
            formatted = formatting.try_format(value, include_opinionated=False)
        return outputs.bound_output(
            formatted.mimetype,
            formatted.data,
            value,
            text_tokens=self.bounds.output_tokens,
            rich_bytes=self.bounds.output_bytes,
        )

    def _variables(self, cell: CellImpl, variables: dict[str, Any]) -> list[report_wire.Variable]:
        held = [(name, variables[name]) for name in sorted(cell.defs) if name in variables]
        return previews.preview_all(held, tokens_each=self.bounds.preview_tokens, seconds=_PREVIEW_TIMEOUT_SECONDS)

    def _not_run(self, cell_id: CellId_t, context: hook_context.OnFinishHookContext) -> report_wire.CellReport:
        for raising in context.cancelled_cells:
            if cell_id in context.cancelled_cells[raising]:
                if isinstance(context.exceptions.get(raising), MarimoStopError):
                    return report_wire.CellReport(cell=cell_id, status="stopped")
                error = report_wire.CellError(
                    type="AncestorFailed", message=f"Not run: cell {raising!r}, which it needs, failed."
                )
                return report_wire.CellReport(cell=cell_id, status="cancelled", error=error)
        if cell_id in context.cells_to_run:
            return report_wire.CellReport(cell=cell_id, status="interrupted", error=_INTERRUPTED)
        if context.graph.is_disabled(cell_id):
            return report_wire.CellReport(cell=cell_id, status="disabled")
        return report_wire.CellReport(cell=cell_id, status="stale")


def _at_once(cell: CellId_t, ran: list[str], waiting: list[CellId_t]) -> None:
    """Nobody wants to know before it runs."""


def _interrupted(cell: CellImpl, ms: float) -> report_wire.CellReport:
    return report_wire.CellReport(cell=cell.cell_id, status="interrupted", ms=ms, error=_INTERRUPTED)


def _is_run_interrupted() -> bool:
    context = safe_get_context()
    scheduler = context.active_scheduler if isinstance(context, KernelRuntimeContext) else None
    return isinstance(scheduler, SequentialScheduler) and scheduler.interrupted


_INTERRUPTED = report_wire.CellError(type="Interrupted", message="The cell was interrupted before it finished.")
