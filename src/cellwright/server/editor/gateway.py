"""The editor: a port of its own, marimo's server behind our middleware, and one mirror for each notebook shown."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import anyio
import anyio.abc
import anyio.to_thread
from starlette.types import ASGIApp

from cellwright.errors import Unavailable
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.kernel.task_groups import unwrap_single_error
from cellwright.server.editor import allowed_routes
from cellwright.server.editor.middleware import MAX_FRAME_BYTES, EditorMiddleware
from cellwright.server.editor.passes import EditorPasses
from cellwright.server.http.addresses import Addresses, WebOptions
from cellwright.server.http.uvicorn_server import HeaderTimeoutProtocol, listen_at, server_config, serving

if TYPE_CHECKING:
    from cellwright.server.editor.mirror import NotebookMirror
    from cellwright.server.editor.sessions import Sessions

logger = logging.getLogger(__name__)

_SHUTDOWN_TIMEOUT_SECONDS: Final = 3
_PING_SECONDS: Final = 20.0


class Editor:
    """marimo's editor, open for notebooks of ours. Made by `open_editor`."""

    def __init__(
        self, addresses: Addresses, passes: EditorPasses, sessions: Sessions, tasks: anyio.abc.TaskGroup
    ) -> None:
        self._addresses = addresses
        self._passes = passes
        self._sessions = sessions
        self._tasks = tasks
        self._mirrors: dict[OpenNotebook, NotebookMirror] = {}

    @property
    def origin(self) -> str:
        """Where it is, as browsers name it: `http://127.0.0.1:8301`."""
        return self._addresses.origin

    async def address(self, notebook: OpenNotebook, *, person: str) -> str:
        """Where this person's browser finds the editor of this notebook, once: the credential in it is used up.

        The page may add `&theme=dark` and `&show-chrome=false`. Raises `Unavailable`.
        """
        mirror = self._mirrors.get(notebook) or await self._begin(notebook)
        query = urlencode({"code": self._passes.issue(mirror.key, person=person)})
        return f"{self.origin}{allowed_routes.OPEN}?{query}"

    def people(self, notebook: OpenNotebook) -> int:
        """How many pages show this notebook now."""
        mirror = self._mirrors.get(notebook)
        return mirror.people if mirror is not None else 0

    def withdraw(self, person: str) -> None:
        """Let this person's browsers in no more."""
        self._passes.withdraw(person)

    async def _begin(self, notebook: OpenNotebook) -> NotebookMirror:
        from cellwright.server.editor.commands import EditorCommands

        mirror = self._mirrors[notebook] = EditorCommands(notebook, self._sessions, self._tasks)
        try:
            await self._tasks.start(self._keep, mirror)
        except BaseException:
            self._mirrors.pop(notebook, None)
            raise
        return mirror

    async def _keep(self, mirror: NotebookMirror, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        try:
            await mirror.run(task_status=task_status)
        except Unavailable as problem:
            # Before it has begun, whoever asked is told.
            logger.warning("the editor of a notebook ended: %s", problem.message)
            if mirror.is_begun:
                return
            raise
        except Exception:
            # One notebook's editor is not the others' business, and no run's.
            logger.exception("the editor of a notebook met our own mistake")
        finally:
            self._mirrors.pop(mirror.notebook, None)
            self._passes.close_notebook(mirror.key)


@asynccontextmanager
async def open_editor(
    host: str = "127.0.0.1",
    port: int | None = 0,
    *,
    page_origins: Sequence[str] = (),
    public_origin: str = "",
    tls: tuple[str, str] | None = None,
) -> AsyncGenerator[Editor]:
    """The editor, listening until the block ends; notebooks and their kernels go on without it.

    `page_origins` may show it in a frame, nobody else. Raises `Unavailable` where this marimo cannot be served, and
    `UserError` for a port that is taken.
    """
    sessions, marimo, ours = await anyio.to_thread.run_sync(_load)
    with await anyio.to_thread.run_sync(listen_at, host, port) as listener:
        options = WebOptions(folder="", host=host, public_origin=public_origin, certificate=tls[0] if tls else "")
        addresses, passes = Addresses.of(options, listener.getsockname()[1]), EditorPasses()
        app = EditorMiddleware(
            marimo=marimo,
            ours=ours,
            passes=passes,
            addresses=addresses,
            page_origins=page_origins,
            notebook_of=sessions.of_page,
        )
        config = server_config(
            app,
            tls,
            http=HeaderTimeoutProtocol,
            ws="websockets-sansio",
            ws_ping_interval=_PING_SECONDS,
            ws_ping_timeout=_PING_SECONDS * 3,
            ws_max_size=MAX_FRAME_BYTES,
            # Squeezing outputs of megabytes would hold up everything else that this process does.
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT_SECONDS,
        )
        with unwrap_single_error():
            async with anyio.create_task_group() as tasks, serving(config, listener):
                try:
                    yield Editor(addresses, passes, sessions, tasks)
                finally:
                    tasks.cancel_scope.cancel()


def _load() -> tuple[Sessions, ASGIApp, ASGIApp]:
    """marimo's server, made ours. Whatever fails in that is marimo's being another one than we know."""
    try:
        from cellwright.server.editor.marimo_app import editor_routes, marimo_app
        from cellwright.server.editor.sessions import Sessions

        sessions = Sessions()
        return sessions, marimo_app(sessions), editor_routes(sessions)
    except Unavailable:
        raise
    except Exception as problem:
        logger.exception("marimo's editor cannot be served")
        raise Unavailable(
            f"This marimo's editor cannot be served: {type(problem).__name__}: {problem}",
            hint="Install the marimo that Cellwright was made for. Everything but the editor works.",
        ) from problem
