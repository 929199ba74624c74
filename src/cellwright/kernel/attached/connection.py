"""A connection to an attached notebook that lasts as long as some work: made when it is first wanted, and again.

It permits an execution only if a person was shown exactly its text: `expect` is told what they said yes to.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.abc

from cellwright.errors import CellwrightError
from cellwright.kernel.attached.attached_notebook import AttachedNotebook, HostExecution, attach
from cellwright.kernel.attached.marimo_server import MarimoServer, ServerAddress
from cellwright.kernel.attached.typing_rules import Permission
from cellwright.kernel.task_groups import unwrap_single_error


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedPlace:
    """Which notebook is meant, and where its turns are remembered."""

    address: ServerAddress
    file: str
    """Empty: the one that is open there."""
    turns: Path


class AttachedConnection:
    """One notebook of somebody's own marimo, for all calls of some work. Made by `open`."""

    def __init__(self, place: AttachedPlace, tell: Callable[[HostExecution], str], tasks: anyio.abc.TaskGroup) -> None:
        self.place = place
        self._tell = tell
        self._tasks = tasks
        self._notebook: AttachedNotebook | None = None
        self._opening = anyio.Lock()
        self._expected = ""

    @classmethod
    @asynccontextmanager
    async def open(
        cls, place: AttachedPlace, tell: Callable[[HostExecution], str]
    ) -> AsyncGenerator[AttachedConnection]:
        """Nothing is sent yet. `tell` says what an execution is, in the words a person is shown."""
        with unwrap_single_error():
            async with anyio.create_task_group() as tasks:
                try:
                    yield cls(place, tell, tasks)
                finally:
                    tasks.cancel_scope.cancel()

    async def notebook(self) -> AttachedNotebook:
        """The notebook as it is now. Raises `UserError`, `Unavailable`."""
        async with self._opening:
            if self._notebook is None or self._notebook.stream.lost is not None:
                self._notebook = await self._tasks.start(self._hold)
            return self._notebook

    def expect(self, text: str) -> None:
        """The next execution may be this one and no other."""
        self._expected = text

    async def _hold(self, *, task_status: anyio.abc.TaskStatus[AttachedNotebook]) -> None:
        is_open = False
        try:
            async with (
                MarimoServer.open(self.place.address) as server,
                attach(server, permit=self._permit, turns=self.place.turns, file=self.place.file) as notebook,
            ):
                is_open = True
                task_status.started(notebook)
                while True:
                    await notebook.stream.next()
        except CellwrightError:
            # Once it was open, whoever calls next is told, and attaches again.
            if not is_open:
                raise

    async def _permit(self, wanted: HostExecution) -> Permission:
        expected, self._expected = self._expected, ""
        # Whoever said yes may type in that notebook's page by now.
        return "standing" if expected and self._tell(wanted) == expected else "no"
