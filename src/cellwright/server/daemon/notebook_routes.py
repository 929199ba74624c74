"""Running or verifying one notebook for a command, on the daemon's warm zygote: told line by line as it goes.

Each line is a JSON object with one name: `note`, `cell`, `question`, and last `result` or `problem`. Whoever hangs up
ends it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import StreamingResponse

from cellwright.app.notebook_choice import TypedOptions, open_options
from cellwright.app.notebook_runs import run_notebook
from cellwright.app.verification import verification_result, verify_notebook
from cellwright.errors import CellwrightError
from cellwright.remedies import Hint, Remedy, remedy_json
from cellwright.sandbox.host.file_changes import UnkeptChanges
from cellwright.server.daemon.daemon import Daemon
from cellwright.server.daemon.messages import KeepChangesBody, NotebookBody, RunNotebookBody, VerifyNotebookBody
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


Line = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Commanded:
    """One notebook that a command waits for."""

    live: RunExecutor
    settings: Settings
    questions: dict[str, _KeepQuestion]
    told: MemoryObjectSendStream[Line]
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    async def follow(self, work: Callable[[], Awaitable[Line]]) -> None:
        """Until it is over, or whoever waits has hung up."""
        with self.told, self.scope:
            try:
                self._tell(result=await work())
            except CellwrightError as error:
                self._tell(problem=json.loads(bytes(error_response(error, str).body)))

    async def run(self, said: RunNotebookBody) -> Line:
        """All cells from top to bottom."""
        result = await run_notebook(
            Path(said.path),
            self._tell_cell,
            ask_to_keep=self._ask if said.may_ask else None,
            **await self._options(said, {"may_ask"}),
        )
        if held_back := result["held_back"]:
            held_back["hint"] = _plain(held_back["hint"])
        return result

    async def verify(self, said: VerifyNotebookBody) -> Line:
        """Twice from scratch, and a proof that is kept if all is well."""
        options = await self._options(said, {"seconds", "is_strict"})
        outcome = await verify_notebook(Path(said.path), seconds=said.seconds, is_strict=said.is_strict, **options)
        result = verification_result(*outcome)
        for reason in result["reasons"]:
            reason["hint"] = _plain(reason["hint"])
        return result

    async def _options(self, said: NotebookBody, own: set[str]) -> dict[str, Any]:
        typed = said.model_dump(exclude={"path", "connection", *own})
        settings = await anyio.to_thread.run_sync(self.settings.for_command, said.connection)
        options = open_options(TypedOptions(**typed))
        return {"pool": self.live.pool, "settings": settings, "on_progress": self._tell_note, **options}

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
    router = APIRouter()
    questions: dict[str, _KeepQuestion] = {}

    def commanded() -> tuple[_Commanded, MemoryObjectReceiveStream[Line]]:
        send, receive = anyio.create_memory_object_stream[Line](float("inf"))
        return _Commanded(live=live, settings=settings, questions=questions, told=send), receive

    @router.post("/notebook-runs")
    async def run(_: Steerer, request: Request, said: RunNotebookBody) -> StreamingResponse:
        begun, told = commanded()
        return _streamed(daemon, request, begun, told, lambda: begun.run(said))

    @router.post("/notebook-verifications")
    async def verify(_: Steerer, request: Request, said: VerifyNotebookBody) -> StreamingResponse:
        begun, told = commanded()
        return _streamed(daemon, request, begun, told, lambda: begun.verify(said))

    @router.post("/notebook-runs/questions/{question}", status_code=204)
    async def answer(_: Steerer, question: str, said: KeepChangesBody) -> None:
        if (found := questions.get(question)) is None:
            raise ResourceNotFound("Nobody asks that any more.")
        found.keep = said.keep
        found.answered.set()

    return router


def _streamed(
    daemon: Daemon,
    request: Request,
    begun: _Commanded,
    told: MemoryObjectReceiveStream[Line],
    work: Callable[[], Awaitable[Line]],
) -> StreamingResponse:
    async def hear_hanging_up() -> None:
        # Sending would tell, but a cell may say nothing for hours.
        while (await request.receive())["type"] != "http.disconnect":
            pass
        begun.scope.cancel()

    async def lines() -> AsyncGenerator[bytes]:
        # Not in a task group of this generator: it is ended from outside, between two lines.
        daemon.start_soon(lambda: begun.follow(work))
        daemon.start_soon(hear_hanging_up)
        try:
            with told:
                async for line in told:
                    yield json.dumps(line).encode() + b"\n"
        finally:
            begun.scope.cancel()

    return StreamingResponse(lines(), media_type="application/x-ndjson")


def _plain(hint: Hint) -> Any:
    """A hint as JSON: a remedy is put in words by whoever shows it."""
    return remedy_json(hint) if isinstance(hint, Remedy) else hint
