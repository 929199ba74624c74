"""What messages say of cells, values and functions. Shared with the host, msgspec only."""

from __future__ import annotations

from typing import Literal

import msgspec

Status = Literal["ok", "failed", "interrupted", "cancelled", "stopped", "disabled", "stale"]
"""ok: ran. failed: raised or could not be compiled. cancelled: an ancestor failed. stopped: an ancestor called
`mo.stop`. disabled: the cell or an ancestor is switched off. stale: must run to be current, and was not asked to."""


class CellError(msgspec.Struct, frozen=True, kw_only=True):
    """Why a cell has no result."""

    type: str
    """The exception's class, or marimo's name for a structural error (`cycle`, `multiple-definition`, `syntax` …)."""
    message: str
    line: int | None = None
    """1-based line inside the cell."""
    traceback: str = ""
    """Short: only the frames in cells, and the last one below them."""


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """What a cell shows: bounded text for a model, and the rich form for a person."""

    mimetype: str
    text: str
    data: str = ""
    """As marimo's frontend draws it; empty when it was over the cap."""
    cut: bool = False
    """True when text or data was shortened."""


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """A typed, bounded look at one value. Costs the same for 10 MB and 1 GB."""

    name: str
    kind: str
    """dataframe, series, array, dict, list, text, number, model, figure, function, module, ui, object …"""
    type: str
    """Qualified class name, `pandas.DataFrame`."""
    text: str
    picture: bytes = b""
    """A small PNG for figures."""


class CellReport(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about one cell's part in a run."""

    cell: str
    status: Status
    ms: float = 0.0
    error: CellError | None = None
    output: Output | None = None
    variables: list[Variable] = []


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """A value for a caller: a look at it, and the whole as JSON if it is plain and small."""

    variable: Variable
    json: bytes = b""
    """Empty: it is no JSON, or too much of it."""


class FunctionSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One function marked with `@cellwright.tool`."""

    name: str
    cell: str
    description: str = ""
    parameters: bytes = b""
    """JSON schema of its arguments."""
    problem: str = ""
    """Why it cannot be called."""
