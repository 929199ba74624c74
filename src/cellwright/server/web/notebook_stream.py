"""`/notebooks/{id}/events`: what happens in a notebook's kernel, as server-sent events.

Live only: whoever comes, or comes back, is first told how every cell stands, so nothing has to be told twice.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Annotated, Any, Final

import anyio
from anyio.abc import ObjectReceiveStream
from fastapi import APIRouter, Depends, Path
from starlette.responses import StreamingResponse

from cellwright.kernel import Event, OpenNotebook
from cellwright.server.web import notebook_views as views
from cellwright.server.web.admission import needs
from cellwright.server.web.callers import Caller
from cellwright.server.web.house import House
from cellwright.server.web.notebook_places import Notebooks

_LOOK_SECONDS: Final = 3.0
_LOOKS_PER_BEAT: Final = 5


def notebook_stream(house: House, places: Notebooks) -> APIRouter:
    """The stream of a notebook's events."""
    router = APIRouter()

    @router.get(
        "/notebooks/{id}/events",
        operation_id="follow_notebook",
        summary="What happens in a notebook's kernel",
        tags=["notebooks"],
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    )
    async def follow_notebook(
        _: Annotated[Caller, Depends(needs("read"))], id: Annotated[str, Path(min_length=1, max_length=200)]
    ) -> StreamingResponse:
        notebook = await places.get(id)
        return StreamingResponse(
            _told(house, places, id, notebook),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    return router


async def _told(house: House, places: Notebooks, id: str, notebook: OpenNotebook) -> AsyncGenerator[str]:
    """Until whoever reads has gone, or falls far behind, or the notebook is closed."""
    with places.watching(id):
        async with notebook.observe() as events:
            yield _event("state", _state(notebook))
            looks = 0
            while places.live().get(id) is notebook:
                found = await _next(events)
                if isinstance(found, bool):
                    looks += 1
                    if not found:
                        return
                    if looks % _LOOKS_PER_BEAT == 0:
                        yield ": still here\n\n"
                else:
                    yield _event(*views.event_shape(found, house.masker))
            yield _event("closed", {"id": id})


async def _next(events: ObjectReceiveStream[Event]) -> Event | bool:
    """The next event; True if there was none for a while, False if there will be none."""
    with anyio.move_on_after(_LOOK_SECONDS):
        try:
            return await events.receive()
        except anyio.EndOfStream:
            return False
    return True


def _state(notebook: OpenNotebook) -> dict[str, Any]:
    outcomes = views.live_outcomes(notebook)
    cells = [
        {"cell": cell.id, "status": outcomes[cell.id].status if cell.id in outcomes else "new"}
        for cell in notebook.document.cells
    ]
    return {"version": views.version_of(notebook.document), "cells": cells}


def _event(name: str, told: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(told, ensure_ascii=True)}\n\n"
