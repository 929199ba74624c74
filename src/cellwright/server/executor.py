"""What an interface can do with runs, wherever they are executed: in the daemon, or in this very process."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cellwright.journal.names import RunId
from cellwright.journal.records import Records
from cellwright.runs.goal.goal import Goal
from cellwright.settings import Settings

if TYPE_CHECKING:
    from cellwright.agents.drafts import Drafts, DraftView
    from cellwright.kernel.pool import KernelPool
    from cellwright.kernel.session.open_notebook import OpenNotebook
    from cellwright.tools.notebook.editor import NotebookEditor


class RunClient(Protocol):
    """The six things that need whoever executes runs; all else is read from and written to the journal."""

    @property
    def is_daemon(self) -> bool:
        """Whether runs go on when this process ends."""

    async def start(self, goal: Goal, *, run: str | None = None, connection: Mapping[str, str] | None = None) -> RunId:
        """Begin a run; durable once it returns. An id that is taken means that run.

        `connection` are the proxies, certificates and indexes it uses; None: those of whoever executes it.
        """

    async def cancel(self, run: str, *, reason: str = "cancelled") -> None:
        """Stop a run for good."""

    async def retry(self, run: str, task: str, *, person: str, budget_usd: Decimal | None = None) -> RunId:
        """Do a task again: in the same run while it is at work, in a new one that continues it afterwards.

        `budget_usd` is the new one's cap; None: as it was.
        """

    async def reject_card(self, run: str, card: str, *, person: str) -> RunId:
        """Have what a research wrote from a card written again without it: in the run at work, or in a new one."""

    async def fork(self, run: str, *, from_step: int | None = None) -> RunId:
        """A new run with the old one's steps below `from_step`."""

    async def resume(self, run: str, *, person: str) -> None:
        """Let a cancelled or dead run go on."""

    def drafts_of(self, run: str) -> AsyncGenerator[tuple[DraftView, ...]]:
        """What the agents of a run are being answered, whenever that changed, for as long as somebody executes it."""


class RunExecutor(RunClient, Protocol):
    """The process that executes runs, with the notebooks they have open: `cellwright.app.runs.Runs`."""

    @property
    def records(self) -> Records:
        """Of its journal."""

    @property
    def notebooks(self) -> Mapping[str, OpenNotebook]:
        """The notebooks that runs have open now, by run."""

    @property
    def drafts(self) -> Drafts:
        """What agents are being answered."""

    @property
    def pool(self) -> KernelPool:
        """Where its kernels come from."""

    @property
    def editors(self) -> Mapping[str, NotebookEditor]:
        """What changes those, by run."""

    def yielding_to(self, give_way: Callable[[Path], Awaitable[None]]) -> AbstractContextManager[None]:
        """While this lasts, `give_way` is awaited before a run opens a notebook: a file has one kernel."""

    async def at_work(self) -> int:
        """How many runs are going: queued, running, or waiting for a person."""

    async def stranded(self) -> list[RunId]:
        """Runs of other versions of the code, which nobody here goes on with."""


ExecutorOpener = Callable[[Settings], AbstractAsyncContextManager[RunExecutor]]
"""Opens what executes runs."""


def open_executor(settings: Settings) -> AbstractAsyncContextManager[RunExecutor]:
    """The real one. Loads agents and models."""
    from cellwright.app.runs import open_runs

    return open_runs(settings)
