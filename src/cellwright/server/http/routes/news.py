"""`/runs/{run}/news` and `/report`: for programs that ask now and then, and for models: what happened, in words."""

from __future__ import annotations

from typing import Annotated, Final

import anyio
import anyio.to_thread
from fastapi import Query
from starlette.responses import Response

from cellwright.journal.names import stream_of
from cellwright.runs.deliver.report.markdown import report_markdown
from cellwright.runs.views.progress import delivery_of, progress_line
from cellwright.runs.views.research_view import delivered_text
from cellwright.runs.views.run_view import RunView, update_view
from cellwright.server.http.auth.dependencies import KnownStatus, Reader, RunName, check_run, status_of
from cellwright.server.http.errors import Conflict
from cellwright.server.http.resources import ApiResources, ApiRouter, Resources
from cellwright.server.http.routes.questions import asked_now
from cellwright.server.http.routes.run_events import After
from cellwright.server.http.schemas.model import ResponseModel
from cellwright.server.http.schemas.runs import AskedQuestion

router = ApiRouter(tags=["runs"])
_MOST_LINES: Final = 200
_LOOK_SECONDS: Final = 1.0
WaitSeconds = Annotated[float, Query(ge=0, le=25, description="How long to wait for news if there is none.")]


class RunNews(ResponseModel):
    """What happened in a run, in words."""

    run: str
    lines: list[str]
    """What somebody who watches would notice, the last of them."""
    last: int
    """The number of the last event; `after` of the next question."""
    is_over: bool
    questions: list[AskedQuestion]
    """What it asks now."""


@router.get("/runs/{run}/news")
async def read_news(
    _: Reader, resources: Resources, run: RunName, after: After = 0, wait_seconds: WaitSeconds = 0
) -> RunNews:
    """What happened in a run, in words; waits for something to happen."""
    grown = resources.records.log.growth.next()
    news, until = await _news(resources, run, after), anyio.current_time() + wait_seconds
    while not news.lines and not news.is_over and anyio.current_time() < until:
        # That a run is over is no event of its own: it is looked for now and then.
        with anyio.move_on_at(min(until, anyio.current_time() + _LOOK_SECONDS)):
            await grown.wait()
        grown = resources.records.log.growth.next()
        news = await _news(resources, run, after)
    return news


async def _news(resources: ApiResources, run: str, after: int) -> RunNews:
    await check_run(resources, run)
    view, lines, last = RunView(run=run), list[str](), after
    async for recorded in resources.records.log.read_all(stream_of(run), 0):
        if recorded.sequence > after:
            lines.append(progress_line(view, recorded.event))
            last = recorded.sequence
        view = update_view(view, recorded)
    # Read after the events: what is told to be asked is among the questions then.
    status = await status_of(resources, run)
    told = [resources.mask(line) for line in lines if line]
    return RunNews(
        run=run,
        lines=told[-_MOST_LINES:],
        last=last,
        is_over=not status.is_going,
        questions=asked_now(resources, status.questions),
    )


@router.get(
    "/runs/{run}/report",
    response_class=Response,
    responses={200: {"description": "Markdown", "content": {"text/markdown": {"schema": {"type": "string"}}}}},
)
async def read_report(_: Reader, resources: Resources, status: KnownStatus) -> Response:
    """What a run found, as markdown."""
    delivery = delivery_of(status.standing, await resources.views.of(status.run))
    if delivery is None:
        raise Conflict(f"The run {status.run!r} is still at work.", hint="Its news say when it is over.")
    written = await delivered_text(resources.records.log.read_all, status.run, delivery)
    text = await anyio.to_thread.run_sync(report_markdown, delivery, written)
    return Response(resources.mask(text), media_type="text/markdown")
