"""Beginning runs from what a page sent: inside the folder that is served, each in a notebook of its own."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import anyio
import anyio.to_thread

from cellwright.app.run_data import project_data
from cellwright.errors import UserError
from cellwright.journal import RunId
from cellwright.journal.names import new_run_id
from cellwright.runs import Goal
from cellwright.runs.finding import going_notebooks
from cellwright.runs.goal_reading import Typed, read_goal
from cellwright.server.web.house import House
from cellwright.server.web.shapes.runs import NewRun
from cellwright.tools.project_files import ProjectFiles


class Starts:
    """Begins runs, one after the other: two of the same words must not get the same notebook."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._turn = anyio.Lock()
        self._promised = set[str]()
        """Notebooks of runs that may not have told of them yet."""

    async def start(self, asked: NewRun, *, person: str) -> RunId:
        """The run, durable once this returns. Raises `UserError`, `RefusedByPolicy`."""
        async with self._turn:
            taken = await going_notebooks(self._house.live.records) | self._promised
            goal = await anyio.to_thread.run_sync(read_asked, asked, self._house.folder, person, taken)
            run = await self._house.live.start(goal, run=new_run_id())
            self._promised.add(goal.notebook)
            return run


def read_asked(asked: NewRun, folder: Path, person: str, taken: Collection[str]) -> Goal:
    """The goal. Raises `UserError`, and `RefusedByPolicy` for paths that are not to be had. Blocking."""
    files = ProjectFiles(folder)
    try:
        typed = Typed(
            words=asked.goal,
            data=[_data(files, word) for word in asked.data],
            notebook=None if asked.notebook is None else files.locate(asked.notebook),
            models=asked.models,
            budget=asked.budget_usd,
            approve=asked.approve,
            is_private=asked.is_private,
            priority=asked.priority,
        )
        return read_goal(typed, person=person, here=files.root, taken=taken, has_data=_has_data)
    except OSError as problem:
        raise UserError(f"A path cannot be used: {problem.strerror}.", hint="Give one inside the folder.") from problem


def _data(files: ProjectFiles, word: str) -> str:
    """The word with its path absolute, and certainly inside."""
    whole = files.locate(word)
    name, equals, path = word.partition("=")
    return str(whole) if not equals or whole.exists() else f"{name}={files.locate(path)}"


def _has_data(project: Path) -> bool:
    return bool(project_data(ProjectFiles(project)))
