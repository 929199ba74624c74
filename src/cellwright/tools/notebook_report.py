"""What a call did to a notebook, told to a model: what failed and why first, then what there is now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cellwright.journal import Json
from cellwright.kernel import CellOutcome, Observation, OpenNotebook
from cellwright.notebook import EditRefused, clip
from cellwright.tools.tool import ToolError

_CONSOLE_TOKENS: Final = 400
_OUTPUT_TOKENS: Final = 600
_TRACEBACK_TOKENS: Final = 400
_CODE_TOKENS: Final = 800
_WORRYING: Final = frozenset({"failed", "interrupted", "cancelled", "lost"})


def observation_text(observation: Observation, notebook: OpenNotebook) -> str:
    """The observation as a model reads it; failed cells come first."""
    worrying = [cell for cell in observation.cells if cell.status in _WORRYING]
    others = [cell for cell in observation.cells if cell.status not in _WORRYING]
    return "\n".join([*_head(observation), *(cell_text(cell, notebook) for cell in [*worrying, *others])])


def cell_text(outcome: CellOutcome, notebook: OpenNotebook) -> str:
    """One cell's outcome as a model reads it."""
    cell = notebook.document.find(outcome.id)
    version = f" v{cell.version}" if cell is not None else ""
    name = outcome.id if outcome.name in (outcome.id, "", "_") else f"{outcome.name} ({outcome.id})"
    return "\n".join([f"[{name}{version}] {outcome.status} {outcome.ms:.0f} ms", *_details(outcome)])


def observation_json(observation: Observation) -> dict[str, Json]:
    """The observation for programs."""
    return {
        "ok": observation.is_ok,
        "cells": [outcome_json(cell) for cell in observation.cells],
        "stale": list(observation.stale),
        "problem": _problem(observation),
    }


def outcome_json(outcome: CellOutcome) -> Json:
    """One cell's outcome for programs."""
    fault = outcome.error
    return {
        "cell": outcome.id,
        "name": outcome.name,
        "status": outcome.status,
        "error": None if fault is None else {"type": fault.type, "message": fault.message, "line": fault.line},
        "output": outcome.output.text if outcome.output else None,
        "console": outcome.console,
        "variables": {variable.name: variable.text for variable in outcome.variables},
    }


def refused_edit(refused: EditRefused) -> ToolError:
    """Why edits were not made; a stale one with the text that is there now."""
    message = f"Nothing was changed. Edit {refused.index + 1}: {refused.message}"
    if refused.reason != "stale" or refused.current is None:
        return ToolError(kind="bad-arguments", message=message)
    current = refused.current
    return ToolError(
        kind="conflict",
        message=f"{message}\nNow (version {current.version}):\n{clip(current.code, _CODE_TOKENS)}",
        hint="Base your edit on this text, and keep what somebody else wrote.",
        is_untrusted=True,
    )


def _head(observation: Observation) -> Iterator[str]:
    problem = _problem(observation)
    if problem:
        yield problem
    if observation.is_running:
        yield "Cells still run."
    if observation.stale:
        yield f"Stale, to be run: {', '.join(observation.stale)}."
    if not observation.cells and not problem:
        yield "No cell ran."


def _problem(observation: Observation) -> str:
    if observation.kernel_end is not None:
        return f"The kernel ended: {observation.kernel_end.reason}. The next call starts another and runs what had run."
    return observation.problem


def _details(outcome: CellOutcome) -> Iterator[str]:
    if outcome.error is not None:
        line = f" (line {outcome.error.line})" if outcome.error.line else ""
        yield f"  {outcome.error.type}{line}: {clip(outcome.error.message, _OUTPUT_TOKENS)}"
        if outcome.error.traceback:
            yield _block("traceback", outcome.error.traceback, _TRACEBACK_TOKENS)
    if outcome.console:
        yield _block("printed", outcome.console, _CONSOLE_TOKENS)
    if outcome.output is not None and outcome.output.text:
        yield _block("output", outcome.output.text, _OUTPUT_TOKENS)
    for variable in outcome.variables:
        yield _block(f"{variable.name}: {variable.type}", variable.text, _OUTPUT_TOKENS)


def _block(title: str, text: str, tokens: int) -> str:
    shown = clip(text.rstrip(), tokens)
    if "\n" not in shown:
        return f"  {title} = {shown}" if title not in {"printed", "traceback"} else f"  {title}: {shown}"
    return f"  {title}:\n" + "\n".join(f"    {line}" for line in shown.splitlines())
