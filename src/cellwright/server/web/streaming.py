"""Server-sent events of a journal's stream: nothing lost or doubled across reconnects, and nobody waits for a reader.

Every reader reads the log by itself and holds one page at most; those at the same place share one reading of it.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
from starlette.responses import StreamingResponse

from cellwright.journal import EventLog, Recorded

BEAT_SECONDS: Final = 15.0
BEAT: Final = b": still here\n\n"
HELLO: Final = b"retry: 1000\n\n"
"""The first that is sent: the connection stands, and how soon to come back once it does not."""
_PAGE: Final = 200
_KEPT_PAGES: Final = 32
OF_EVENTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "Server-sent events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}
"""What the document says such a route answers."""


def event_stream(told: AsyncGenerator[bytes]) -> StreamingResponse:
    """The answer that goes on for as long as somebody reads."""
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(told, media_type="text/event-stream", headers=headers)


def sent_event(number: int, kind: str, told: Mapping[str, Any]) -> bytes:
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

    def __init__(self, log: EventLog, *, beat_seconds: float = BEAT_SECONDS) -> None:
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
            yield page.body or BEAT

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
                    page.body = b"".join(map(_sent, found))
                else:
                    await news.wait()
        finally:
            page.is_watched = False
            page.call()


def _sent(recorded: Recorded) -> bytes:
    told = recorded.json()
    return sent_event(recorded.sequence, told["kind"], told)
