"""One notebook run from top to bottom, or edited: what came of it as plain values, for a terminal or over the wire."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from cellwright.app.notebooks import open_notebook
from cellwright.errors import Unavailable
from cellwright.kernel.observation import CellFinishedEvent, CellOutcome, Event, Observation
from cellwright.kernel.process.call import Call
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edit_json import parse_edits
from cellwright.notebook.files import SaveConflict
from cellwright.sandbox.host.file_changes import FileChange

NotebookResult = dict[str, Any]
"""Cells, kernel, sandbox and files, as `--json` shows them; only the hint of `held_back` is still a `Hint`."""
OnCell = Callable[[dict[str, Any]], Awaitable[None]]
"""Told of each cell as it ends."""


async def run_notebook(path: Path, on_cell: OnCell, *edits: object, **options: Any) -> NotebookResult:
    """What came of all cells; with edits, of what those affect, and of saving them. Options of `open_notebook`."""
    saving: dict[str, Any] = {}
    async with open_notebook(path, **options) as notebook:
        call = notebook.apply(parse_edits(edits[0], notebook.document)) if edits else notebook.run("all")
        observation = await _followed(call, on_cell)
        if edits:
            refused = refusal_view(observation, await notebook.save() if observation.refused is None else None)
            saving = {"refused": refused, "saved": refused is None}
        result = _result(notebook, observation)
        changes = await _changes_not_kept(notebook, observation)
    return {**result, "files": _settled(notebook, changes), "held_back": _held_back(notebook), **saving}


async def _followed(call: Call, on_cell: OnCell) -> Observation:
    last: Event | None = None
    async for last in call:
        if isinstance(last, CellFinishedEvent):
            await on_cell(cell_view(last.outcome))
    assert isinstance(last, Observation)
    return last


def _result(notebook: OpenNotebook, observation: Observation) -> dict[str, Any]:
    kernel = notebook.live.kernel
    end = observation.kernel_end
    return {
        "cells": [cell_view(outcome) for outcome in observation.cells],
        "stale": list(observation.stale),
        "kernel_end": dataclasses.asdict(end) if end is not None else None,
        "problem": observation.problem,
        "sandbox": {
            "tier": notebook.provisioner.options.tier,
            "limits": notebook.provisioner.options.limits.as_dict(),
            "hidden": list(notebook.provisioner.hidden),
            "left_out": list(notebook.provisioner.left_out),
            "volumes": list(notebook.provisioner.volumes.all),
            "is_copied": notebook.provisioner.is_copied,
        },
        "python": notebook.provisioner.python,
        "kernel_ready_ms": round(kernel.ready_ms, 1) if kernel is not None else None,
        "ok": observation.is_ok,
    }


def cell_view(outcome: CellOutcome) -> dict[str, Any]:
    """What became of a cell, as plain JSON values."""
    return {
        "id": outcome.id,
        "name": outcome.name,
        "status": outcome.status,
        "error": dataclasses.asdict(outcome.error) if outcome.error else None,
        "console": outcome.console,
        "output": {"mimetype": outcome.output.mimetype, "text": outcome.output.text} if outcome.output else None,
        "ms": outcome.ms,
    }


async def _changes_not_kept(notebook: OpenNotebook, observation: Observation) -> tuple[FileChange, ...]:
    """What will be forgotten when the notebook closes; what is kept is listed then, with progress.

    None where the cage went with its kernel: why that ended stands in the result, and is what counts.
    """
    if notebook.provisioner.options.files == "keep":
        return ()
    try:
        return await notebook.changed_files()
    except Unavailable:
        if observation.kernel_end is None:
            raise
        return ()


def _settled(notebook: OpenNotebook, changes: tuple[FileChange, ...]) -> list[dict[str, Any]]:
    refused = {path: reason for report in notebook.kept for path, reason in report.refused}
    none = "held back" if _held_back(notebook) is not None else None
    kept = {path for report in notebook.kept for path in report.kept}
    return [
        {
            "path": change.path,
            "kind": change.kind,
            "bytes": change.bytes,
            "kept": change.path in kept or notebook.provisioner.options.files == "direct",
            "reason": refused.get(change.path, none),
        }
        for change in (*changes, *(change for report in notebook.kept[-1:] for change in report.changes))
    ]


def _held_back(notebook: OpenNotebook) -> dict[str, Any] | None:
    held_back = notebook.kept[-1].held_back if notebook.kept else None
    return None if held_back is None else dataclasses.asdict(held_back) | {"hint": held_back.hint}


def refusal_view(observation: Observation, conflict: SaveConflict | None = None) -> dict[str, Any] | None:
    """Why edits were not made, with both texts; None if they were."""
    if observation.refused is not None:
        refused = observation.refused
        current = refused.current.code if refused.current is not None else None
        return {"reason": refused.reason, "edit": refused.index, "message": refused.message,
                "current": current, "wanted": refused.wanted}  # fmt: skip
    if conflict is not None:
        message = "The file changed on disk since it was read; it was not overwritten."
        return {"reason": "changed-on-disk", "message": message,
                "current": conflict.disk_text, "wanted": conflict.our_text}  # fmt: skip
    return None
