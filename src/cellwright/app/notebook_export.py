"""A notebook run in the cage, and written with its outputs as a notebook of Jupyter."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio.to_thread

from cellwright.app.notebooks import Files, open_notebook
from cellwright.errors import UserError
from cellwright.kernel.pool import KernelPool
from cellwright.notebook.atomic_write import write_atomically, write_new
from cellwright.policy.masking.masker import Masker
from cellwright.runs.jupyter.ipynb_document import ipynb_text
from cellwright.settings import Settings


async def export_ipynb(
    path: Path, out: Path, *, may_replace: bool, pool: KernelPool, settings: Settings, files: Files, **options: Any
) -> dict[str, Any]:
    """The notebook run from scratch and written to `out`; what came of it. Raises `UserError`."""
    if out.exists() and not may_replace:
        raise _exists(out)
    async with open_notebook(
        path, files=replace(files, mode="drop"), pool=pool, settings=settings, **options
    ) as notebook:
        seen = await notebook.run("all")
        python = notebook.provisioner.python
        document = notebook.document
    text = ipynb_text(document, {outcome.id: outcome for outcome in seen.cells}, python=python)
    # Outputs may show what no code holds.
    masked = Masker.of(salt=secrets.token_bytes(16)).mask(text).text
    await anyio.to_thread.run_sync(_write, out, masked, may_replace)
    failed = sum(outcome.status != "ok" for outcome in seen.cells)
    return {"notebook": str(out), "cells": len(document.cells), "failed": failed, "ok": seen.is_ok}


def _write(out: Path, text: str, may_replace: bool) -> None:  # noqa: FBT001
    try:
        if may_replace:
            write_atomically(out, text.encode())
        elif not write_new(out, text.encode()):
            raise _exists(out)
    except OSError as error:
        raise UserError(f"Could not write {str(out)!r}: {error.strerror or error}.", hint="Name another place.") from error


def _exists(out: Path) -> UserError:
    return UserError(f"{str(out)!r} exists.", hint="Name another file with -o, or say --replace.")
