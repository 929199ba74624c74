"""What kind of failure it was, told from what a notebook or a tool answered. Pure and total.

Everything read here was written by code, files and pages: `message`, `subjects` and `evidence` are data. Whoever shows
them to a model fences them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, assert_never

from cellwright.agents.repair.failure_rules import FailureKind, judge
from cellwright.ids import CellId
from cellwright.notebook.document import Document
from cellwright.notebook.marimo_graph import graph
from cellwright.tools.tool import Done, Refusal, ToolError, ToolResult

_MESSAGE: Final = 2_000
_SHARED: Final = frozenset({"multiple-definition", "cycle"})
"""One mistake, told by every cell that takes part in it."""
_MAY_FLICKER: Final = frozenset({"type-shape", "failed-check", "time-out", "kernel-lost", "flaky", "unknown"})
"""Others pass for a reason: a package was installed, a file written, a host approved."""
_KERNEL_ENDED: Final = re.compile(r"The kernel ended: (?P<reason>.*?)\.(?: The next call.*)?$", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedFailure:
    """One thing that did not work."""

    kind: FailureKind
    message: str
    """As it was told, within bounds."""
    cell: CellId | None = None
    """The cell that failed of itself; None where no cell is to blame."""
    subjects: tuple[str, ...] = ()
    """What it is about: the names, package, paths, columns or host."""
    evidence: tuple[str, ...] = ()
    """What the error itself offers: names that do exist, the other cells of a cycle."""
    error_type: str = ""
    line: int | None = None
    lineage: str = ""
    """Names the code of the cell and of all it depends on, where the document was known."""

    @property
    def subject(self) -> str:
        """The first thing it is about, or nothing."""
        return self.subjects[0] if self.subjects else ""

    @property
    def essence(self) -> tuple[str, ...]:
        """Equal for failures that are the same again: numbers, addresses and the cell do not count."""
        return (self.kind, self.error_type, *self.subjects, normalised(self.message))


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPass:
    """A cell that ran well."""

    cell: CellId
    lineage: str = ""


CellAttempt = ObservedFailure | ObservedPass
"""What history remembers of one cell in one call."""


def attempts(result: ToolResult, *, document: Document | None = None) -> tuple[CellAttempt, ...]:
    """Everything that failed of itself, and the cells that ran well, in notebook order."""
    found = _without_repeats(_attempts(result))
    return tuple(_with_lineage(found, document)) if document is not None else tuple(found)


def find_flickering(history: Sequence[CellAttempt], now: Sequence[CellAttempt]) -> tuple[ObservedFailure, ...]:
    """Failures that went away though neither their cell nor anything it depends on was changed."""
    passed = {
        (attempt.cell, attempt.lineage) for attempt in now if isinstance(attempt, ObservedPass) and attempt.lineage
    }
    last = {attempt.cell: attempt for attempt in history}
    return tuple(
        replace(failure, kind="flaky")
        for failure in last.values()
        if isinstance(failure, ObservedFailure)
        and failure.kind in _MAY_FLICKER
        and (failure.cell, failure.lineage) in passed
    )


def normalised(message: str) -> str:
    """A message without what differs from one time to the next."""
    first = re.split(r"\n(?:caused by|while handling) ", message, maxsplit=1)[0]
    plain = re.sub(r"0x[0-9a-fA-F]+|\d+(?:[.,]\d+)*", "#", first)
    return " ".join(plain.split()).casefold()[:500]


# ── sources ──


def _attempts(result: ToolResult) -> Iterator[CellAttempt]:
    match result:
        case Done(value=value):
            yield from _in_json(value)
        case Refusal(feedback=feedback):
            yield ObservedFailure(kind="refused", message=feedback[:_MESSAGE], error_type="Refusal")
        case ToolError(kind=kind, message=message, hint=hint):
            yield _judged("ToolError", f"{message} {hint}".rstrip(), tool_error=kind)
        case _:
            assert_never(result)


def _in_json(value: Any) -> Iterator[CellAttempt]:
    """What `apply`, `run` and `undo` answer to programs, and the journal keeps."""
    match value:
        case {"ok": bool(), "cells": list(cells), "problem": str(problem)}:
            pass
        case _:
            return
    outcomes: list[Any] = cells  # JSON
    is_blamed = False
    for outcome in outcomes:
        match outcome:
            case {"cell": str(cell), "status": "ok"}:
                yield ObservedPass(cell=CellId(cell))
            # `cancelled` cells only need one that failed of itself.
            case {"cell": str(cell), "status": "failed" | "interrupted" | "lost" as status, **rest}:
                is_blamed |= status == "lost"
                yield _of_cell(CellId(cell), str(status), *_error_json(rest.get("error")))
            case _:
                pass
    if problem and not is_blamed:
        ended = _KERNEL_ENDED.match(problem)
        yield _judged("KernelEnded", ended["reason"]) if ended is not None else _judged("Problem", problem)


def _error_json(error: Any) -> tuple[str, str, int | None]:
    match error:
        case {"type": str(kind), "message": str(message), **rest}:
            line: object = rest.get("line")
            return kind, message, line if isinstance(line, int) else None
        case _:
            return "", "", None


def _of_cell(cell: CellId, status: str, error_type: str, message: str, line: int | None) -> ObservedFailure:
    ended = _KERNEL_ENDED.match(message)
    if status == "interrupted" and error_type != "DeadlineReached":
        error_type = "Interrupted"
    elif error_type == "KernelEnded" and ended is not None:
        message = ended["reason"]
    elif status == "lost" and not error_type:
        error_type = "KernelEnded"
    return replace(_judged(error_type, message), cell=cell, line=line)


def _judged(error_type: str, message: str, *, tool_error: str = "") -> ObservedFailure:
    kind, subjects, evidence = judge(error_type, message, tool_error=tool_error)
    return ObservedFailure(
        kind=kind, message=message[:_MESSAGE], subjects=subjects, evidence=evidence, error_type=tool_error or error_type
    )


# ── together ──


def _without_repeats(found: Iterator[CellAttempt]) -> Iterator[CellAttempt]:
    """Without the second telling of a mistake that several cells share."""
    seen = set[tuple[str, ...]]()
    for attempt in found:
        if isinstance(attempt, ObservedFailure) and attempt.error_type in _SHARED:
            key = (attempt.error_type, *sorted(attempt.subjects))
            if key in seen:
                continue
            seen.add(key)
        yield attempt


def _with_lineage(found: Iterator[CellAttempt], document: Document) -> Iterator[CellAttempt]:
    known: Mapping[CellId, str] = {}
    for attempt in found:
        if attempt.cell is None:
            yield attempt
            continue
        known = known or cell_lineages(document)
        yield replace(attempt, lineage=known.get(attempt.cell, ""))


def cell_lineages(document: Document) -> dict[CellId, str]:
    """Of each cell, a name for its code and the code of everything it depends on."""
    codes = {cell.id: cell.code for cell in document.cells}
    nodes = graph(document)
    return {
        cell: hashlib.sha256(
            "\0".join(codes[each] for each in nodes.in_order(nodes.ancestors([cell]))).encode("utf-8", "replace")
        ).hexdigest()[:16]
        for cell in codes
    }
