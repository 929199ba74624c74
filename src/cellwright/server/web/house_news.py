"""What changed in the house: the lines of runs and how many questions wait, looked at once for everyone who follows."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from cellwright.journal import EventLog, Records, RunStatus, stream_of
from cellwright.runs.finding import RUN
from cellwright.runs.picture import Picture, see
from cellwright.runs.views import run_line
from cellwright.server.web.folding import Folded
from cellwright.server.web.streaming import BEAT, BEAT_SECONDS, HELLO, sent_event

_CALM_SECONDS: Final = 0.2
"""So far apart are two looks at least."""
_NEWEST: Final = 50
"""Runs that are told of, besides those that go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A run's line, and what it was made of."""

    made_of: tuple[object, ...]
    line: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """The house at one look."""

    runs: dict[str, _Known] = field(default_factory=dict[str, _Known])
    waiting: int = 0


class HouseNews:
    """Looks at the journal when it grew, and only at the runs that did."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._log: EventLog = records.log
        self._pictures = Folded(self._log, begin=lambda run: Picture(run=run), add=see)
        self._turn = anyio.Lock()
        self._mark: anyio.Event | None = None
        self._state = _State()

    async def follow(self) -> AsyncGenerator[bytes]:
        """First everything, then what changed, at most five times a second; for ever."""
        yield HELLO
        sent, waiting, number = dict[str, dict[str, Any]](), -1, 0
        while True:
            grown = self._log.growth.next()
            state = await self._look()
            changed = [known.line for run, known in state.runs.items() if sent.get(run) is not known.line]
            if changed or not number:
                number += 1
                yield sent_event(number, "runs", {"runs": changed})
            if waiting != state.waiting:
                number += 1
                yield sent_event(number, "questions", {"waiting": state.waiting})
            sent, waiting = {run: known.line for run, known in state.runs.items()}, state.waiting
            with anyio.move_on_after(BEAT_SECONDS) as quiet:
                await grown.wait()
            if quiet.cancelled_caught:
                yield BEAT
            await anyio.sleep(_CALM_SECONDS)

    async def _look(self) -> _State:
        async with self._turn:
            mark = self._log.growth.next()
            if mark is not self._mark:
                self._state = await self._look_now(self._state)
                # Of before the look: what was written meanwhile is looked at again.
                self._mark = mark
            return self._state

    async def _look_now(self, before: _State) -> _State:
        heads = dict(await self._log.streams())
        runs = [each for each in await self._records.runs() if each.name == RUN]
        shown = [each for number, each in enumerate(runs) if number < _NEWEST or each.is_going]
        known = {each.run: await self._known(each, heads, before.runs.get(each.run)) for each in shown}
        return _State(runs={**known}, waiting=sum(len(each.questions) for each in runs))

    async def _known(self, status: RunStatus, heads: dict[str, int], before: _Known | None) -> _Known:
        questions = tuple(each.id for each in status.questions)
        made_of = (status.standing, questions, heads.get(stream_of(status.run), 0))
        if before is not None and before.made_of == made_of:
            return before
        line = run_line(status, await self._pictures.of(status.run))
        if before is not None and _lasting(before.line) == _lasting(line):
            line = before.line
        return _Known(made_of=made_of, line=line)


def _lasting(line: dict[str, Any]) -> dict[str, Any]:
    """Without what only time changes."""
    return {name: value for name, value in line.items() if name != "seconds"}
