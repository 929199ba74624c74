"""What a cell showed before an editor came: marimo's notification, made from the outcome that we kept."""

from __future__ import annotations

import html
from typing import Final, assert_never, cast

from marimo._ast.cell import RuntimeStateType
from marimo._messaging.cell_output import CellOutput
from marimo._messaging.errors import Error, MarimoExceptionRaisedError, MarimoInterruptionError, MarimoSyntaxError
from marimo._messaging.mimetypes import KnownMimeType
from marimo._messaging.notification import CellNotification
from marimo._types.ids import CellId_t

from cellwright.kernel import CellOutcome
from cellwright.kernel.observation import CellStatus

_CUT: Final = "\n… too large to be shown whole; run the cell to see it."


def notification_of(outcome: CellOutcome) -> CellNotification:
    """How this cell looks, whole: output, console and status."""
    console = [CellOutput.stdout(outcome.console)] if outcome.console else []
    return CellNotification(
        cell_id=CellId_t(outcome.id),
        output=_output(outcome),
        console=console,
        status=_status(outcome.status),
        stale_inputs=outcome.status == "stale",
    )


def blank(cell: str) -> CellNotification:
    """A cell that has not run."""
    return CellNotification(
        cell_id=CellId_t(cell), output=CellOutput.empty(), console=[], status="idle", stale_inputs=False
    )


def _status(status: CellStatus) -> RuntimeStateType:
    match status:
        case "ok" | "failed" | "interrupted" | "cancelled" | "stopped" | "stale" | "lost":
            return "idle"
        case "running":
            return "running"
        case "disabled":
            return "disabled-transitively"
        case _:
            assert_never(status)


def _output(outcome: CellOutcome) -> CellOutput:
    if outcome.error is not None:
        return CellOutput.errors([_error(outcome)])
    output = outcome.output
    if output is None:
        return CellOutput.empty()
    if not output.data and output.text:
        text = f"<pre class='text-xs'>{html.escape(output.text + _CUT)}</pre>"
        return _shown("text/html", text)
    return _shown(cast("KnownMimeType", output.mimetype), output.data)


def _shown(mimetype: KnownMimeType, data: str) -> CellOutput:
    shown = CellOutput.empty()
    shown.mimetype, shown.data = mimetype, data
    return shown


def _error(outcome: CellOutcome) -> Error:
    assert outcome.error is not None
    if outcome.status == "interrupted":
        return MarimoInterruptionError()
    if outcome.error.type == "syntax":
        return MarimoSyntaxError(msg=outcome.error.message, lineno=outcome.error.line)
    return MarimoExceptionRaisedError(
        msg=outcome.error.message, exception_type=outcome.error.type, raising_cell=None, traceback=None
    )
