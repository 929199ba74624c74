"""Who opens the web server when somebody wants it, and holds it until the daemon ends."""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus

from cellwright.errors import UserError
from cellwright.remedies import remedy
from cellwright.server.daemon.messages import WebAddress
from cellwright.server.executor import RunExecutor
from cellwright.server.http.addresses import WebOptions
from cellwright.settings import Settings

if TYPE_CHECKING:
    from cellwright.server.daemon.web_server import WebServer

logger = logging.getLogger(__name__)


class WebControl:
    """At most one web server. Loads what serves it when it is first wanted."""

    def __init__(self, executor: RunExecutor, settings: Settings) -> None:
        self._executor = executor
        self._settings = settings
        self._server: WebServer | None = None
        self._opening = anyio.Lock()
        self._over = anyio.Event()

    @property
    def origin(self) -> str:
        """Where it is; empty: not open."""
        return self._server.addresses.origin if self._server is not None else ""

    @property
    def visitors(self) -> int:
        """How many requests of people and programs are being answered: an open page has at least one."""
        return self._server.presence.count if self._server is not None else 0

    async def address(self, options: WebOptions | None, tasks: TaskGroup) -> WebAddress:
        """A fresh address; the server is opened in `tasks` first if there is none and there are options.

        Raises `UserError` without either, or if it cannot be opened so.
        """
        async with self._opening:
            if self._server is None:
                if options is None:
                    raise UserError("The control room is not open.", hint=remedy("open_web"))
                await tasks.start(self._hold, options)
            server = self._server
            if server is None:
                raise UserError("The control room has closed.", hint=remedy("open_web"))
            return WebAddress(origin=server.addresses.origin, url=server.url(), folder=str(server.folder))

    def close(self) -> None:
        """Let nobody in any more; what is being answered is answered."""
        self._over.set()

    async def _hold(self, options: WebOptions, *, task_status: TaskStatus[None]) -> None:
        # The server and everything behind it: half a second that only a daemon with a web server pays.
        await anyio.to_thread.run_sync(importlib.import_module, "cellwright.server.daemon.web_server")
        from cellwright.server.daemon.web_server import open_web_server

        try:
            async with open_web_server(self._executor, self._settings, options) as self._server:
                task_status.started()
                await self._over.wait()
        except Exception:
            if self._server is None:
                raise
            # Runs go on: a page is only one way to watch them.
            logger.exception("the web server failed")
        finally:
            self._server = None
