"""Somebody who follows a stream of server-sent events over HTTP, and may hang up at any moment."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx

from cellwright.agents.drafts import DraftView, views_after
from tests.server.http.a_served_folder import API, SECONDS, Served


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One event."""

    id: int
    kind: str
    data: dict[str, Any]


@dataclass(slots=True)
class Follower:
    """Reads until it has seen what it waits for."""

    response: httpx.Response
    told: list[Told] = field(default_factory=list[Told])
    drafts: tuple[DraftView, ...] = ()
    """What agents are being answered."""
    received: str = ""
    """Everything, as it came."""
    signs_of_life: int = 0
    _rest: str = ""
    _bytes: AsyncIterator[bytes] | None = None

    async def until(self, holds: Callable[[list[Told]], bool]) -> list[Told]:
        """Everything up to now, once this holds."""
        self._bytes = self._bytes or self.response.aiter_bytes()
        with anyio.fail_after(SECONDS):
            while not holds(self.told):
                self._take((await anext(self._bytes)).decode())
        return self.told

    async def until_drafted(self, text: str) -> DraftView:
        """The draft in which this stands, once it does."""
        drafted: list[DraftView] = []

        def holds(_: list[Told]) -> bool:
            drafted[:] = [each for each in self.drafts if any(text in section.text for section in each.sections)]
            return bool(drafted)

        await self.until(holds)
        return drafted[0]

    async def ids(self, last: int) -> list[int]:
        """The numbers that came, once this one did."""
        told = await self.until(lambda told: bool(told) and told[-1].id >= last)
        return [each.id for each in told]

    def _take(self, text: str) -> None:
        self.received += text
        *whole, self._rest = (self._rest + text).split("\n\n")
        for block in whole:
            if block.startswith(":"):
                self.signs_of_life += 1
            elif block.startswith("event: drafts\n"):
                self.drafts = views_after(self.drafts, json.loads(block.partition("\ndata: ")[2]))
            elif block.startswith("id:"):
                lines = dict(line.split(": ", 1) for line in block.split("\n"))
                self.told.append(Told(id=int(lines["id"]), kind=lines["event"], data=json.loads(lines["data"])))


@asynccontextmanager
async def following(served: Served, path: str, *, last: int | None = None) -> AsyncGenerator[Follower]:
    headers = {} if last is None else {"last-event-id": str(last)}
    async with served.client.stream("GET", f"{API}{path}", headers=headers) as response:
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield Follower(response)
