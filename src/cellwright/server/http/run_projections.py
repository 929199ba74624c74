"""What the streams of runs add up to: each is read on from where it was left, however often one asks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

import anyio

from cellwright.journal import EventLog, Recorded, stream_of

T = TypeVar("T")
_MAX_RUNS: Final = 1_000


@dataclass(slots=True)
class _Projection(Generic[T]):
    state: T
    after: int = 0
    turn: anyio.Lock = field(default_factory=anyio.Lock)


class RunProjections(Generic[T]):
    """A value for each run, made of its events."""

    def __init__(self, log: EventLog, *, begin: Callable[[str], T], add: Callable[[T, Recorded], T]) -> None:
        self._log = log
        self._begin = begin
        self._add = add
        self._folds: OrderedDict[str, _Projection[T]] = OrderedDict()

    async def of(self, run: str) -> T:
        """The value as of now."""
        fold = self._folds.get(run)
        if fold is None:
            fold = self._folds[run] = _Projection(self._begin(run))
            if len(self._folds) > _MAX_RUNS:
                self._folds.popitem(last=False)
        self._folds.move_to_end(run)
        async with fold.turn:
            async for recorded in self._log.read_all(stream_of(run), fold.after):
                fold.state, fold.after = self._add(fold.state, recorded), recorded.sequence
            return fold.state
