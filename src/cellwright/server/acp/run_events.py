"""Events of a run, as the API tells them, read again as what they are."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any, Final

from cellwright.journal.events import Recorded
from cellwright.runs.events import EVENT_TYPES
from cellwright.server.http.api_calls import ApiCalls

_PAGE: Final = 1_000


async def told_events(api: ApiCalls, run: str, after: int = 0) -> AsyncGenerator[Recorded]:
    """All there are now. Raises `ResourceNotFound`."""
    while True:
        page = await api.get(f"/runs/{run}/timeline", after=after, limit=_PAGE)
        for each in page["events"]:
            yield _recorded(each)
        if not page["events"]:
            return
        after = page["last"]


async def coming_events(api: ApiCalls, run: str, after: int) -> AsyncGenerator[Recorded]:
    """Those after this one, as they come; for ever. Raises `ResourceNotFound`."""
    begun = b""
    async with api.stream(f"/runs/{run}/events", after=after) as chunks:
        async for chunk in chunks:
            *blocks, begun = (begun + chunk).split(b"\n\n")
            for block in blocks:
                # What is only a draft yet has no number.
                if block.startswith(b"id: "):
                    yield _recorded(json.loads(block.partition(b"\ndata: ")[2]))


def _recorded(told: dict[str, Any]) -> Recorded:
    body = told["event"].get("body") if set(told["event"]) == {"body"} else None
    event = EVENT_TYPES.decode(told["kind"], body if body is not None else json.dumps(told["event"]))
    return Recorded(
        stream=told["stream"],
        sequence=told["sequence"],
        at_ms=told["at_ms"],
        event=event,
        link=told["link"],
        key=told["key"],
    )
