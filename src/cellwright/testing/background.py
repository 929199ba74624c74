"""Responses made in the background: begun once, fetched as often as one likes, whoever is still there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qs

import anyio
from anyio.abc import TaskGroup

from cellwright.testing.accounting import Counter, OpenCharge
from cellwright.testing.answers import Answer, Fault
from cellwright.testing.http_connection import HttpConnection, HttpRequest
from cellwright.testing.playback import EVENT_STREAM, Playback, SilenceBarrier
from cellwright.testing.wire.openai_chat import error_body
from cellwright.testing.wire.openai_responses import Status, response, response_id
from cellwright.testing.wire.reply import Event, Reply, dump, pieces_in

_PATH: Final = "/openai/v1/responses/"


@dataclass(slots=True, kw_only=True)
class Job:
    """One response in the making."""

    reply: Reply
    account: OpenCharge
    scope: anyio.CancelScope
    status: Status = "queued"
    events: list[Event]
    """All it will tell."""
    ready: int = 0
    """How many of the events exist by now."""
    changed: anyio.Event = field(default_factory=anyio.Event)

    def move(self, *, status: Status | None = None, ready: int | None = None) -> None:
        """Go on, and wake who waits for it."""
        self.status = status or self.status
        self.ready = self.ready if ready is None else ready
        self.changed.set()
        self.changed = anyio.Event()


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """All responses made in the background."""

    work: TaskGroup
    barrier: SilenceBarrier
    counter: Counter
    _jobs: dict[str, Job] = field(default_factory=dict[str, Job], init=False)

    def owns(self, path: str) -> bool:
        """Whether a path is about one of them."""
        return path.startswith(_PATH)

    async def begin(self, answer: Answer, reply: Reply, playback: Playback, account: OpenCharge) -> None:
        """Start to make it, and tell what there is."""
        fault = answer if isinstance(answer, Fault) else None
        events = list(playback.wire.events(reply, playback.asked))
        job = Job(reply=reply, account=account, scope=anyio.CancelScope(), events=events)
        self._jobs[response_id(reply.id)] = job
        self.work.start_soon(self._make, job, fault)
        if fault is not None and fault.kind == "drop" and not playback.asked.is_stream:
            await playback.connection.reset()
        elif playback.asked.is_stream:
            drop_after = fault.after_chunks if fault is not None and fault.kind == "drop" else None
            await _stream(job, playback.connection, since=0, drop_after=drop_after)
        else:
            await _respond(job, playback.connection)

    async def answer(self, request: HttpRequest, connection: HttpConnection) -> None:
        """Fetch one, go on reading one, or cancel one."""
        id, _, action = request.path.removeprefix(_PATH).partition("/")
        job, query = self._jobs.get(id), parse_qs(request.query)
        if job is None:
            return await connection.respond(404, dump(error_body(f"Response with id '{id}' not found.")))
        if action == "cancel":
            job.scope.cancel()
            if job.status in {"queued", "in_progress"}:
                job.move(status="cancelled")
        if query.get("stream") == ["true"]:
            return await _stream(job, connection, since=int(query.get("starting_after", ["-1"])[0]) + 1)
        await _respond(job, connection)

    async def _make(self, job: Job, fault: Fault | None) -> None:
        kind = None if fault is None else fault.kind
        with job.scope:
            if fault is not None and kind == "slow-first-byte":
                await self._wait(fault)
            job.move(status="in_progress")
            pieces, count = 0, pieces_in(job.events)
            for number, event in enumerate(job.events):
                if fault is not None and event.is_piece and pieces == fault.after_chunks:
                    if kind == "error-event":
                        job.move(status="failed")
                        return self.counter.notify()
                    if kind == "stall":
                        await self._wait(fault)
                pieces += event.is_piece
                await anyio.sleep(job.reply.chunk_seconds if event.is_piece else 0)
                job.account.deliver(pieces / max(count, 1))
                job.move(ready=number + 1)
            job.account.finish()
            job.move(status="completed" if job.reply.stop == "end" else "incomplete")
            self.counter.notify()

    async def _wait(self, fault: Fault) -> None:
        if fault.seconds is None:
            await self.barrier.wait()
        else:
            await anyio.sleep(fault.seconds)


async def _respond(job: Job, connection: HttpConnection) -> None:
    await connection.respond(200, dump(response(job.reply, status=job.status, is_background=True)))


async def _stream(job: Job, connection: HttpConnection, *, since: int, drop_after: int | None = None) -> None:
    """Its events from that number on, as they come to be."""
    await connection.begin(200, EVENT_STREAM)
    pieces = 0
    while since < len(job.events):
        while since >= job.ready:
            if job.status in {"cancelled", "failed"}:
                return await connection.finish()
            await job.changed.wait()
        event = job.events[since]
        if event.is_piece and pieces == drop_after:
            return await connection.reset()
        pieces += event.is_piece
        await connection.send(event.data)
        since += 1
    await connection.finish()
