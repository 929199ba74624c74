"""Importing and exporting notebooks for the command line: loaded once a zygote has been begun."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from cellwright.app.notebook_export import export_ipynb
from cellwright.app.notebook_import import ImportedNotebook, ImportOptions, default_out, import_notebook, import_view
from cellwright.app.notebooks import open_pool
from cellwright.cli.notebook_options import NotebookOptions
from cellwright.cli.render import console
from cellwright.kernel.process.zygote_process import ZygoteProcess
from cellwright.settings import Settings


def import_here(
    file: Path,
    out: Path | None,
    options: NotebookOptions,
    begun: ZygoteProcess,
    *,
    may_replace: bool,
    seconds: float,
    packages: Sequence[str] = (),
) -> dict[str, Any]:
    """What came of an import."""

    async def imported() -> ImportedNotebook:
        settings = Settings.read()
        chosen = ImportOptions(
            out=out or default_out(file), may_replace=may_replace, seconds=seconds, packages=tuple(packages), **options
        )
        async with open_pool(settings, begun) as pool:
            return await import_notebook(file, chosen, pool=pool, settings=settings, on_progress=console.note)

    return import_view(anyio.run(imported))


def export_here(
    file: Path, out: Path | None, options: NotebookOptions, begun: ZygoteProcess, *, may_replace: bool
) -> dict[str, Any]:
    """What came of an export."""

    async def exported() -> dict[str, Any]:
        settings = Settings.read()
        async with open_pool(settings, begun) as pool:
            return await export_ipynb(
                file, out or file.with_suffix(".ipynb"), may_replace=may_replace, pool=pool, settings=settings,
                on_progress=console.note, **options,
            )  # fmt: skip

    return anyio.run(exported)
