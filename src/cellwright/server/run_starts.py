"""How runs begin: in one place of each process, whichever interface was asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping

import anyio

from cellwright.journal.names import RunId, run_id
from cellwright.runs.goal.goal import Goal
from cellwright.runs.views.run_view import active_notebooks
from cellwright.server.executor import RunExecutor

MakeGoal = Callable[[Collection[str]], Awaitable[Goal]]
"""The goal, of the notebooks that are taken."""


class RunStarts:
    """Begins runs, one after the other: two of the same words must not get the same notebook."""

    def __init__(self, live: RunExecutor) -> None:
        self._live = live
        self._turn = anyio.Lock()
        self._promised = set[str]()
        """Notebooks of runs that may not have told of them yet."""

    async def begin(
        self, goal: Goal | MakeGoal, *, run: str | None = None, connection: Mapping[str, str] | None = None
    ) -> RunId:
        """The run, durable once this returns; a name that is taken means that run, and no goal is made.

        `connection` are the proxies, certificates and indexes it uses; None: those of this process.
        """
        async with self._turn:
            if isinstance(goal, Goal):
                made = goal
            elif run is not None and await self._is_known(run):
                return run_id(run)
            else:
                made = await goal(await self._taken())
            begun = await self._live.start(made, run=run, connection=connection)
            self._promised.add(made.notebook)
            return begun

    async def _is_known(self, run: str) -> bool:
        return any(status.run == run for status in await self._live.records.runs())

    async def _taken(self) -> frozenset[str]:
        return frozenset(await active_notebooks(self._live.records) | self._promised)
