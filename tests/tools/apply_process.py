"""An agent's worker for tests: `JOURNAL NOTEBOOK POINT` makes two `apply` calls.

It is killed at this point of the editor or of the journal, in the second call; `-` goes to the end and writes
`results.txt`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from cellwright.app import open_notebook
from cellwright.journal.crash import CrashPoint
from cellwright.settings import Settings
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.saved_notebook import EditorPoint
from cellwright.tools.notebook_tools import notebook_tools
from cellwright.tools.tool import result_text
from tests.tools.call_driver import open_driver

FIRST: dict[str, Any] = {"edits": [{"op": "create", "code": "y = x + 1", "name": "more"}]}
SECOND: dict[str, Any] = {"edits": [{"op": "create", "code": "z = y * 10"}]}


async def main(where: Path, path: Path, point: str) -> None:
    visits: list[str] = []

    def reached(at: EditorPoint | CrashPoint) -> None:
        visits.append(str(at))
        if at == point and visits.count(str(at)) == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    settings = Settings(home=where.parent / "home", cache=where.parent / "cache")
    async with open_notebook(path, settings=settings) as notebook:
        editor = await NotebookEditor.open(notebook, where.parent / "desk.json", reached=reached)
        tools, project = notebook_tools(editor), str(path.parent)
        async with open_driver(where, tools, rules="", project=project, at_crash_point=reached) as driver:
            await driver.begin("r", ("apply", FIRST), ("apply", SECOND))
            results = [result_text(result) for result in await driver.results("r")]
            await anyio.Path(where.parent / "results.txt").write_text("\n---\n".join(results))


def start(arguments: Sequence[str]) -> None:
    """What the warm process calls in a fork."""
    where, path, point = arguments
    anyio.run(main, Path(where), Path(path), point)
