"""A run that dies while a person chooses: `NOTEBOOK MEMORY JOURNAL POINT`.

POINT is `asked`, once it waits for an answer; or a moment of the turn that makes what was accepted.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import anyio

from cellwright.app import open_notebook
from cellwright.policy.approvals import Person
from cellwright.runs.views import branches
from cellwright.settings import Settings
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.saved_notebook import EditorPoint
from cellwright.tools.notebook_tools import notebook_tools
from tests.tools.call_driver import open_driver

ROWS = "rows = [1, 2, 9]"


def candidate(name: str, code: str, *checks: str) -> dict[str, object]:
    return {"name": name, "edits": [{"op": "create", "code": code, "name": "average"}], "checks": list(checks)}


CANDIDATES = [
    candidate("mean", "average = sum(rows) / len(rows)"),
    candidate("median", "average = sorted(rows)[len(rows) // 2]", "average in rows"),
    candidate("broken", "average = rows.mean()"),
]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def main(path: Path, memory: Path, where: Path, at: str) -> None:
    def reached(point: EditorPoint) -> None:
        if point == at:
            die()

    settings = Settings(home=memory.parent / "home", cache=memory.parent / "cache")
    async with open_notebook(path, settings=settings) as notebook:
        editor = await NotebookEditor.open(notebook, memory, reached=reached)
        await editor.run("all")
        async with open_driver(where, notebook_tools(editor), project=str(path.parent)) as driver:
            arguments = {"candidates": CANDIDATES, "checks": ["average < 3"], "keep": "ask"}
            await driver.begin("a", ("try_alternatives", arguments))
            records = driver.journal.records
            news = driver.journal.log.growth.next()
            while not await records.questions.pending("a"):
                await news.wait()
                news = driver.journal.log.growth.next()
            if at == "asked":
                die()
            await branches.accept(driver.inbox, "a", "median", Person(name="ada", door="web"))
            await driver.results("a")


def start(arguments: Sequence[str]) -> None:
    """What the warm process calls in a fork."""
    path, memory, where, point = arguments
    anyio.run(main, Path(path), Path(memory), Path(where), point)
