"""Who is connected now: what keeps a daemon awake, and what ends when a token is revoked or the server closes."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio


@dataclass(slots=True, kw_only=True, eq=False)
class ActiveRequest:
    """A request that is being answered."""

    token: str
    """The id of its token."""
    is_stream: bool = False
    """Whether its answer goes on until somebody leaves."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    def end(self) -> None:
        """Break the answer off."""
        self.scope.cancel()


class ActiveRequests:
    """Every request of somebody known that is being answered."""

    def __init__(self) -> None:
        self._visits = set[ActiveRequest]()
        self._is_closing = False

    @property
    def count(self) -> int:
        """How many there are. A page that is open has at least one: its stream of events."""
        return len(self._visits)

    @contextmanager
    def visiting(self, token: str) -> Generator[ActiveRequest]:
        """One of them, while the block lasts; the block is left early if it is ended."""
        visit = ActiveRequest(token=token)
        self._visits.add(visit)
        try:
            with visit.scope:
                yield visit
        finally:
            self._visits.discard(visit)

    def is_stream(self, visit: ActiveRequest) -> None:
        """This one will not end by itself."""
        visit.is_stream = True
        if self._is_closing:
            visit.end()

    def end_unless(self, stands: Callable[[str], bool]) -> None:
        """End those whose token does not count any more."""
        tokens = {visit.token for visit in self._visits}
        over = {token for token in tokens if not stands(token)}
        for visit in self._visits:
            if visit.token in over:
                visit.end()

    def end_streams(self) -> None:
        """End what would never end; the rest is answered."""
        self._is_closing = True
        for visit in self._visits:
            if visit.is_stream:
                visit.end()
