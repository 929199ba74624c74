"""A notebook run in the cage, and written with its outputs as a notebook of Jupyter."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from cellwright.app.notebooks import Files, open_notebook
from cellwright.errors import Unavailable, UserError
from cellwright.kernel.jupyter import OriginalRun, has_jupyter, run_original
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.provisioner import KernelProvisioner
from cellwright.notebook.atomic_write import write_atomically, write_new
from cellwright.notebook.document import Document
from cellwright.policy.masking.masker import Masker
from cellwright.runs.jupyter.ipynb_document import ipynb_text, jupyter_outputs, our_outputs
from cellwright.settings import Settings


async def export_ipynb(
    path: Path,
    out: Path,
    *,
    may_replace: bool,
    pool: KernelPool,
    settings: Settings,
    files: Files,
    seconds: float = 600,
    **options: Any,
) -> dict[str, Any]:
    """The notebook run from scratch and written to `out`; what came of it. Raises `UserError`.

    Its outputs are those of Jupyter's own kernel in a second cage, where that is installed; else those of ours.
    """
    if not may_replace and await anyio.Path(out).exists():
        raise _exists(out)
    files = replace(files, mode="drop")
    async with open_notebook(path, files=files, pool=pool, settings=settings, **options) as notebook:
        seen = await notebook.run("all")
        document, python = notebook.document, notebook.provisioner.python
        outputs = our_outputs(seen.cells)
        if has_jupyter():
            ran = await _run_in_jupyter(notebook.provisioner, document, python, seconds)
            outputs = jupyter_outputs(document, ran)
    # Outputs may show what no code holds.
    masker = Masker.of(salt=secrets.token_bytes(16))
    text = ipynb_text(document, {cell: _masked(shown, masker) for cell, shown in outputs.items()}, python=python)
    await anyio.to_thread.run_sync(_write, out, text, may_replace)
    failed = sum(outcome.status != "ok" for outcome in seen.cells)
    broken = [number for number, shown in enumerate(outputs.values(), start=1) if _has_error(shown)]
    return {
        "notebook": str(out),
        "cells": len(document.cells),
        "failed": failed,
        "failed_in_jupyter": broken if has_jupyter() else None,
        "ok": seen.is_ok and not broken,
    }


async def _run_in_jupyter(
    provisioner: KernelProvisioner, document: Document, python: str, seconds: float
) -> OriginalRun:
    bare = ipynb_text(document, {}, python=python)
    ran = await run_original(provisioner, document, bare, seconds=seconds, keep_outputs=True)
    if ran.end:
        raise Unavailable(f"Jupyter's kernel did not run it to its end: {ran.end[:400]}.")
    return ran


def _masked(shown: Any, masker: Masker) -> Any:
    """The same without secrets; pictures as they are."""
    if isinstance(shown, str):
        return masker.mask(shown).text
    if isinstance(shown, list):
        return [_masked(one, masker) for one in shown]
    if isinstance(shown, dict):
        return {key: one if str(key).startswith("image/p") else _masked(one, masker) for key, one in shown.items()}
    return shown


def _has_error(shown: Sequence[Mapping[str, Any]]) -> bool:
    return any(output["output_type"] == "error" for output in shown)


def _write(out: Path, text: str, may_replace: bool) -> None:
    try:
        if may_replace:
            write_atomically(out, text.encode())
        elif not write_new(out, text.encode()):
            raise _exists(out)
    except OSError as error:
        raise UserError(
            f"Could not write {str(out)!r}: {error.strerror or error}.", hint="Name another place."
        ) from error


def _exists(out: Path) -> UserError:
    return UserError(f"{str(out)!r} exists.", hint="Name another file, or let it be replaced.")
