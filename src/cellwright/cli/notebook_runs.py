"""Running and showing a notebook for the command line: loaded once a zygote has been begun."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from cellwright.app.notebook_runs import NotebookResult, run_notebook
from cellwright.app.notebooks import contained, open_pool
from cellwright.cli.notebook_options import NotebookOptions
from cellwright.cli.render import console
from cellwright.kernel.process.zygote_process import ZygoteProcess
from cellwright.notebook.dataflow import Graph
from cellwright.notebook.document import Document
from cellwright.notebook.files import read
from cellwright.notebook.marimo_graph import graph
from cellwright.notebook.prompt_summary import summary
from cellwright.sandbox.host.file_changes import UnkeptChanges
from cellwright.sandbox.host.tiers import probe
from cellwright.settings import Settings


def run_here(
    path: Path, options: NotebookOptions, begun: ZygoteProcess, *edits: object, is_for_people: bool
) -> NotebookResult:
    """Run a notebook, or apply edits to it, in this process, on the zygote that was begun."""

    async def tell_cell(cell: dict[str, Any]) -> None:
        if is_for_people:
            console.cell_line(cell)

    async def ask_to_keep(question: UnkeptChanges) -> bool:
        from cellwright.cli.terminal_input import ask_to_keep_changes

        return await ask_to_keep_changes(question.reason)

    async def run() -> NotebookResult:
        settings = Settings.read()
        # Where nothing contains code there may be no folder for a pool either: that is the reason to tell.
        report, is_allowed = await anyio.to_thread.run_sync(probe), options["allow_uncontained"]
        contained(options["tier"], report, allow_uncontained=is_allowed)
        async with open_pool(settings, begun) as pool:
            return await run_notebook(
                path,
                tell_cell,
                *edits,
                pool=pool,
                settings=settings,
                on_progress=console.note,
                ask_to_keep=ask_to_keep if console.is_interactive() else None,
                **options,
            )

    return anyio.run(run)


def show_here(path: Path, *, as_json: bool) -> None:
    """A notebook's cells and their graph."""
    document = read(path).document
    cells = _shown_cells(document)
    view = {"path": str(path), "options": dict(document.options), "cells": cells}
    console.result(view, as_json, lambda _: console.notebook_cells(cells, summary(document, {}, 8_000)))


def _shown_cells(document: Document) -> list[dict[str, Any]]:
    drawn = graph(document)
    problems = _problems(drawn)
    return [
        {
            "id": cell.id,
            "name": cell.name,
            "version": cell.version,
            "code": cell.code,
            "config": dataclasses.asdict(cell.config),
            **{name: sorted(getattr(drawn.nodes[cell.id], name)) for name in ("defs", "refs", "parents", "children")},
            "problems": problems.get(cell.id, []),
        }
        for cell in document.cells
    ]


def _problems(drawn: Graph) -> dict[str, list[str]]:
    problems = defaultdict[str, list[str]](list)
    for cell, node in drawn.nodes.items():
        if node.problem is not None:
            problems[cell].append(node.problem.message)
    for cycle in drawn.cycles:
        for cell in cycle.cells:
            problems[cell].append(f"part of a cycle through {', '.join(cycle.names)}")
    for name, cells in drawn.defined_twice.items():
        for cell in cells:
            problems[cell].append(f"{name!r} is defined in {len(cells)} cells")
    return problems
