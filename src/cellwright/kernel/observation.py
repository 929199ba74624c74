"""What a kernel reports: events while it runs, and one complete, bounded observation at the end.

Everything here was made from frames of a hostile process: every text is cut to its bound once more on this side.
`NotebookState` is what they add up to: an open notebook's cells and what became of them.
"""

from __future__ import annotations

import signal as signals
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Protocol

from cellwright.ids import CellId
from cellwright.notebook.document import Document
from cellwright.notebook.edits import EditRefused
from cellwright.notebook.prompt_summary import CellOutcomeText, OutcomeStatus
from cellwright_guest import report_wire

CellStatus = Literal["ok", "failed", "interrupted", "cancelled", "stopped", "disabled", "stale", "running", "lost"]
"""As on the wire, plus: running in an observation of detached work; lost when the kernel ended under it."""

_LINE = 2_000
_TEXT = 40_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFault:
    """Why a cell has no result."""

    type: str
    message: str
    line: int | None = None
    """1-based, inside the cell."""
    traceback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellOutput:
    """What a cell shows."""

    mimetype: str
    text: str
    """Bounded, for a model."""
    data: str = ""
    """Rich, for a person; empty when over the cap."""
    is_cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VariablePreview:
    """A typed, bounded look at one variable."""

    name: str
    kind: str
    type: str
    text: str
    picture: bytes = b""
    """PNG, for figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellOutcome:
    """One cell's part in a run."""

    id: CellId
    name: str
    status: CellStatus
    ms: float = 0.0
    error: CellFault | None = None
    console: str = ""
    output: CellOutput | None = None
    variables: tuple[VariablePreview, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelEnd:
    """How a kernel ended: the first that applies of limit, memory, signal, exit."""

    reason: str
    exit_code: int | None = None
    signal: int | None = None
    out_of_memory: bool = False
    limit: str | None = None


def kernel_end_of(exit_code: int | None, signal: int | None, *, out_of_memory: bool, limit: str | None) -> KernelEnd:
    """How a process ended, with the reason in words."""
    if out_of_memory:
        reason = "it ran out of memory"
    elif limit:
        reason = f"it went over its {limit} limit"
    elif signal:
        reason = f"it was killed by {signals.Signals(signal).name}" if 0 < signal < signals.NSIG else "it was killed"
    else:
        reason = f"it exited with code {exit_code}"
    return KernelEnd(reason=reason, exit_code=exit_code, signal=signal, out_of_memory=out_of_memory, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchMethod:
    """How a branch came by its parent's state.

    fork: it is a copy-on-write fork of the parent. carried: a fresh kernel was given the variables its cells refer to.
    replayed: a fresh kernel ran the cells they need.
    """

    kind: Literal["fork", "carried", "replayed"]
    reasons: tuple[str, ...] = ()
    """Why it is no fork."""
    steps: tuple[str, ...] = ()
    """What was done before the fork, or carried, or run again."""
    ms: float = 0.0
    """From the request until it could run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Everything one call did, in notebook order."""

    cells: tuple[CellOutcome, ...] = ()
    """Cells that ran, failed to, or were kept from running by this call."""
    stale: tuple[CellId, ...] = ()
    """Cells that must run to be current."""
    refused: EditRefused | None = None
    """Set when the edits did not apply; then nothing was changed and nothing ran."""
    kernel_end: KernelEnd | None = None
    """Set when the kernel ended during this call. The next call starts a new one and replays."""
    is_running: bool = False
    """True when the call was detached: cells still run, and `notebook.current` is the handle."""
    problem: str = ""
    """A request the kernel could not carry out at all, in words."""
    ms: float = 0.0
    method: BranchMethod | None = None
    """Set when this happened in a branch: how the branch was made."""

    @property
    def is_ok(self) -> bool:
        """True when nothing failed, was lost or was refused."""
        bad = {"failed", "interrupted", "cancelled", "lost"}
        return (
            self.refused is None
            and self.kernel_end is None
            and not self.problem
            and not any(cell.status in bad for cell in self.cells)
        )


# ── events ──


@dataclass(frozen=True, slots=True, kw_only=True)
class CellStartedEvent:
    """A cell began to run."""

    cell: CellId


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleText:
    """A cell printed."""

    cell: CellId
    stream: Literal["stdout", "stderr"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CellProgress:
    """A running cell's own progress bar moved."""

    cell: CellId
    title: str
    done: float
    total: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFinishedEvent:
    """A cell has its outcome."""

    outcome: CellOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelEnded:
    """The kernel is gone."""

    end: KernelEnd


Event = CellStartedEvent | ConsoleText | CellProgress | CellFinishedEvent | KernelEnded | Observation
"""An iteration over a call ends with its `Observation`."""


# ── from the wire ──


def outcome_of(report: report_wire.CellReport, *, name: str, console: str) -> CellOutcome:
    """A guest's report as our own value, every text within bounds."""
    return CellOutcome(
        id=CellId(report.cell),
        name=name,
        status=report.status,
        ms=round(report.ms, 3),
        error=fault_of(report.error),
        console=console,
        output=_output(report.output),
        variables=tuple(preview_of(variable) for variable in report.variables[:500]),
    )


def preview_of(variable: report_wire.Variable) -> VariablePreview:
    """A guest's preview as our own value."""
    return VariablePreview(
        name=variable.name[:_LINE],
        kind=variable.kind[:100],
        type=variable.type[:_LINE],
        text=variable.text[:_TEXT],
        picture=variable.picture
        if variable.picture.startswith(b"\x89PNG") and len(variable.picture) < 1 << 18
        else b"",
    )


def fault_of(error: report_wire.CellError | None) -> CellFault | None:
    """A guest's error as our own value."""
    if error is None:
        return None
    return CellFault(
        type=error.type[:200], message=error.message[:_TEXT], line=error.line, traceback=error.traceback[:_TEXT]
    )


def _output(output: report_wire.Output | None) -> CellOutput | None:
    if output is None:
        return None
    return CellOutput(mimetype=output.mimetype[:200], text=output.text[:_TEXT], data=output.data, is_cut=output.cut)


def outcomes_for_summary(outcomes: Mapping[CellId, CellOutcome]) -> dict[CellId, CellOutcomeText]:
    """Status, error, output and variables of each cell."""
    return {
        cell: CellOutcomeText(
            status=_status(outcome.status),
            error=f"{outcome.error.type}: {outcome.error.message}" if outcome.error else "",
            output=outcome.output.text if outcome.output else "",
            variables={variable.name: variable.text for variable in outcome.variables},
        )
        for cell, outcome in outcomes.items()
    }


def _status(status: CellStatus) -> OutcomeStatus:
    match status:
        case "lost":
            return "failed"
        case "running":
            return "stale"
        case _:
            return status


# ── what is known of an open notebook ──


@dataclass(frozen=True, kw_only=True)
class NotebookState:
    """An open notebook without its kernel: a value, so a branch or a checkpoint shares it until it has its own."""

    document: Document
    """The notebook's cells: the only authority, whoever shows or saves them."""
    outcomes: Mapping[CellId, CellOutcome] = field(default_factory=dict[CellId, CellOutcome])
    reported_stale: frozenset[CellId] = frozenset()
    """What the kernel last reported as stale."""
    drafts: frozenset[CellId] = frozenset()
    """Cells whose text was typed and not run yet; the kernel goes on with what it has of them."""

    def name_of(self, cell: CellId) -> str:
        """A cell's name, or its id when nobody named it."""
        return self._names.get(cell, cell)

    def with_outcomes(self, outcomes: Iterable[CellOutcome]) -> NotebookState:
        """These cells have run. What was typed meanwhile has not: its old code's outcome is not its own."""
        new = {outcome.id: outcome for outcome in outcomes if outcome.id not in self.drafts}
        return replace(self, outcomes={**self.outcomes, **new})

    @cached_property
    def _names(self) -> dict[CellId, str]:
        # Asked for each cell that runs: a search through all cells each time would be quadratic.
        return {cell.id: cell.name for cell in self.document.cells if cell.name not in ("", "_")}


class StateOwner(Protocol):
    """Whoever has a notebook's state, and replaces it."""

    @property
    def state(self) -> NotebookState:
        """As it is now."""

    @state.setter
    def state(self, state: NotebookState) -> None: ...
