"""`/notebooks/{id}/events` and `/events`: what happens now in a notebook, and in the whole house.

A notebook's events are live only: whoever connects is first sent how every cell stands.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Annotated, Any, Final

import anyio
from fastapi import Path
from starlette.responses import StreamingResponse

from cellwright.kernel.observation import Event
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.server.http import notebook_views as views
from cellwright.server.http.auth.dependencies import Reader
from cellwright.server.http.notebook_index import Index, NotebookIndex
from cellwright.server.http.resources import ApiResources, ApiRouter, Resources, shared
from cellwright.server.http.sse import EVENT_STREAM_RESPONSE, KEEPALIVE, RunListFeed, event_stream

router, notebook_router = ApiRouter(tags=["events"]), ApiRouter(tags=["notebooks"])
_POLL_INTERVAL_SECONDS: Final = 3.0
_POLLS_PER_KEEPALIVE: Final = 5
_NOTEBOOK_EVENTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}
}


@notebook_router.get("/notebooks/{id}/events", response_class=StreamingResponse, responses=_NOTEBOOK_EVENTS)
async def follow_notebook(
    _: Reader, resources: Resources, index: Index, id: Annotated[str, Path(min_length=1, max_length=200)]
) -> StreamingResponse:
    """What happens in a notebook's kernel."""
    return event_stream(_follow(resources, index, id, await index.get(id)))


async def _follow(
    resources: ApiResources, index: NotebookIndex, id: str, notebook: OpenNotebook
) -> AsyncGenerator[bytes]:
    """Until whoever reads has gone, or falls far behind, or the notebook is closed."""
    with index.opened.watching(id):
        async with notebook.observe() as events:
            yield _event("state", _state(notebook))
            looks = 0
            while index.opened.all().get(id) is notebook:
                event: Event | None = None
                with anyio.move_on_after(_POLL_INTERVAL_SECONDS):
                    try:
                        event = await events.receive()
                    except anyio.EndOfStream:
                        return
                if event is not None:
                    yield _event(*views.event_shape(event, resources.masker))
                elif (looks := looks + 1) % _POLLS_PER_KEEPALIVE == 0:
                    yield KEEPALIVE
            yield _event("closed", {"id": id})


def _state(notebook: OpenNotebook) -> dict[str, Any]:
    outcomes = views.live_outcomes(notebook)
    cells = [
        {"cell": cell.id, "status": outcomes[cell.id].status if cell.id in outcomes else "new"}
        for cell in notebook.document.cells
    ]
    return {"version": views.version_of(notebook.document), "cells": cells}


def _event(name: str, view: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(view)}\n\n".encode()


Feed = Annotated[RunListFeed, shared(lambda resources: RunListFeed(resources.records, resources.views))]


@router.get("/events", response_class=StreamingResponse, responses=EVENT_STREAM_RESPONSE)
async def follow_house(_: Reader, news: Feed) -> StreamingResponse:
    """Runs and questions of the whole house, as server-sent events."""
    return event_stream(news.follow())
