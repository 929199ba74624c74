"""An editor that dies in a mend: `NOTEBOOK MEMORY POINT`."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import anyio

from cellwright.app import open_notebook
from cellwright.notebook.edits import EditCell
from cellwright.settings import Settings
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.saved_notebook import EditorPoint


async def main(path: Path, memory: Path, at: EditorPoint) -> None:
    def reached(point: EditorPoint) -> None:
        if point is at:
            os.kill(os.getpid(), signal.SIGKILL)

    settings = Settings(home=memory.parent / "home", cache=memory.parent / "cache")
    async with open_notebook(path, settings=settings) as notebook:
        editor = await NotebookEditor.open(notebook, memory, reached=reached)
        await editor.run("all")
        y = notebook.document.cells[1]
        mend = EditCell(cell=y.id, base_version=y.version, code="y = x + 1\nopen('made.txt', 'w').write('x')")
        await editor.apply([mend], key="mend", tries_repairs=True)


def start(arguments: Sequence[str]) -> None:
    """What the warm process calls in a fork."""
    path, memory, point = arguments
    anyio.run(main, Path(path), Path(memory), EditorPoint(point))
