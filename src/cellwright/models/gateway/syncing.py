"""Writing the record to the disk, in a thread, while a call goes on."""

from __future__ import annotations

import logging

import anyio
import anyio.to_thread

from cellwright.errors import Unavailable
from cellwright.models.ledger import Ledger

logger = logging.getLogger(__name__)


class Sync:
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
