"""What the streams of runs add up to: each is read on from where it was left, however often one asks."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

import anyio

from cellwright.journal import EventLog, stream_of
from cellwright.runs.views.run_view import RunView, update_view

_MAX_RUNS: Final = 1_000


@dataclass(slots=True)
class _Projection:
    view: RunView
    after: int = 0
    turn: anyio.Lock = field(default_factory=anyio.Lock)


class RunProjections:
    """The view of each run."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._projections: OrderedDict[str, _Projection] = OrderedDict()

    async def of(self, run: str) -> RunView:
        """The run as of now."""
        known = self._projections.get(run)
        if known is None:
            known = self._projections[run] = _Projection(RunView(run=run))
            if len(self._projections) > _MAX_RUNS:
                self._projections.popitem(last=False)
        self._projections.move_to_end(run)
        async with known.turn:
            async for recorded in self._log.read_all(stream_of(run), known.after):
                known.view, known.after = update_view(known.view, recorded), recorded.sequence
            return known.view
