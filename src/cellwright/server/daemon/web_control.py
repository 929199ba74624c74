"""Who opens the web door when somebody wants it, and holds it until the daemon ends."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
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
    """At most one web door. Loads what serves it when it is first wanted."""

    def __init__(self, carrier: RunExecutor, settings: Settings) -> None:
        self._carrier = carrier
        self._settings = settings
        self._door: WebServer | None = None
        self._turn = anyio.Lock()
        self._over = anyio.Event()

    @property
    def origin(self) -> str:
        """Where it is; empty: not open."""
        return self._door.addresses.origin if self._door is not None else ""

    @property
    def visitors(self) -> int:
        """How many requests of people and programs are being answered: an open page has at least one."""
        return self._door.presence.count if self._door is not None else 0

    async def address(self, wish: WebOptions | None, tasks: TaskGroup) -> WebAddress:
        """A fresh address; the door is opened in `tasks` first if there is none and somebody has a wish.

        Raises `UserError` without either, or if the wish cannot be granted.
        """
        async with self._turn:
            if self._door is None:
                if wish is None:
                    raise UserError("The control room is not open.", hint=remedy("open_web"))
                await tasks.start(self._hold, wish)
            door = self._door
            if door is None:
                raise UserError("The control room has closed.", hint=remedy("open_web"))
            return WebAddress(origin=door.addresses.origin, url=door.url(), folder=str(door.folder))

    def close(self) -> None:
        """Let nobody in any more; what is being answered is answered."""
        self._over.set()

    async def _hold(self, wish: WebOptions, *, task_status: TaskStatus[None]) -> None:
        opening = await anyio.to_thread.run_sync(_load)
        try:
            async with opening(self._carrier, self._settings, wish) as self._door:
                task_status.started()
                await self._over.wait()
        except Exception:
            if self._door is None:
                raise
            # Runs go on: a page is only one way to watch them.
            logger.exception("the web door failed")
        finally:
            self._door = None


def _load() -> Callable[[RunExecutor, Settings, WebOptions], AbstractAsyncContextManager[WebServer]]:
    """The server and everything behind it: half a second that only a daemon with a web door pays."""
    from cellwright.server.daemon.web_server import open_web_server

    return open_web_server
