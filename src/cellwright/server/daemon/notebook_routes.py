"""Running one notebook for a command, on the daemon's warm zygote: told line by line as it goes.

Each line is a JSON object with one name: `note`, `cell`, `question`, and last `result` or `problem`. Whoever hangs up
ends it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectSendStream
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import StreamingResponse

from cellwright.app.notebook_choice import TypedOptions, open_options
from cellwright.app.notebook_runs import run_notebook
from cellwright.errors import CellwrightError
from cellwright.remedies import Remedy, remedy_json
from cellwright.sandbox.host.file_changes import UnkeptChanges
from cellwright.server.daemon.daemon import Daemon
from cellwright.server.daemon.messages import KeepChangesBody, RunNotebookBody
from cellwright.server.executor import RunExecutor
from cellwright.server.http.auth.dependencies import Steerer
from cellwright.server.http.errors import ResourceNotFound
from cellwright.server.http.problems import error_response
from cellwright.settings import Settings


@dataclass(slots=True)
class _KeepQuestion:
    """Whether changed files are kept, until the person says so."""

    answered: anyio.Event = field(default_factory=anyio.Event)
    keep: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _CommandedRun:
    """One notebook that a command waits for."""

    said: RunNotebookBody
    live: RunExecutor
    settings: Settings
    questions: dict[str, _KeepQuestion]
    told: MemoryObjectSendStream[dict[str, Any]]
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    async def run(self) -> None:
        """Until it is over, or whoever waits has hung up."""
        with self.told, self.scope:
            try:
                self._tell(result=_plain(await self._result()))
            except CellwrightError as error:
                self._tell(problem=json.loads(bytes(error_response(error, str).body)))

    async def _result(self) -> dict[str, Any]:
        said = self.said
        typed = said.model_dump(exclude={"path", "may_ask", "connection"})
        settings = await anyio.to_thread.run_sync(self.settings.for_command, said.connection)
        return await run_notebook(
            Path(said.path),
            self._tell_cell,
            pool=self.live.pool,
            settings=settings,
            on_progress=self._tell_note,
            ask_to_keep=self._ask if said.may_ask else None,
            **open_options(TypedOptions(**typed)),
        )

    def _tell_note(self, text: str) -> None:
        self._tell(note=text)

    async def _tell_cell(self, cell: dict[str, Any]) -> None:
        self._tell(cell=cell)

    async def _ask(self, asked: UnkeptChanges) -> bool:
        name, question = secrets.token_urlsafe(12), _KeepQuestion()
        self.questions[name] = question
        try:
            self._tell(question={"id": name, "reason": asked.reason})
            await question.answered.wait()
            return question.keep
        finally:
            del self.questions[name]

    def _tell(self, **line: Any) -> None:
        self.told.send_nowait(line)


def notebook_routes(daemon: Daemon, live: RunExecutor, settings: Settings) -> APIRouter:
    """For commands that would otherwise warm up a zygote of their own."""
    router = APIRouter(prefix="/notebook-runs")
    questions: dict[str, _KeepQuestion] = {}

    @router.post("")
    async def run(_: Steerer, request: Request, said: RunNotebookBody) -> StreamingResponse:
        send, receive = anyio.create_memory_object_stream[dict[str, Any]](float("inf"))
        commanded = _CommandedRun(said=said, live=live, settings=settings, questions=questions, told=send)

        async def hear_hanging_up() -> None:
            # Sending would tell, but a cell may say nothing for hours.
            while (await request.receive())["type"] != "http.disconnect":
                pass
            commanded.scope.cancel()

        async def lines() -> AsyncGenerator[bytes]:
            # Not in a task group of this generator: it is ended from outside, between two lines.
            daemon.start_soon(commanded.run)
            daemon.start_soon(hear_hanging_up)
            try:
                with receive:
                    async for line in receive:
                        yield json.dumps(line).encode() + b"\n"
            finally:
                commanded.scope.cancel()

        return StreamingResponse(lines(), media_type="application/x-ndjson")

    @router.post("/questions/{question}", status_code=204)
    async def answer(_: Steerer, question: str, said: KeepChangesBody) -> None:
        if (found := questions.get(question)) is None:
            raise ResourceNotFound("Nobody asks that any more.")
        found.keep = said.keep
        found.answered.set()

    return router


def _plain(result: dict[str, Any]) -> dict[str, Any]:
    """The result with its hint as JSON: a remedy is put in words by whoever shows it."""
    held_back = result["held_back"]
    if held_back is not None and isinstance(hint := held_back["hint"], Remedy):
        held_back["hint"] = remedy_json(hint)
    return result
