"""Server-sent events: the stream of one run, and the feed of the list of runs and of how many questions wait.

Nothing is lost or doubled across reconnects. Readers at the same position share one read of the log; none waits for
another.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import anyio
from starlette.responses import StreamingResponse

from cellwright.agents.drafts import DraftCursor
from cellwright.journal.log import EventLog
from cellwright.journal.names import stream_of
from cellwright.journal.records import Records, RunStatus
from cellwright.kernel.task_groups import unwrap_single_error
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
    watch: anyio.Lock = field(default_factory=anyio.Lock)
    """Held by whoever watches the log for all who wait here; who leaves hands it to the next."""
    empty_at: anyio.Event | None = None
    """The log's growth when there was nothing yet: not read again before it grew."""


class StreamPages:
    """Pages of streams, as bytes to be sent, each read once for everyone who is at the same place.

    One of those who wait there watches the log. The others sleep until their own stream has grown: what else happens
    in the house does not wake them.
    """

    def __init__(self, log: EventLog, *, beat_seconds: float = KEEPALIVE_SECONDS) -> None:
        self._log = log
        self._beat_seconds = beat_seconds
        # Whoever waits at a place that is forgotten still has it.
        self._page = lru_cache(_KEPT_PAGES)(_Page)

    async def follow(self, stream: str, after: int, drafts: DraftCursor | None = None) -> AsyncGenerator[bytes]:
        """Everything above `after`, then each new event as it comes, and a sign of life when none does; for ever.

        `drafts` go between the events, without numbers: first all there are, then what is added.
        """
        yield HELLO
        if drafts is not None:
            yield _draft_bytes(drafts.changes(is_first=True))
        while True:
            page, changes = self._page(stream=stream, after=after), b""
            # Nothing is held while a reader takes its time: it may never come back from there.
            with anyio.move_on_after(self._beat_seconds):
                while not page.body and not changes:
                    await self._fill(page, drafts)
                    changes = b"" if page.body or drafts is None else _draft_bytes(drafts.changes())
            if page.body:
                after = page.last
            yield page.body or changes or KEEPALIVE

    async def _fill(self, page: _Page, drafts: DraftCursor | None) -> None:
        """Until there is something on the page, or drafts have changed."""
        if drafts is None:
            return await self._read(page)
        with unwrap_single_error():
            async with anyio.create_task_group() as tasks:

                async def wait_for(drafts: DraftCursor) -> None:
                    await drafts.wait()
                    tasks.cancel_scope.cancel()

                tasks.start_soon(wait_for, drafts)
                await self._read(page)
                tasks.cancel_scope.cancel()

    async def _read(self, page: _Page) -> None:
        async with page.watch:
            while not page.body:
                news = self._log.growth.next()
                if news is not page.empty_at:
                    # Drafts change many times a second: they must not end a look at a busy log again and again.
                    with anyio.CancelScope(shield=True):
                        found = await self._log.read(page.stream, page.after, _PAGE)
                    if found:
                        page.last = found[-1].sequence
                        page.body = b"".join(
                            event_bytes(each.sequence, (told := each.json())["kind"], told) for each in found
                        )
                        return
                    page.empty_at = news
                await news.wait()


def _draft_bytes(changes: dict[str, Any] | None) -> bytes:
    """Without an id: whoever comes back is told of events after the last one, and of all drafts."""
    # A lone surrogate, which a model may well write, can only be sent as an escape.
    return b"" if changes is None else f"event: drafts\ndata: {json.dumps(changes)}\n\n".encode()


_MIN_INTERVAL_SECONDS: Final = 0.2
"""Minimum interval between two looks."""
_MAX_ENDED_RUNS: Final = 50
"""Runs that are told of, besides those that go on."""


_RunLines = dict[str, tuple[object, dict[str, Any]]]
"""Of each run what its line was made of, and the line."""


class RunListFeed:
    """Looks at the journal when it grew, and only at the runs that did."""

    def __init__(self, records: Records, views: RunProjections) -> None:
        self._records = records
        self._log: EventLog = records.log
        self._views = views
        self._turn = anyio.Lock()
        self._mark: anyio.Event | None = None
        self._last: tuple[_RunLines, int] = {}, 0

    async def follow(self) -> AsyncGenerator[bytes]:
        """First everything, then what changed, at most five times a second; for ever."""
        yield HELLO
        sent, were_waiting, number = _RunLines(), -1, 0
        while True:
            grown = self._log.growth.next()
            runs, waiting = await self._look()
            changed = [line for run, (_, line) in runs.items() if run not in sent or sent[run][1] is not line]
            if changed or not number:
                number += 1
                yield event_bytes(number, "runs", {"runs": changed})
            if waiting != were_waiting:
                number += 1
                yield event_bytes(number, "questions", {"waiting": waiting})
            sent, were_waiting = runs, waiting
            with anyio.move_on_after(KEEPALIVE_SECONDS) as quiet:
                await grown.wait()
            if quiet.cancelled_caught:
                yield KEEPALIVE
            await anyio.sleep(_MIN_INTERVAL_SECONDS)

    async def _look(self) -> tuple[_RunLines, int]:
        """The runs, and how many questions wait."""
        async with self._turn:
            mark = self._log.growth.next()
            if mark is not self._mark:
                heads = dict(await self._log.streams())
                runs = [each for each in await self._records.runs() if each.name == RUN_WORKFLOW]
                shown = [each for number, each in enumerate(runs) if number < _MAX_ENDED_RUNS or each.is_going]
                lines: _RunLines = {each.run: await self._line(each, heads) for each in shown}
                self._last = lines, sum(len(each.questions) for each in runs)
                # Of before the look: what was written meanwhile is looked at again.
                self._mark = mark
            return self._last

    async def _line(self, status: RunStatus, heads: dict[str, int]) -> tuple[object, dict[str, Any]]:
        before = self._last[0].get(status.run)
        made_of = (status.standing, [each.id for each in status.questions], heads.get(stream_of(status.run), 0))
        if before is not None and before[0] == made_of:
            return before
        line = run_summary_json(status, await self._views.of(status.run))
        is_same = before is not None and _without_elapsed(before[1]) == _without_elapsed(line)
        return made_of, before[1] if before is not None and is_same else line


def _without_elapsed(line: dict[str, Any]) -> dict[str, Any]:
    """Without what only time changes."""
    return {name: value for name, value in line.items() if name != "seconds"}
