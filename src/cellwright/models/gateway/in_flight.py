"""Calls in flight: what each has said so far, kept for everyone who asks, and whether the gateway is needed at all.

A call also passes named crash points, where a test may end the process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from enum import StrEnum

import anyio

from cellwright.errors import CellwrightError
from cellwright.models.calls import ModelCall, Outcome, Restarted, Update


class InFlightCall:
    """A call that the gateway works on, whoever is still listening."""

    def __init__(self, call: ModelCall) -> None:
        self.call = call
        self.scope = anyio.CancelScope()
        self.sent_to = ""
        """The model that is being asked, once something may have left."""
        self.end: Outcome | CellwrightError | None = None
        self.updates: list[Update] = []
        """Everything that counts, from the attempt that is going on."""
        self._forgotten = 0
        """How many updates were dropped because an attempt began from nothing."""
        self._news = anyio.Event()
        self._has_listeners = False

    def add_update(self, update: Update) -> None:
        """Keep an update and wake who listens."""
        if type(update) is Restarted:
            self._forgotten += len(self.updates)
            self.updates = []
        self.updates.append(update)
        self._wake()

    def finish(self, end: Outcome | CellwrightError) -> None:
        """There is no more to tell."""
        self.end = end
        self._wake()

    def since(self, seen: int) -> tuple[Sequence[Update], int]:
        """What was told after so many updates, and how many there are now. What was forgotten is left out."""
        return self.updates[max(0, seen - self._forgotten) :], self._forgotten + len(self.updates)

    async def news(self) -> None:
        """Until something more is told."""
        self._has_listeners = True
        await self._news.wait()

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

    def __init__(self, call: InFlightCall) -> None:
        self._call = call
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
        """Until there is no more to tell."""
        while self._call.end is None:
            await self._call.news()

    async def waiting(self) -> Sequence[Update | Outcome]:
        """Everything that came since the last look, at least one; empty when all is told."""
        while not self._is_over:
            updates, self._seen = self._call.since(self._seen)
            end = self._call.end
            if end is None and not updates:
                await self._call.news()
                continue
            if end is None or (updates and isinstance(end, CellwrightError)):
                return updates
            self._is_over = True
            if isinstance(end, CellwrightError):
                raise end
            return [*updates, end]
        return ()


class GatewayCrash(StrEnum):
    """Where a call can be cut."""

    BEGUN = "begun"
    """The call is known to the gateway; nothing of it is on disk, nothing was sent."""
    SENT = "sent"
    """It is recorded as sent; nothing may have left yet."""
    FIRST_PIECE = "first-piece"
    """The provider is answering."""
    ANSWERED_UNRECORDED = "answered-unrecorded"
    """The whole answer is here and was paid; the record does not know."""
    RECORDED_UNTOLD = "recorded-untold"
    """The answer is recorded; the caller does not know."""


AtGatewayCrash = Callable[[GatewayCrash], None]
"""Called at every such place."""


def carry_on(point: GatewayCrash) -> None:
    """Do nothing: what happens outside of tests."""
