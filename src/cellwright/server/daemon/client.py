"""The daemon, as interfaces see it: one method per verb of its API; a daemon that dies is started again."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from decimal import Decimal
from functools import partial
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import anyio
import anyio.from_thread
import anyio.to_thread

from cellwright.background import running_pid
from cellwright.errors import CellwrightError, Unavailable
from cellwright.journal.names import RunId, new_run_id, run_id
from cellwright.remedies import remedy
from cellwright.runs.goal.goal import Goal
from cellwright.server.daemon.connection import (
    DaemonConnection,
    OnNote,
    as_json,
    find_daemon,
    find_or_start_daemon,
)
from cellwright.server.daemon.launch import DaemonLaunch, daemon_at
from cellwright.server.daemon.messages import (
    STATUS,
    DaemonStatus,
    OpenWebBody,
    StopDaemonBody,
    WebAddress,
    When,
)
from cellwright.server.daemon.run_message import StartRunBody
from cellwright.server.executor import ExecutorOpener, RunClient, open_executor
from cellwright.server.http.addresses import WebOptions
from cellwright.server.http.errors import Conflict
from cellwright.server.http.schemas.model import RequestModel
from cellwright.settings import Settings

if TYPE_CHECKING:
    from cellwright.agents.drafts import DraftView
    from cellwright.server.daemon.predecessor import PredecessorConnection
    from cellwright.tools.history.moves import HistoryOutcome

_MAX_ATTEMPTS: Final = 3
_NO_EVENTS: Final = (1 << 63) - 1
"""After this one there are none: events are read from the journal itself."""


@asynccontextmanager
async def connect(
    settings: Settings, *, start: bool = True, on_note: OnNote = lambda text: None, launch: DaemonLaunch | None = None
) -> AsyncGenerator[DaemonClient]:
    """The daemon of this state directory, started if there is none, and replaced if it is of an older version.

    Without `start`, the one that runs, of whichever version: only `status` and `stop` are sure to be understood.
    Raises `Unavailable` if there is none or it cannot be started, `RefusedByPolicy` if it is another user's.
    """
    with closing(DaemonClient(settings, launch or DaemonLaunch(), on_note, is_starting=start)) as daemon:
        await daemon.connect()
        yield daemon


@asynccontextmanager
async def runs_here_or_there(
    settings: Settings, on_note: OnNote, *, launch: DaemonLaunch | None = None, opener: ExecutorOpener = open_executor
) -> AsyncGenerator[RunClient]:
    """Runs in the daemon; in this process, and said so, if there can be none."""
    async with AsyncExitStack() as stack:
        client: RunClient
        try:
            client = await stack.enter_async_context(connect(settings, on_note=on_note, launch=launch))
        except Unavailable as problem:
            # One that runs, newer than us or hanging, has the journal: nobody else can work.
            if await anyio.to_thread.run_sync(running_pid, daemon_at(settings.home)) is not None:
                raise
            on_note(f"{problem.message} {problem.hint} Runs work in this process instead, and rest when it ends.")
            client = await stack.enter_async_context(opener(settings))
        yield client


class DaemonClient:
    """Runs that go on whether or not this process does. `async with connect(settings) as daemon`."""

    is_daemon = True

    def __init__(self, settings: Settings, launch: DaemonLaunch, on_note: OnNote, *, is_starting: bool) -> None:
        self._settings = settings
        self._launch = launch
        self._on_note = on_note
        self._is_starting = is_starting
        self._connection: DaemonConnection | PredecessorConnection | None = None
        self._is_closed = False
        self._asking = anyio.Lock()

    async def start(self, goal: Goal, *, run: str | None = None, connection: Mapping[str, str] | None = None) -> RunId:
        """Begin a run; durable once it returns. An id that is taken means that run.

        It connects as this process would, wherever the daemon was started, unless `connection` says otherwise.
        """
        chosen = run_id(run) if run is not None else new_run_id()
        own = self._settings.connection.variables
        # Checked at the other end; here it would be another error.
        body = StartRunBody.model_construct(goal=goal, connection=dict(own if connection is None else connection))
        return await self._run_of("PUT", f"/runs/{chosen}", body, is_repeatable=True)

    async def cancel(self, run: str, *, reason: str = "cancelled") -> None:
        """Stop a run for good; one that has ended stays as it is."""
        with suppress(Conflict):
            await self._call("POST", f"/runs/{_quoted(run)}/cancel", {"reason": reason[:1_000]}, is_repeatable=True)

    async def retry(self, run: str, task: str, *, person: str, budget_usd: Decimal | None = None) -> RunId:
        """Do a task again: in the same run while it is at work, in a new one that continues it afterwards."""
        body = {"task": task, "budget_usd": None if budget_usd is None else str(budget_usd)}
        return await self._run_of("POST", f"/runs/{_quoted(run)}/retry", body, person=person)

    async def reject_card(self, run: str, card: str, *, person: str) -> RunId:
        """Have what a research wrote from a card written again without it: in the run at work, or in a new one."""
        return await self._run_of("POST", f"/runs/{_quoted(run)}/cards/{_quoted(card)}/reject", {}, person=person)

    async def fork(self, run: str, *, from_step: int | None = None) -> RunId:
        """A new run with the old one's steps below `from_step`."""
        return await self._run_of("POST", f"/runs/{_quoted(run)}/fork", {"from_step": from_step})

    async def resume(self, run: str, *, person: str) -> None:
        """Let a cancelled or dead run go on."""
        await self._call("POST", f"/runs/{_quoted(run)}/resume", {}, person=person, is_repeatable=True)

    async def drafts_of(self, run: str) -> AsyncGenerator[tuple[DraftView, ...]]:
        """What the agents of a run are being answered, whenever that changed, for as long as this daemon runs."""
        from cellwright.agents.drafts import views_after

        # A connection of its own: this one is never free for another request.
        connection = await anyio.to_thread.run_sync(find_daemon, self._settings, self._launch)
        if connection is None:
            return
        with closing(connection):
            if not isinstance(connection, DaemonConnection):
                return
            told = connection.follow_events(f"/runs/{_quoted(run)}/events?after={_NO_EVENTS}", "drafts")
            views: tuple[DraftView, ...] = ()
            with suppress(OSError, HTTPException):
                while (changes := await anyio.to_thread.run_sync(next, told, None, abandon_on_cancel=True)) is not None:
                    views = views_after(views, changes)
                    yield views

    async def undo(
        self, run: str, *, person: str, step: int | None = None, before: str | None = None
    ) -> HistoryOutcome:
        """Take back what a run at work did to its notebook, or one change of it, or go to before one of its cells."""
        return await self._move(f"/runs/{_quoted(run)}/undo", {"step": step, "before": before}, person)

    async def redo(self, run: str, *, person: str) -> HistoryOutcome:
        """Take back the last undo of a run at work."""
        return await self._move(f"/runs/{_quoted(run)}/redo", None, person)

    async def _move(self, path: str, body: dict[str, Any] | None, person: str) -> HistoryOutcome:
        from cellwright.tools.history.moves import Moved, MoveRefused, NothingToMove

        try:
            said = await self._call("POST", path, body, person=person)
        except Conflict as refused:
            return MoveRefused(why=refused.message)
        if said["by"] is None:
            return NothingToMove(why=said["why"])
        return Moved(
            revisions=tuple(said.get("turns", ())),
            cells=tuple(said["cells"]),
            kept=tuple(said.get("kept", ())),
            by=said["by"],
        )

    async def status(self) -> DaemonStatus:
        """How the daemon is doing."""
        return STATUS.validate_python(await self._call("GET", "/daemon", is_repeatable=True))

    async def web(self, options: WebOptions | None = None) -> WebAddress:
        """A fresh address of its web server, which is opened if it is not open and there are `options`.

        Raises `UserError` if it is not open, or cannot be.
        """
        return WebAddress(**await self._call("POST", "/daemon/web", OpenWebBody(options=options), is_repeatable=True))

    async def stop(self, when: When = "now", *, why: str = "") -> None:
        """Let it end: now, what is in flight goes on at the next start; or as soon as no run is at work."""
        await self._call("POST", "/daemon/stop", StopDaemonBody(when=when, why=why))

    async def connect(self) -> DaemonConnection | PredecessorConnection:
        """The connection; a new one, to a new daemon if need be, if there is none."""
        return self._connection or await anyio.to_thread.run_sync(self._open)

    def close(self) -> None:
        """Leave for good."""
        self._is_closed = True
        self._drop()

    # ── inside ──

    def _drop(self) -> None:
        """Close the connection; the next request opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _open(self) -> DaemonConnection | PredecessorConnection:
        if self._is_starting:
            note = partial(anyio.from_thread.run_sync, self._on_note)
            found = find_or_start_daemon(self._settings, self._launch, note)
        else:
            found = find_daemon(self._settings, self._launch)
        if found is None:
            raise Unavailable("No daemon runs.", hint=remedy("start_daemon"))
        self._connection = found
        # A task that was cancelled natively leaves this thread behind.
        if self._is_closed:
            self._drop()
        return found

    async def _run_of(self, method: str, path: str, body: RequestModel | dict[str, Any], **how: Any) -> RunId:
        return run_id((await self._call(method, path, body, **how))["run"])

    async def _call(
        self,
        method: str,
        path: str,
        body: RequestModel | dict[str, Any] | None = None,
        *,
        person: str = "",
        is_repeatable: bool = False,
    ) -> Any:
        """One request, one answer; asked again of the next daemon if this one ends meanwhile and it does no harm."""
        data = as_json(body)
        async with self._asking:
            for _ in range(_MAX_ATTEMPTS if is_repeatable else 1):
                connection = await self.connect()
                ask = partial(connection.ask, method, path, data, person=person)
                try:
                    return await anyio.to_thread.run_sync(ask, abandon_on_cancel=True)
                except TimeoutError as problem:
                    self._drop()
                    raise daemon_at(self._settings.home).unresponsive_error() from problem
                except (ConnectionError, EOFError, HTTPException):
                    self._drop()
                except CellwrightError:
                    raise
                except BaseException:
                    # An answer is still to come on this connection: it is of no further use.
                    self._drop()
                    raise
        raise Unavailable("The daemon ended before it answered.", hint="Look at the list of runs, then try again.")


def _quoted(run: str) -> str:
    return quote(run, safe="")
