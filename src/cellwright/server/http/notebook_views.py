"""Open notebooks as they go over HTTP: whatever code has written passes the masker first."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, assert_never

from cellwright.ids import CellId
from cellwright.kernel.observation import (
    CellFault,
    CellFinishedEvent,
    CellOutcome,
    CellProgress,
    CellStartedEvent,
    ConsoleText,
    Event,
    KernelEnded,
    Observation,
    VariablePreview,
)
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.dataflow import Graph, Node
from cellwright.notebook.document import Cell, Document
from cellwright.notebook.marimo_graph import graph
from cellwright.policy.masking.masker import Masker
from cellwright.server.http.schemas.notebooks import (
    CellOutcomeShape,
    CellShape,
    Output,
    Ran,
    VariableShape,
)

Outcomes = Mapping[CellId, CellOutcome]
_FRESH: Final = frozenset({"ok", "stopped"})


def shown_path(path: Path, folder: Path) -> str:
    """As a person in this folder would write it."""
    for root in (folder, folder.resolve()):
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return str(path)


def version_of(document: Document) -> int:
    """A number for these cells in this order: another one if a cell changed, came, went or moved."""
    return zlib.crc32("\n".join(f"{cell.id} {cell.version} {cell.name}" for cell in document.cells).encode())


def live_outcomes(notebook: OpenNotebook) -> dict[CellId, CellOutcome]:
    """How each cell ended last, or stands in what runs now."""
    current = notebook.current
    now = () if current is None else current.snapshot(is_running=True).cells
    return dict(notebook.outcomes) | {outcome.id: outcome for outcome in now}


def cell_shapes(document: Document, outcomes: Outcomes, masker: Masker) -> list[CellShape]:
    """Every cell as it stands. Compiles what was not compiled before: blocking."""
    drawn = graph(document)
    stale = _stale(drawn, outcomes)
    return [
        _cell(cell, drawn.nodes[cell.id], outcomes.get(cell.id), masker, cell.id in stale) for cell in document.cells
    ]


def _stale(drawn: Graph, outcomes: Outcomes) -> set[CellId]:
    """What has not run well, and what depends on such a cell."""
    stale = set(drawn.nodes) - set(drawn.order)
    for cell in drawn.order:
        outcome = outcomes.get(cell)
        if outcome is None or outcome.status not in _FRESH or not stale.isdisjoint(drawn.nodes[cell].parents):
            stale.add(cell)
    return stale


def _cell(cell: Cell, node: Node, outcome: CellOutcome | None, masker: Masker, is_stale: bool) -> CellShape:
    error, output = None if outcome is None else outcome.error, None
    if outcome is not None and outcome.output is not None:
        output = Output(mimetype=outcome.output.mimetype, text=_masked(masker, outcome.output.text))
    return CellShape(
        id=cell.id,
        name=cell.name,
        code=_masked(masker, cell.code),
        version=cell.version,
        status="new" if outcome is None else outcome.status,
        ms=None if outcome is None else outcome.ms,
        error=_error(masker, error),
        error_line=None if error is None else error.line,
        traceback="" if error is None else _masked(masker, error.traceback),
        output=output,
        console="" if outcome is None else _masked(masker, outcome.console),
        is_stale=is_stale,
        defines=sorted(node.defs),
        refers=sorted(node.refs),
    )


def _error(masker: Masker, error: CellFault | None) -> str | None:
    return None if error is None else _masked(masker, f"{error.type}: {error.message}")


def _masked(masker: Masker, text: str) -> str:
    # A lone surrogate, which code may well print, has no place in JSON.
    return masker.mask(text.encode(errors="replace").decode()).text if text else ""


# ── what came of a call, and what is asked meanwhile ──


def ran(observation: Observation, masker: Masker) -> Ran:
    """What came of running cells."""
    problem = observation.problem
    if observation.kernel_end is not None:
        problem = f"The kernel ended: {observation.kernel_end.reason}."
    return Ran(
        is_running=observation.is_running,
        cells=[_outcome(outcome, masker) for outcome in observation.cells],
        stale=[*observation.stale],
        problem=_masked(masker, problem),
    )


def _outcome(outcome: CellOutcome, masker: Masker) -> CellOutcomeShape:
    return CellOutcomeShape(
        cell=outcome.id,
        name=outcome.name,
        status=outcome.status,
        ms=outcome.ms,
        error=_error(masker, outcome.error),
    )


def variables(previews: Iterable[VariablePreview], masker: Masker) -> list[VariableShape]:
    """Previews, by name."""
    return [
        VariableShape(name=each.name, kind=each.kind, type=each.type, text=_masked(masker, each.text))
        for each in sorted(previews, key=lambda preview: preview.name)
    ]


def event_shape(event: Event, masker: Masker) -> tuple[str, dict[str, Any]]:
    """The name of an event and what it tells, for a stream."""
    match event:
        case CellStartedEvent(cell=cell):
            return "started", {"cell": cell}
        case ConsoleText(cell=cell, stream=stream, text=text):
            return "console", {"cell": cell, "stream": stream, "text": _masked(masker, text)}
        case CellProgress(cell=cell, title=title, done=done, total=total):
            return "progress", {"cell": cell, "title": _masked(masker, title), "done": done, "total": total}
        case CellFinishedEvent(outcome=outcome):
            return "finished", _outcome(outcome, masker).model_dump()
        case KernelEnded(end=end):
            return "ended", {"reason": end.reason}
        case Observation():
            return "ran", ran(event, masker).model_dump()
        case _:
            assert_never(event)
