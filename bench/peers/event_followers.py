"""Not a peer but their company: many followers of one event stream, in one process of their own, on plain sockets.

What arrives is kept with its time and read afterwards: nothing is done between two arrivals.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from bisect import bisect_left
from itertools import accumulate

from bench.peers.conversation import Answer, converse

_EVENT = re.compile(rb"id: (\d+)\nevent: [^\n]*\ndata: ([^\n]*)\n\n")
_WAIT_SECONDS = 60


class Follower(asyncio.Protocol):
    """One connection, and what arrived on it when."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._pieces: list[tuple[float, bytes]] = []
        self._news = asyncio.Event()
        self.is_greeted = asyncio.Event()
        self.is_over = False
        self.transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(self._request)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_over = True
        self.is_greeted.set()
        self._news.set()

    def data_received(self, data: bytes) -> None:
        self._pieces.append((time.monotonic(), data))
        self._news.set()
        if not self.is_greeted.is_set() and (b"retry:" in data or not self.head().startswith("HTTP/1.1 200")):
            self.is_greeted.set()

    async def heard(self, topic: str, count: int) -> dict[int, float]:
        """The same as `told`, once it is so many."""
        while len(told := self.told(topic)) < count:
            if self.is_over:
                raise RuntimeError(f"hung up after {len(told)} of {count} events")
            self._news.clear()
            await self._news.wait()
        return told

    def told(self, topic: str) -> dict[int, float]:
        """Number of each event of this topic, and the milliseconds it took from its beginning to here."""
        ends = list(accumulate(len(data) for _, data in self._pieces))
        took: dict[int, float] = {}
        for found in _EVENT.finditer(b"".join(data for _, data in self._pieces)):
            event = json.loads(found[2])["event"]
            if event.get("topic") == topic:
                number = int(found[1])
                if number in took:
                    raise RuntimeError(f"the event {number} arrived twice")
                arrived = self._pieces[bisect_left(ends, found.end())][0]
                took[number] = (arrived - event["numbers"]["began"]) * 1e3
        return took

    def head(self) -> str:
        """How it began, for whoever wants to know why nothing comes."""
        return b"".join(data for _, data in self._pieces)[:300].decode(errors="replace")


class Crowd:
    """All followers of one stream."""

    def __init__(self) -> None:
        self._followers: list[Follower] = []

    async def follow(self, port: int, path: str, token: str, count: int) -> Answer:
        """So many connections, each greeted."""
        request = (
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
            "Accept: text/event-stream\r\n\r\n"
        ).encode()
        loop = asyncio.get_running_loop()
        for _ in range(count):
            _, follower = await loop.create_connection(lambda: Follower(request), "127.0.0.1", port)
            self._followers.append(follower)
        async with asyncio.timeout(_WAIT_SECONDS):
            for follower in self._followers:
                await follower.is_greeted.wait()
                if not follower.head().startswith("HTTP/1.1 200"):
                    raise RuntimeError(f"not greeted: {follower.head()!r}")
        return {}

    async def took(self, topic: str, count: int) -> Answer:
        """Milliseconds of every event at every follower, once each has had so many; then all connections end."""
        async with asyncio.timeout(_WAIT_SECONDS):
            heard = [await each.heard(topic, count) for each in self._followers]
        if any([*told] != sorted(heard[0]) for told in heard):
            raise RuntimeError("not everybody was told the same in the same order")
        await self.leave()
        return {"ms": [round(ms, 2) for told in heard for ms in told.values()]}

    async def leave(self) -> Answer:
        """End every connection."""
        for follower in self._followers:
            if follower.transport is not None:
                follower.transport.close()
        self._followers.clear()
        return {}


async def main() -> None:
    """Answer the bench, then leave."""
    crowd = Crowd()
    await converse({"follow": crowd.follow, "took": crowd.took, "leave": crowd.leave})
    await crowd.leave()


if __name__ == "__main__":
    asyncio.run(main())
