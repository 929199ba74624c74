"""One call in flight: what it told so far, kept for everyone who asks for it, and how it ended."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import anyio

from cellwright.errors import CellwrightError
from cellwright.models.calls import (
    AnswerUnknown,
    BudgetReached,
    Cancelled,
    ModelAnswer,
    ModelCall,
    Outcome,
    Restarted,
    Update,
)

OUTCOMES = (ModelAnswer, BudgetReached, AnswerUnknown, Cancelled)
"""The members of `Outcome`, to tell them from updates."""


class InFlightCall:
    """A call that the gateway works on, whoever is still listening."""

    def __init__(self, call: ModelCall) -> None:
        self.call = call
        self.scope = anyio.CancelScope()
        self.is_cancelled = False
        """Taken back by a caller, rather than cut off by the gateway's own end."""
        self.sent_to = ""
        """The model that is being asked, once something may have left."""
        self.end: Outcome | CellwrightError | None = None
        self._told: list[Update] = []
        self._forgotten = 0
        """How many updates were dropped because an attempt began from nothing."""
        self._news = anyio.Event()
        self._has_listeners = False
        self._over = anyio.Event()

    @property
    def told(self) -> Sequence[Update]:
        """Everything that counts, from the attempt that is going on."""
        return self._told

    def tell(self, update: Update) -> None:
        """Keep an update and wake who listens."""
        if type(update) is Restarted:
            self._forgotten += len(self._told)
            self._told = []
        self._told.append(update)
        self._wake()

    def finish(self, end: Outcome | CellwrightError) -> None:
        """There is no more to tell."""
        self.end = end
        self._over.set()
        self._wake()

    def since(self, seen: int) -> tuple[Sequence[Update], int]:
        """What was told after so many updates, and how many there are now. What was forgotten is left out."""
        return self._told[max(0, seen - self._forgotten) :], self._forgotten + len(self._told)

    async def news(self) -> None:
        """Until something more is told."""
        self._has_listeners = True
        await self._news.wait()

    async def over(self) -> None:
        """Until there is no more to tell."""
        await self._over.wait()

    def _wake(self) -> None:
        # Nothing to do for most pieces: those that come together are fetched together.
        if self._has_listeners:
            self._has_listeners = False
            news, self._news = self._news, anyio.Event()
            news.set()


class Subscription(AsyncIterator[Update | Outcome]):
    """What a call tells, from its start: updates, then its outcome, which is the last. Failures raise.

    Raises `CellwrightError`: `ModelUnavailable`, `RefusedByPolicy` (nothing may answer it), `UserError`.
    Leaving the iteration stops nothing.
    """

    def __init__(self, flight: InFlightCall) -> None:
        self._flight = flight
        self._seen = 0
        self._is_over = False
        self._fetched: list[Update | Outcome] = []

    async def __anext__(self) -> Update | Outcome:
        if not self._fetched:
            self._fetched = [*reversed(await self.waiting())]
            if not self._fetched:
                raise StopAsyncIteration
        return self._fetched.pop()

    async def ended(self) -> None:
        """Until there is no more to tell. Who waits here is not woken by what is told before."""
        await self._flight.over()

    async def waiting(self) -> Sequence[Update | Outcome]:
        """Everything that came since the last look, at least one; empty when all is told."""
        while not self._is_over:
            updates, self._seen = self._flight.since(self._seen)
            end = self._flight.end
            if end is None and not updates:
                await self._flight.news()
                continue
            if isinstance(end, CellwrightError):
                if updates:
                    return updates
                self._is_over = True
                raise end
            if end is None:
                return updates
            self._is_over = True
            return [*updates, end]
        return ()
