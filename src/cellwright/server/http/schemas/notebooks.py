"""Notebooks, their cells and their kernels, as they go over HTTP."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from cellwright.kernel.observation import CellStatus
from cellwright.server.http.schemas.model import PlainText, RequestModel, ResponseModel

KernelState = Literal["running", "idle"]


class KernelShape(ResponseModel):
    """The process that runs a notebook's cells, with all it started."""

    pid: int
    memory_mb: float
    cpu_seconds: float
    state: KernelState


class NotebookCommon(ResponseModel):
    """What a line and a detail have in common."""

    id: str
    """A run's id where a run has it open."""
    path: str
    """Relative to the folder that is served, where it lies inside; else absolute."""
    run: str | None
    is_live: bool


class NotebookLine(NotebookCommon):
    """One notebook of many."""

    cells: int
    kernel: KernelShape | None


class Notebooks(ResponseModel):
    """Those that are open, then those that lie in the folder."""

    notebooks: list[NotebookLine]


class Place(RequestModel):
    """Which notebook."""

    path: PlainText
    """Of a marimo notebook, relative to the folder that is served."""


class NotebookName(ResponseModel):
    """Which notebook that is from now on."""

    id: str


class Output(ResponseModel):
    """What a cell shows, as bounded text."""

    mimetype: str
    text: str


class CellShape(ResponseModel):
    """One cell, as it stands."""

    id: str
    name: str
    code: str
    version: int
    status: CellStatus | Literal["new"]
    """new: it has not run yet."""
    ms: float | None
    error: str | None
    """Of which type, and what it says."""
    error_line: int | None
    """1-based, inside the cell."""
    traceback: str
    output: Output | None
    console: str
    is_stale: bool
    defines: list[str]
    refers: list[str]


class NotebookDetail(NotebookCommon):
    """A whole notebook."""

    version: int
    """Another one whenever a cell is another one, or stands elsewhere."""
    cells: list[CellShape]


class VariableShape(ResponseModel):
    """A bounded look at one variable."""

    name: str
    kind: str
    type: str
    text: str


class Variables(ResponseModel):
    """What the cells have defined."""

    variables: list[VariableShape]
    is_fresh: bool
    """False: a cell runs, and these are as the cells before it left them."""


class WhatToRun(RequestModel):
    """Which cells to run; what depends on them runs too."""

    cells: Literal["all", "stale"] | list[PlainText] = Field(default="stale", max_length=10_000)
    wait_seconds: float = Field(default=0, ge=0, le=30)
    """How long to wait for the end before answering; the cells go on."""


class CellOutcomeShape(ResponseModel):
    """How one cell's run stands."""

    cell: str
    name: str
    status: CellStatus
    ms: float
    error: str | None


class Ran(ResponseModel):
    """What came of it so far."""

    is_running: bool
    """True: cells still run; the notebook's events tell the rest."""
    cells: list[CellOutcomeShape]
    stale: list[str]
    problem: str
    """Why nothing could run, or how the kernel ended."""


class Noted(ResponseModel):
    """Done, and what to say about it."""

    id: str
    note: str


class EditorAddress(ResponseModel):
    """Where the editor is for whoever asked; it opens once."""

    url: str
