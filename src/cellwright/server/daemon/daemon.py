"""The daemon: runs in one process, for every interface of this person, until it is told to end or nobody needs it.

Runs of an older version of the code are forked into this one at its start, with every step they have.
"""

from __future__ import annotations

import importlib
import logging
import math
import os
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
from anyio.abc import TaskStatus
from starlette.types import ASGIApp

from cellwright.background import BackgroundProcess, listen
from cellwright.errors import CellwrightError, UserError
from cellwright.journal.names import stream_of
from cellwright.remedies import remedy
from cellwright.runs.events import RunCarriedOver
from cellwright.server.daemon.launch import DaemonStart
from cellwright.server.daemon.messages import DaemonStatus, DaemonVersion, WebAddress, When
from cellwright.server.daemon.predecessor import PredecessorProtocol
from cellwright.server.executor import RunExecutor
from cellwright.server.http.addresses import WebOptions
from cellwright.server.http.uvicorn_server import EmbeddedServer, run_server, server_config
from cellwright.server.run_starts import RunStarts

if TYPE_CHECKING:
    from cellwright.app.live_notebooks import LiveNotebooks
    from cellwright.server.daemon.web_server import WebServer

logger = logging.getLogger(__name__)


async def fork_stranded_runs(executor: RunExecutor) -> None:
    """Fork every run that nobody of this version goes on with; told in the old run's stream and in the log."""
    for run in await executor.stranded():
        try:
            old = await executor.records.status(run)
            new = await executor.fork(run)
            version = (await executor.records.status(new)).version
            words = f"Its code was of version {old.version}; it goes on as {new} with version {version}."
            await executor.records.log.append(stream_of(run), RunCarriedOver(run=new, text=words))
            logger.info("The run %s: %s", run, words)
        except CellwrightError as problem:
            logger.error("The run %s cannot go on with this version: %s", run, problem.message)


_ANSWER_TIMEOUT_SECONDS: Final = 20
"""How long what was asked may take to be answered once the daemon ends."""
_KEEP_ALIVE_SECONDS: Final = 30 * 24 * 3600
_POLL_INTERVAL_SECONDS: Final = (0.05, 2.0)
OnReady = Callable[[WebAddress | None], None]
"""It listens now; with its web server, if that was asked for."""


class Shutdown:
    """Whether the daemon is to end."""

    def __init__(self) -> None:
        self.why = ""
        self.is_when_idle = False
        self.now = anyio.Event()
        self._requested = anyio.Event()

    def request(self, when: When, why: str) -> None:
        """End now, or as soon as no run is at work."""
        self.why = why
        if when == "now":
            self.now.set()
        else:
            self.is_when_idle = True
        self._requested.set()

    async def wait(self, wait_seconds: float) -> None:
        """Until something was asked, but not for longer."""
        with anyio.move_on_after(wait_seconds):
            await self._requested.wait()
            self._requested = anyio.Event()


class Daemon:
    """What interfaces reach over the socket."""

    _server: EmbeddedServer

    def __init__(self, executor: RunExecutor, ending: Shutdown, start: DaemonStart, *, version: str) -> None:
        self.version = DaemonVersion(pid=os.getpid(), version=version)
        self.starts: Final = RunStarts(executor)
        """How runs begin here, for every interface."""
        self._executor = executor
        self._ending = ending
        self._start = start
        self._idle_seconds = start.idle_seconds
        self._since = datetime.now(UTC)
        self._tasks = anyio.create_task_group()
        self._web: WebServer | None = None
        self._opening_web = anyio.Lock()
        self._opened: LiveNotebooks | None = None
        self._opening_notebooks = anyio.Lock()
        self._over = anyio.Event()

    async def serve(self, app: ASGIApp, process: BackgroundProcess, on_ready: OnReady) -> None:
        """Until it is time to end; then nobody finds it, and what was asked is answered."""
        problem = None
        config = server_config(
            app,
            http=type("DaemonProtocol", (PredecessorProtocol,), {"version": self.version}),
            ws="none",
            proxy_headers=False,
            # A connection that waits says that somebody is there: the daemon is not idle then.
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=_ANSWER_TIMEOUT_SECONDS,
        )
        self._server = EmbeddedServer(config)
        async with self._tasks as tasks:
            tasks.start_soon(run_server, self._server, listen(process))
            try:
                on_ready(await self.open_web(self._start.web) if self._start.web is not None else None)
                await self._until_over()
            except CellwrightError as error:
                problem = error
            # Nothing is awaited from the decision on: nobody is let in and then not answered.
            process.file("sock").unlink(missing_ok=True)
            self._server.refuse_requests()
            self._over.set()
            tasks.cancel_scope.deadline = anyio.current_time() + _ANSWER_TIMEOUT_SECONDS

        if problem is not None:
            raise problem

    async def status(self) -> DaemonStatus:
        """How it is doing."""
        return DaemonStatus(
            pid=self.version.pid,
            version=self.version.version,
            since=self._since.isoformat(timespec="seconds"),
            runs_at_work=await self._executor.at_work(),
            connections=self._connections,
            idle_seconds=None if math.isinf(self._idle_seconds) else self._idle_seconds,
            web=self.web_origin,
        )

    def start_soon(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do this for as long as it takes, but not longer than the daemon lives."""
        self._tasks.start_soon(work)

    def stop(self, when: When, why: str) -> None:
        """End now, or as soon as no run is at work."""
        self._ending.request(when, why or "a command said so")

    async def open_web(self, options: WebOptions | None) -> WebAddress:
        """A fresh address; the web server is opened first if it is not open and there are options.

        Raises `UserError` without either, or if it cannot be opened so.
        """
        async with self._opening_web:
            if self._web is None:
                if options is None:
                    raise UserError("The control room is not open.", hint=remedy("open_web"))
                await self._tasks.start(self._hold_web, options)
            server = self._web
            if server is None:
                raise UserError("The control room has closed.", hint=remedy("open_web"))
            return WebAddress(origin=server.addresses.origin, url=server.url(), folder=str(server.folder))

    @property
    def web_origin(self) -> str:
        """Where its web server is; empty: not open."""
        return self._web.addresses.origin if self._web is not None else ""

    async def wait_until_over(self) -> None:
        """Until it is time to end: whoever would go on for ever ends then."""
        await self._over.wait()

    async def live_notebooks(self) -> LiveNotebooks:
        """Where people and their programs open notebooks: one place, so that a file has one kernel."""
        async with self._opening_notebooks:
            if self._opened is None:
                self._opened = await self._tasks.start(self._hold_notebooks)
            return self._opened

    async def _hold_notebooks(self, *, task_status: TaskStatus[LiveNotebooks]) -> None:
        from cellwright.app.live_notebooks import open_live_notebooks

        executor = self._executor
        notebooks = open_live_notebooks(self._start.settings, of_runs=lambda: executor.notebooks, pool=executor.pool)
        try:
            async with notebooks as opened:
                with executor.yielding_to(opened.release):
                    task_status.started(opened)
                    await self._over.wait()
        finally:
            # Whoever asks next gets a place that is open.
            self._opened = None

    async def _hold_web(self, options: WebOptions, *, task_status: TaskStatus[None]) -> None:
        # The server and everything behind it: half a second that only a daemon with a web server pays.
        await anyio.to_thread.run_sync(importlib.import_module, "cellwright.server.daemon.web_server")
        from cellwright.server.daemon.web_server import open_web_server

        try:
            opened = await self.live_notebooks()
            async with open_web_server(self._executor, self._start.settings, options, opened, self.starts) as self._web:
                task_status.started()
                await self._over.wait()
        except Exception:
            if self._web is None:
                raise
            # Runs go on: a page is only one way to watch them.
            logger.exception("the web server failed")
        finally:
            self._web = None

    @property
    def _connections(self) -> int:
        return len(self._server.server_state.connections)

    async def _until_over(self) -> None:
        shortest, longest = _POLL_INTERVAL_SECONDS
        look_seconds = min(max(self._idle_seconds / 10, shortest), longest)
        needed_at = anyio.current_time()
        while not self._ending.now.is_set():
            if await self._is_needed():
                needed_at = anyio.current_time()
            elif self._ending.is_when_idle or anyio.current_time() - needed_at >= self._idle_seconds:
                return
            await self._ending.wait(look_seconds)

    async def _is_needed(self) -> bool:
        if math.isinf(self._idle_seconds) and not self._ending.is_when_idle:
            return True
        try:
            has_work = await self._executor.at_work() > 0
        except CellwrightError as problem:
            logger.warning("cannot count the runs at work: %s", problem.message)
            return True
        # An open page has at least one request that is being answered.
        visitors = self._web.presence.count if self._web is not None else 0
        return has_work or (self._connections + visitors > 0 and not self._ending.is_when_idle)
