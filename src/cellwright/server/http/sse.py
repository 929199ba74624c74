"""Server-sent events: the stream of one run, and the feed of the list of runs and of how many questions wait.

Nothing is lost or doubled across reconnects. Readers at the same position share one read of the log; none waits for
another.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
from starlette.responses import StreamingResponse

from cellwright.journal.events import Recorded
from cellwright.journal.log import EventLog
from cellwright.journal.names import stream_of
from cellwright.journal.records import Records, RunStatus
from cellwright.runs.views.progress import run_summary_json
from cellwright.runs.views.run_view import RUN_WORKFLOW
from cellwright.server.http.resources import RunProjections

KEEPALIVE_SECONDS: Final = 15.0
KEEPALIVE: Final = b": still here\n\n"
HELLO: Final = b"retry: 1000\n\n"
"""The first that is sent: the connection stands, and how soon to come back once it does not."""
_PAGE: Final = 200
_KEPT_PAGES: Final = 32
EVENT_STREAM_RESPONSE: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "Server-sent events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}
"""What the document says such a route answers."""


def event_stream(told: AsyncGenerator[bytes]) -> StreamingResponse:
    """The answer that goes on for as long as somebody reads."""
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(told, media_type="text/event-stream", headers=headers)


def event_bytes(number: int, kind: str, told: Mapping[str, Any]) -> bytes:
    """One event as it goes over the wire."""
    # JSON keeps to one line: no text of anybody's can end the event early.
    return f"id: {number}\nevent: {kind}\ndata: {json.dumps(told, ensure_ascii=False)}\n\n".encode()


@dataclass(slots=True, kw_only=True)
class _Page:
    """What follows one place in a stream. Empty until there is something; then it stays as it is."""

    stream: str
    after: int
    body: bytes = b""
    last: int = 0
    is_watched: bool = False
    """Whether somebody looks for all who wait here."""
    _turns: dict[anyio.Event, None] = field(default_factory=dict[anyio.Event, None])

    async def turn(self) -> None:
        """Until there is something, or somebody else has to look."""
        turn, is_taken = anyio.Event(), False
        self._turns[turn] = None
        try:
            await turn.wait()
            is_taken = True
        finally:
            self._turns.pop(turn, None)
            if turn.is_set() and not is_taken:
                # Called and gone at once.
                self.call()

    def call(self) -> None:
        """Wake all if there is something to be told; else one, to look, if nobody does."""
        if self.body:
            for turn in self._turns:
                turn.set()
        elif not self.is_watched and self._turns:
            turn = next(iter(self._turns))
            del self._turns[turn]
            turn.set()


class StreamPages:
    """Pages of streams, as bytes to be sent, each read once for everyone who is at the same place.

    One of those who wait there watches the log. The others sleep until their own stream has grown: what else happens
    in the house does not wake them.
    """

    def __init__(self, log: EventLog, *, beat_seconds: float = KEEPALIVE_SECONDS) -> None:
        self._log = log
        self._beat_seconds = beat_seconds
        self._pages: OrderedDict[tuple[str, int], _Page] = OrderedDict()

    async def follow(self, stream: str, after: int) -> AsyncGenerator[bytes]:
        """Everything above `after`, then each new event as it comes, and a sign of life when none does; for ever."""
        yield HELLO
        while True:
            page = self._page(stream, after)
            # Nothing is held while a reader takes its time: it may never come back from there.
            with anyio.move_on_after(self._beat_seconds):
                await self._fill(page)
            if page.body:
                after = page.last
            yield page.body or KEEPALIVE

    def _page(self, stream: str, after: int) -> _Page:
        key = (stream, after)
        page = self._pages.setdefault(key, _Page(stream=stream, after=after))
        self._pages.move_to_end(key)
        if len(self._pages) > _KEPT_PAGES:
            # Whoever waits at that place still has it.
            self._pages.popitem(last=False)
        return page

    async def _fill(self, page: _Page) -> None:
        while not page.body:
            if page.is_watched:
                await page.turn()
            else:
                await self._watch(page)

    async def _watch(self, page: _Page) -> None:
        page.is_watched = True
        try:
            while not page.body:
                news = self._log.growth.next()
                if found := await self._log.read(page.stream, page.after, _PAGE):
                    page.last = found[-1].sequence
                    page.body = b"".join(map(_event_bytes, found))
                else:
                    await news.wait()
        finally:
            page.is_watched = False
            page.call()


def _event_bytes(recorded: Recorded) -> bytes:
    told = recorded.json()
    return event_bytes(recorded.sequence, told["kind"], told)


_MIN_INTERVAL_SECONDS: Final = 0.2
"""So far apart are two looks at least."""
_MAX_ENDED_RUNS: Final = 50
"""Runs that are told of, besides those that go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _KnownRun:
    """A run's line, and what it was made of."""

    made_of: tuple[object, ...]
    line: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _RunList:
    """The house at one look."""

    runs: dict[str, _KnownRun] = field(default_factory=dict[str, _KnownRun])
    waiting: int = 0


class RunListFeed:
    """Looks at the journal when it grew, and only at the runs that did."""

    def __init__(self, records: Records, views: RunProjections) -> None:
        self._records = records
        self._log: EventLog = records.log
        self._views = views
        self._turn = anyio.Lock()
        self._mark: anyio.Event | None = None
        self._state = _RunList()

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
                yield event_bytes(number, "runs", {"runs": changed})
            if waiting != state.waiting:
                number += 1
                yield event_bytes(number, "questions", {"waiting": state.waiting})
            sent, waiting = {run: known.line for run, known in state.runs.items()}, state.waiting
            with anyio.move_on_after(KEEPALIVE_SECONDS) as quiet:
                await grown.wait()
            if quiet.cancelled_caught:
                yield KEEPALIVE
            await anyio.sleep(_MIN_INTERVAL_SECONDS)

    async def _look(self) -> _RunList:
        async with self._turn:
            mark = self._log.growth.next()
            if mark is not self._mark:
                self._state = await self._look_now(self._state)
                # Of before the look: what was written meanwhile is looked at again.
                self._mark = mark
            return self._state

    async def _look_now(self, before: _RunList) -> _RunList:
        heads = dict(await self._log.streams())
        runs = [each for each in await self._records.runs() if each.name == RUN_WORKFLOW]
        shown = [each for number, each in enumerate(runs) if number < _MAX_ENDED_RUNS or each.is_going]
        known = {each.run: await self._known(each, heads, before.runs.get(each.run)) for each in shown}
        return _RunList(runs={**known}, waiting=sum(len(each.questions) for each in runs))

    async def _known(self, status: RunStatus, heads: dict[str, int], before: _KnownRun | None) -> _KnownRun:
        questions = tuple(each.id for each in status.questions)
        made_of = (status.standing, questions, heads.get(stream_of(status.run), 0))
        if before is not None and before.made_of == made_of:
            return before
        line = run_summary_json(status, await self._views.of(status.run))
        if before is not None and _without_elapsed(before.line) == _without_elapsed(line):
            line = before.line
        return _KnownRun(made_of=made_of, line=line)


def _without_elapsed(line: dict[str, Any]) -> dict[str, Any]:
    """Without what only time changes."""
    return {name: value for name, value in line.items() if name != "seconds"}
