"""`/runs/{run}/timeline` and `/runs/{run}/events`: what happened in a run, and what happens now."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Header, Query
from starlette.responses import StreamingResponse

from cellwright.agents.drafts import DraftCursor
from cellwright.journal.names import stream_of
from cellwright.server.http.auth.dependencies import KnownRun, Reader, RunName, check_run
from cellwright.server.http.resources import ApiRouter, Resources, shared
from cellwright.server.http.schemas.runs import RecordedEvent, Timeline
from cellwright.server.http.sse import EVENT_STREAM_RESPONSE, StreamPages, event_stream

router = ApiRouter(tags=["events"])
_HIGHEST: Final = (1 << 63) - 1
Pages = Annotated[StreamPages, shared(lambda resources: StreamPages(resources.records.log))]
After = Annotated[int, Query(ge=0, le=_HIGHEST, description="Only events with a higher number.")]
Limit = Annotated[int, Query(ge=1, le=1_000)]
LastEventId = Annotated[
    int | None,
    Header(alias="Last-Event-ID", ge=0, le=_HIGHEST, description="The last event that arrived; goes before `after`."),
]


@router.get("/runs/{run}/timeline")
async def read_timeline(
    _: Reader, resources: Resources, run: KnownRun, after: After = 0, limit: Limit = 200
) -> Timeline:
    """What happened in a run."""
    found = await resources.records.log.read(stream_of(run), after, limit)
    events = [RecordedEvent.model_validate(recorded.json()) for recorded in found]
    return Timeline(events=events, last=events[-1].sequence if events else after)


@router.get("/runs/{run}/events", response_class=StreamingResponse, responses=EVENT_STREAM_RESPONSE)
async def follow_run(
    _: Reader, resources: Resources, pages: Pages, run: RunName, after: After = 0, last_event_id: LastEventId = None
) -> StreamingResponse:
    """What happens in a run, as server-sent events; between them, without an id, what its agents are being answered."""
    await check_run(resources, run)
    start = after if last_event_id is None else last_event_id
    drafts = DraftCursor(drafts=resources.live.drafts, run=run)
    return event_stream(pages.follow(stream_of(run), start, drafts))
