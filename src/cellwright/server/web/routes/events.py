"""`/runs/{run}/timeline`, `/runs/{run}/events` and `/events`: what happened, and what happens now."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Header, Query
from starlette.responses import StreamingResponse

from cellwright.journal import stream_of
from cellwright.server.web.house import House
from cellwright.server.web.house_news import HouseNews
from cellwright.server.web.run_finding import Reader, RunName, check_run
from cellwright.server.web.shapes.runs import RecordedEvent, Timeline
from cellwright.server.web.streaming import OF_EVENTS, StreamPages, event_stream

_TAGS: Final = ["events"]
_HIGHEST: Final = (1 << 63) - 1
After = Annotated[int, Query(ge=0, le=_HIGHEST, description="Only events with a higher number.")]
Limit = Annotated[int, Query(ge=1, le=1_000)]
LastEventId = Annotated[
    int | None,
    Header(alias="Last-Event-ID", ge=0, le=_HIGHEST, description="The last event that arrived; goes before `after`."),
]


def events_routes(house: House) -> APIRouter:
    """Events."""
    router = APIRouter(tags=[*_TAGS])
    log = house.live.records.log
    pages, news = StreamPages(log), HouseNews(house.live.records)

    @router.get("/runs/{run}/timeline", operation_id="read_timeline", summary="What happened in a run")
    async def read_timeline(_: Reader, run: RunName, after: After = 0, limit: Limit = 200) -> Timeline:
        await check_run(house.live.records, run)
        found = await log.read(stream_of(run), after, limit)
        events = [RecordedEvent.model_validate(recorded.json()) for recorded in found]
        return Timeline(events=events, last=events[-1].sequence if events else after)

    @router.get(
        "/runs/{run}/events",
        operation_id="follow_run",
        summary="What happens in a run, as server-sent events",
        response_class=StreamingResponse,
        responses=OF_EVENTS,
    )
    async def follow_run(
        _: Reader, run: RunName, after: After = 0, last_event_id: LastEventId = None
    ) -> StreamingResponse:
        await check_run(house.live.records, run)
        start = after if last_event_id is None else last_event_id
        return event_stream(pages.follow(stream_of(run), start))

    @router.get(
        "/events",
        operation_id="follow_house",
        summary="Runs and questions of the whole house, as server-sent events",
        response_class=StreamingResponse,
        responses=OF_EVENTS,
    )
    async def follow_house(_: Reader) -> StreamingResponse:
        return event_stream(news.follow())

    return router
