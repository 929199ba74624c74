"""Writing the record to the disk, in a thread, while calls go on."""

from __future__ import annotations

import logging
from typing import Final

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from cellwright.errors import Unavailable
from cellwright.models.money.ledger import Ledger

logger = logging.getLogger(__name__)

_ANSWER_SYNC_DELAY_SECONDS: Final = 0.025
"""Limit of how long a recorded answer waits for the disk. Only a power cut can lose it, and then it is unknown."""


class LedgerSync:
    """One wait for the disk, begun in one task and awaited in another."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._is_over = anyio.Event()
        self._problem: Unavailable | None = None

    async def run(self) -> None:
        """Have everything told so far written. Once begun it is finished."""
        try:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._ledger.sync)
        except Unavailable as problem:
            logger.warning("%s", problem.message)
            self._problem = problem
        finally:
            self._is_over.set()

    async def done(self) -> None:
        """Until it is written. Raises `Unavailable` if it could not be."""
        await self._is_over.wait()
        if self._problem is not None:
            raise self._problem


class AnswerSync:
    """Writes answers to the disk soon: those that come together with one wait, or with that of the next request."""

    def __init__(self, ledger: Ledger, tasks: TaskGroup) -> None:
        self._ledger = ledger
        self._tasks = tasks
        self._is_coming = False

    def soon(self) -> None:
        """An answer was recorded."""
        if not self._is_coming:
            self._is_coming = True
            self._tasks.start_soon(self._run)

    async def _run(self) -> None:
        await anyio.sleep(_ANSWER_SYNC_DELAY_SECONDS)
        self._is_coming = False
        if not self._ledger.is_synced:
            await LedgerSync(self._ledger).run()
