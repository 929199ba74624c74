"""The daemon, as doors see it: one connection, one request at a time; a daemon that dies is started again."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.abc import SocketStream

from cellwright.background import running_pid
from cellwright.errors import Defect, Unavailable
from cellwright.framing import BadFrame, FrameUnpacker
from cellwright.journal import RunId
from cellwright.journal.names import new_run_id, run_id
from cellwright.models.client.socket_stream import open_stream
from cellwright.runs import Goal
from cellwright.server.daemon.handshake import OnNote, find_daemon, find_or_start_daemon
from cellwright.server.daemon.launch import DaemonLaunch, daemon_at
from cellwright.server.daemon.protocol import (
    MAX_ANSWER,
    CancelRequest,
    DaemonAnswer,
    DaemonRequest,
    DaemonStatus,
    DaemonWelcome,
    DoneAnswer,
    ErrorAnswer,
    ForkRequest,
    RedoRequest,
    ResumeRequest,
    RetryRequest,
    RevisionAnswer,
    StartRequest,
    StatusRequest,
    StopRequest,
    UndoRequest,
    WebAddress,
    WebRequest,
    When,
    pack_request,
    read_answer,
)
from cellwright.server.executor import ExecutorOpener, InProcessRuns, RunClient, open_executor
from cellwright.server.http.addresses import WebOptions
from cellwright.settings import Settings

_ANSWER_TIMEOUT_SECONDS: Final = 180
"""A daemon with fifty runs at work may take its time."""
_MAX_ATTEMPTS: Final = 3
MakeRequest = Callable[[int], DaemonRequest]
"""A request, given its number."""
_CONNECTION_LOST: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)


@asynccontextmanager
async def connect(
    settings: Settings, *, start: bool = True, on_note: OnNote = lambda text: None, launch: DaemonLaunch | None = None
) -> AsyncGenerator[DaemonClient]:
    """The daemon of this state directory, started if there is none, and replaced if it is of an older version.

    Without `start`, the one that runs, of whichever version: only `status` and `stop` are sure to be understood.
    Raises `Unavailable` if there is none or it cannot be started, `RefusedByPolicy` if it is another user's.
    """
    daemon = DaemonClient(settings, launch or DaemonLaunch(), on_note, is_starting=start)
    try:
        await daemon.link()
        yield daemon
    finally:
        with anyio.CancelScope(shield=True):
            await daemon.leave()


@asynccontextmanager
async def runs_here_or_there(
    settings: Settings, on_note: OnNote, *, launch: DaemonLaunch | None = None, opener: ExecutorOpener = open_executor
) -> AsyncGenerator[RunClient]:
    """Runs in the daemon; in this process, and said so, if there can be none."""
    async with AsyncExitStack() as stack:
        yield await _open_client(stack, settings, on_note, launch, opener)


async def _open_client(
    stack: AsyncExitStack, settings: Settings, on_note: OnNote, launch: DaemonLaunch | None, opener: ExecutorOpener
) -> RunClient:
    try:
        return await stack.enter_async_context(connect(settings, on_note=on_note, launch=launch))
    except Unavailable as problem:
        # One that runs, newer than us or hanging, has the journal: nobody else can work.
        if await anyio.to_thread.run_sync(running_pid, daemon_at(settings.home)) is not None:
            raise
        on_note(f"{problem.message} {problem.hint} Runs work in this process instead, and rest when it ends.")
    return InProcessRuns(await stack.enter_async_context(opener(settings)))


class DaemonClient:
    """Runs that go on whether or not this process does. `async with connect(settings) as daemon`."""

    def __init__(self, settings: Settings, launch: DaemonLaunch, on_note: OnNote, *, is_starting: bool) -> None:
        self._settings = settings
        self._launch = launch
        self._on_note = on_note
        self._is_starting = is_starting
        self._stream: SocketStream | None = None
        self._asking = anyio.Lock()
        self._numbers = 0

    @property
    def is_daemon(self) -> bool:
        """Runs go on when this process ends."""
        return True

    async def start(self, goal: Goal, *, run: str | None = None, connection: Mapping[str, str] | None = None) -> RunId:
        """Begin a run; durable once it returns. An id that is taken means that run.

        It connects as this process would, wherever the daemon was started, unless `connection` says otherwise.
        """
        chosen = run_id(run) if run is not None else new_run_id()
        own = self._settings.connection.variables
        asked = partial(StartRequest, goal=goal, run=chosen, connection=own if connection is None else dict(connection))
        return await self._run_of(lambda number: asked(number=number), is_repeatable=True)

    async def cancel(self, run: str, *, reason: str = "cancelled") -> None:
        """Stop a run for good."""
        await self._done(lambda number: CancelRequest(number=number, run=run, reason=reason), is_repeatable=True)

    async def retry(self, run: str, task: str, *, person: str) -> RunId:
        """Do a task again: in the same run while it is at work, in a new one that continues it afterwards."""
        asked = partial(RetryRequest, run=run, task=task, person=person)
        return await self._run_of(lambda number: asked(number=number), is_repeatable=False)

    async def fork(self, run: str, *, from_step: int | None = None) -> RunId:
        """A new run with the old one's steps below `from_step`."""
        return await self._run_of(
            lambda number: ForkRequest(number=number, run=run, from_step=from_step), is_repeatable=False
        )

    async def resume(self, run: str, *, person: str) -> None:
        """Let a cancelled or dead run go on."""
        await self._done(lambda number: ResumeRequest(number=number, run=run, person=person), is_repeatable=True)

    async def undo(
        self, run: str, *, person: str, step: int | None = None, before: str | None = None
    ) -> RevisionAnswer:
        """Take back what a run at work did to its notebook, or one change of it, or go to before one of its cells."""
        return await self._taken_back(
            lambda number: UndoRequest(number=number, run=run, person=person, step=step, before=before)
        )

    async def redo(self, run: str, *, person: str) -> RevisionAnswer:
        """Take back the last undo of a run at work."""
        return await self._taken_back(lambda number: RedoRequest(number=number, run=run, person=person))

    async def status(self) -> DaemonStatus:
        """How the daemon is doing."""
        match await self._exchange(lambda number: StatusRequest(number=number), is_repeatable=True):
            case DaemonStatus() as standing:
                return standing
            case other:
                raise _unexpected(other)

    async def web(self, wish: WebOptions | None = None) -> WebAddress:
        """A fresh address of its web door, which is opened if it is not open and there is a `wish`.

        Raises `UserError` if it is not open, or cannot be.
        """
        match await self._exchange(lambda number: WebRequest(number=number, wish=wish), is_repeatable=True):
            case WebAddress() as opened:
                return opened
            case other:
                raise _unexpected(other)

    async def stop(self, when: When = "now", *, why: str = "") -> None:
        """Let it end: now, what is in flight goes on at the next start; or as soon as no run is at work."""
        await self._done(lambda number: StopRequest(number=number, when=when, why=why), is_repeatable=False)

    async def link(self) -> SocketStream:
        """The connection; a new one, to a new daemon if need be, if there is none."""
        if self._stream is None:
            self._stream = await open_stream(self._find)
        return self._stream

    async def leave(self) -> None:
        """Close the connection; the next request opens another."""
        stream, self._stream = self._stream, None
        if stream is not None:
            await anyio.aclose_forcefully(stream)

    # ── inside ──

    def _find(self) -> socket.socket:
        if self._is_starting:
            note = partial(anyio.from_thread.run_sync, self._on_note)
            return find_or_start_daemon(self._settings, self._launch, note)
        found = find_daemon(self._settings, self._launch)
        if found is None:
            raise Unavailable("No daemon runs.", hint="`cellwright serve --detach` starts one.")
        return found

    async def _done(self, ask: MakeRequest, *, is_repeatable: bool) -> None:
        match await self._exchange(ask, is_repeatable=is_repeatable):
            case DoneAnswer():
                return
            case other:
                raise _unexpected(other)

    async def _taken_back(self, ask: MakeRequest) -> RevisionAnswer:
        match await self._exchange(ask, is_repeatable=False):
            case RevisionAnswer() as said:
                return said
            case other:
                raise _unexpected(other)

    async def _run_of(self, ask: MakeRequest, *, is_repeatable: bool) -> RunId:
        match await self._exchange(ask, is_repeatable=is_repeatable):
            case DoneAnswer(run=run):
                return run_id(run)
            case other:
                raise _unexpected(other)

    async def _exchange(self, ask: MakeRequest, *, is_repeatable: bool) -> DaemonAnswer:
        """One request, one answer; asked again of the next daemon if this one ends meanwhile and it does no harm."""
        async with self._asking:
            for _ in range(_MAX_ATTEMPTS if is_repeatable else 1):
                self._numbers += 1
                try:
                    answer = await self._ask_once(ask(self._numbers))
                except _CONNECTION_LOST:
                    continue
                if isinstance(answer, ErrorAnswer):
                    if not answer.number:
                        await self.leave()
                    raise answer.error
                return answer
        raise Unavailable("The daemon ended before it answered.", hint="See `cellwright runs list`, then try again.")

    async def _ask_once(self, request: DaemonRequest) -> DaemonAnswer:
        """A connection on which an answer is still to come is of no further use."""
        stream, frame = await self.link(), pack_request(request)
        try:
            with anyio.fail_after(_ANSWER_TIMEOUT_SECONDS):
                await stream.send(frame)
                return await _answer(stream, request.number)
        except (TimeoutError, BadFrame) as problem:
            await self.leave()
            raise daemon_at(self._settings.home).silent() from problem
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.leave()
            raise


async def _answer(stream: SocketStream, number: int) -> DaemonAnswer:
    unpacker = FrameUnpacker(MAX_ANSWER)
    while True:
        for payload in unpacker.feed(await stream.receive()):
            match read_answer(payload):
                case DaemonWelcome():
                    raise BadFrame("a second welcome")
                case answer if answer.number in {number, 0}:
                    return answer
                case _:
                    raise BadFrame("an answer to what was not asked")


def _unexpected(answer: DaemonAnswer) -> Defect:
    return Defect(f"The daemon answered with {type(answer).__name__}.")
