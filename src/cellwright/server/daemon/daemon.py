"""The daemon: runs in one process, for every interface of this person, until it is told to end or nobody needs it.

Runs of an older version of the code are forked into this one at its start, with every step they have.
"""

from __future__ import annotations

import logging
import math
import os
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import partial
from typing import Final, NoReturn, assert_never

import anyio
import uvicorn

from cellwright.background import BackgroundProcess, listen
from cellwright.errors import CellwrightError
from cellwright.journal import RunId, stream_of
from cellwright.journal.log import beside
from cellwright.runs.events import RunCarriedOver
from cellwright.server.daemon.application import daemon_application
from cellwright.server.daemon.launch import DaemonStart, daemon_at
from cellwright.server.daemon.messages import DaemonStatus, DaemonVersion, WebAddress, When
from cellwright.server.daemon.predecessor import PredecessorProtocol
from cellwright.server.daemon.web_control import WebControl
from cellwright.server.executor import ExecutorOpener, RunExecutor
from cellwright.server.http.addresses import WebOptions
from cellwright.server.http.uvicorn_server import EmbeddedServer, run_server

logger = logging.getLogger(__name__)


async def fork_stranded_runs(carrier: RunExecutor) -> None:
    """Fork every run that nobody of this version goes on with; told in the old run's stream and in the log."""
    for run in await carrier.stranded():
        try:
            await _fork_stranded_run(carrier, run)
        except CellwrightError as problem:
            logger.error("The run %s cannot go on with this version: %s", run, problem.message)


async def _fork_stranded_run(carrier: RunExecutor, run: RunId) -> None:
    old = await carrier.records.status(run)
    new = await carrier.fork(run)
    version = (await carrier.records.status(new)).version
    words = f"Its code was of version {old.version}; it goes on as {new} with version {version}."
    await carrier.records.log.append(stream_of(run), RunCarriedOver(run=new, text=words))
    logger.info("The run %s: %s", run, words)


_ANSWER_TIMEOUT_SECONDS: Final = 20
"""How long what was asked may take to be answered once the daemon ends."""
_KEEP_ALIVE_SECONDS: Final = 30 * 24 * 3600
_CLOSE_TIMEOUT_SECONDS: Final = 90
"""How long everything may take to close; the journal's own limits are far below."""
_POLL_INTERVAL_SECONDS: Final = (0.05, 2.0)
OnReady = Callable[[WebAddress | None], None]
"""It listens now; with its web door, if that was asked for."""


async def run_daemon(start: DaemonStart, *, opener: ExecutorOpener, version: str, on_ready: OnReady) -> None:
    """Be the daemon of this state directory. Runs that were cut off go on at once.

    Raises `UserError` if its web door cannot be opened as asked.
    """
    resident, ending = daemon_at(start.settings.home), Shutdown()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(beside(partial(_receive_signals, ending, resident)))
        await stack.enter_async_context(beside(partial(_enforce_close_timeout, ending, resident)))
        carrier = await stack.enter_async_context(opener(start.settings))
        await fork_stranded_runs(carrier)
        daemon = Daemon(carrier, ending, start, version=version)
        logger.info("version %s listens", version)
        await daemon.serve(resident, on_ready)
        ending.ask("now", ending.why or "nobody needs it")
        logger.info("ends: %s", ending.why)
    logger.info("has ended")


class Shutdown:
    """Whether the daemon is to end."""

    def __init__(self) -> None:
        self.why = ""
        self.is_when_idle = False
        self.now = anyio.Event()
        self._news = anyio.Event()

    def ask(self, when: When, why: str) -> None:
        """End now, or as soon as no run is at work."""
        self.why = why
        match when:
            case "now":
                self.now.set()
            case "idle":
                self.is_when_idle = True
            case _:
                assert_never(when)
        self._news.set()

    async def news(self, wait_seconds: float) -> None:
        """Until something was asked, but not for longer."""
        with anyio.move_on_after(wait_seconds):
            await self._news.wait()
            self._news = anyio.Event()


class Daemon:
    """What interfaces reach over the socket."""

    def __init__(self, carrier: RunExecutor, ending: Shutdown, start: DaemonStart, *, version: str) -> None:
        self.version = DaemonVersion(pid=os.getpid(), version=version)
        self._carrier = carrier
        self._ending = ending
        self._start = start
        self._idle_seconds = start.idle_seconds
        self._since = datetime.now(UTC)
        self._web = WebControl(carrier, start.settings)
        self._server = EmbeddedServer(self._server_config())
        self._tasks = anyio.create_task_group()

    async def serve(self, resident: BackgroundProcess, on_ready: OnReady) -> None:
        """Until it is time to end; then nobody finds it, and what was asked is answered."""
        problem = None
        async with self._tasks as tasks:
            tasks.start_soon(run_server, self._server, listen(resident))
            try:
                on_ready(await self._web_as_told())
                await self._until_over()
            except CellwrightError as error:
                problem = error
            # Nothing is awaited from the decision on: nobody is let in and then left standing.
            resident.file("sock").unlink(missing_ok=True)
            self._server.refuse_requests()
            self._web.close()
            tasks.cancel_scope.deadline = anyio.current_time() + _ANSWER_TIMEOUT_SECONDS

        if problem is not None:
            raise problem

    async def status(self) -> DaemonStatus:
        """How it is doing."""
        return DaemonStatus(
            pid=self.version.pid,
            version=self.version.version,
            since=self._since.isoformat(timespec="seconds"),
            runs_at_work=await self._carrier.at_work(),
            connections=self._connections,
            idle_seconds=None if math.isinf(self._idle_seconds) else self._idle_seconds,
            web=self._web.origin,
        )

    def stop(self, when: When, why: str) -> None:
        """End now, or as soon as no run is at work."""
        self._ending.ask(when, why or "a command said so")

    async def open_web(self, options: WebOptions | None) -> WebAddress:
        """A fresh address; the web server is opened first if it is not open and there are options."""
        return await self._web.address(options, self._tasks)

    def _server_config(self) -> uvicorn.Config:
        protocol = type("DaemonProtocol", (PredecessorProtocol,), {"version": self.version})
        return uvicorn.Config(
            daemon_application(self, self._carrier, self._start.settings),
            http=protocol,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            proxy_headers=False,
            # A connection that waits says that somebody is there: the daemon is not idle then.
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=_ANSWER_TIMEOUT_SECONDS,
        )

    @property
    def _connections(self) -> int:
        return len(self._server.server_state.connections)

    async def _web_as_told(self) -> WebAddress | None:
        return await self.open_web(self._start.web) if self._start.web is not None else None

    async def _until_over(self) -> None:
        shortest, longest = _POLL_INTERVAL_SECONDS
        look_seconds = min(max(self._idle_seconds / 10, shortest), longest)
        needed_at = anyio.current_time()
        while not self._ending.now.is_set():
            if await self._is_needed():
                needed_at = anyio.current_time()
            elif self._ending.is_when_idle or anyio.current_time() - needed_at >= self._idle_seconds:
                return
            await self._ending.news(look_seconds)

    async def _is_needed(self) -> bool:
        if math.isinf(self._idle_seconds) and not self._ending.is_when_idle:
            return True
        try:
            has_work = await self._carrier.at_work() > 0
        except CellwrightError as problem:
            logger.warning("cannot count the runs at work: %s", problem.message)
            return True
        return has_work or (self._connections + self._web.visitors > 0 and not self._ending.is_when_idle)


async def _receive_signals(ending: Shutdown, resident: BackgroundProcess) -> None:
    """The first ends it in order, the second at once."""
    has_heard = False
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        async for number in signals:
            if has_heard:
                _end_at_once(resident, "told so twice")
            has_heard = True
            ending.ask("now", signal.Signals(number).name)


async def _enforce_close_timeout(ending: Shutdown, resident: BackgroundProcess) -> None:
    await ending.now.wait()
    await anyio.sleep(_CLOSE_TIMEOUT_SECONDS)
    _end_at_once(resident, f"not closed after {_CLOSE_TIMEOUT_SECONDS} s")


def _end_at_once(resident: BackgroundProcess, why: str) -> NoReturn:
    """What is in flight goes on at the next start, as after any crash; kernels end with their starter."""
    logger.error("ends at once: %s", why)
    resident.file("sock").unlink(missing_ok=True)
    os._exit(1)
