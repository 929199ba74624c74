"""An editor that dies: `NOTEBOOK MEMORY POINT`, in its second turn."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import anyio

from cellwright.app import open_notebook
from cellwright.notebook.edits import CreateCell, EditCell
from cellwright.settings import Settings
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.saved_notebook import EditorPoint


async def main(path: Path, memory: Path, at: EditorPoint) -> None:
    visits: list[EditorPoint] = []

    def reached(point: EditorPoint) -> None:
        visits.append(point)
        if point is at and visits.count(at) == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    settings = Settings(home=memory.parent / "home", cache=memory.parent / "cache")
    async with open_notebook(path, settings=settings) as notebook:
        editor = await NotebookEditor.open(notebook, memory, reached=reached)
        await editor.run("all")
        x = notebook.document.cells[0]
        await editor.apply([EditCell(cell=x.id, base_version=x.version, code="x = 2")], key="first")
        x = notebook.document.cells[0]
        edits = [CreateCell(code="z = y * 10"), EditCell(cell=x.id, base_version=x.version, code="x = 3")]
        await editor.apply(edits, key="second")


def start(arguments: Sequence[str]) -> None:
    """What the warm process calls in a fork."""
    path, memory, point = arguments
    anyio.run(main, Path(path), Path(memory), EditorPoint(point))
