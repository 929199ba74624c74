"""What the programs for Jupyter notebooks answer: plain values that cross the wall as JSON, and strangers' texts."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

MOST_CELLS: Final = 2_000
MOST_TEXT: Final = 40_000
"""Characters of printed text or of an output that are told of one cell."""

CellKind = Literal["code", "markdown", "raw"]


class JupyterCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell as the file has it."""

    number: int
    """From 1, counting every cell."""
    kind: CellKind
    source: str
    count: int | None = None
    """When it was executed last, as the file says."""


class ConvertedCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of the new notebook."""

    sources: tuple[int, ...]
    """The cells it stands for; more than one where they were joined. Empty: it was added."""
    code: str
    probe: str
    """The same, with what it shows passed through `cellwright_shown` on its way."""
    is_text: bool = False
    defines: tuple[tuple[str, str], ...] = ()
    """What the cells it stands for called a variable, and what it is called here; empty if nobody else sees it here."""
    notes: tuple[str, ...] = ()
    """What was mended, in words."""
    refused: tuple[str, ...] = ()
    """What has no equivalent and was left out."""


class NotebookConversion(msgspec.Struct, frozen=True, kw_only=True):
    """A notebook converted."""

    cells: tuple[ConvertedCell, ...] = ()
    language: str = "python"
    requirements: tuple[str, ...] = ()
    """What its pip cells install."""
    order: tuple[int, ...] = ()
    """Cells by number, as they were executed last, where that is not from top to bottom."""
    problem: str = ""
    """Why it cannot be converted at all."""


class ShownValue(msgspec.Struct, frozen=True, kw_only=True):
    """A value, told so that two kernels tell the same of the same."""

    kind: str
    """`picture`, `opaque` and `code` say nothing but that it is there."""
    digest: str = ""


class JupyterOutput(msgspec.Struct, frozen=True, kw_only=True):
    """An output as a notebook of Jupyter keeps it."""

    kind: Literal["stream", "display_data", "execute_result", "error"]
    name: str = ""
    """Of a stream, or of an error's type."""
    text: str = ""
    """What was printed, or an error's message."""
    data: dict[str, Any] = {}
    """By MIME type."""
    traceback: tuple[str, ...] = ()


class OriginalCell(msgspec.Struct, frozen=True, kw_only=True):
    """What one cell did where Jupyter ran it."""

    number: int
    status: Literal["ok", "failed", "lost"]
    printed: str = ""
    error: str = ""
    """Its type and message."""
    shown: tuple[ShownValue, ...] = ()
    pictures: int = 0
    outputs: tuple[JupyterOutput, ...] = ()
    """Only where they were asked for."""


class OriginalRun(msgspec.Struct, frozen=True, kw_only=True):
    """What all cells did."""

    cells: tuple[OriginalCell, ...] = ()
    variables: dict[str, ShownValue] = {}
    kernel: str = ""
    end: str = ""
    """Why the kernel is gone, if it went by itself."""
