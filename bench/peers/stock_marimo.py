"""Stock marimo: its own session manager in edit mode, its own multiprocessing kernel, driven without HTTP.

The fastest stock way in: no server, no browser and no decoding of what the kernel says, except for the one message
that ends a run. Everything is timed here, in the calling process.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.peers.conversation import Answer, converse

if TYPE_CHECKING:
    from marimo._session.session import Session

_COMPLETED_RUN = b'"completed-run"'


class StockMarimo:
    """Sessions of one stock session manager."""

    def __init__(self, folder: Path) -> None:
        from marimo._config.manager import get_default_config_manager
        from marimo._server.lsp import NoopLspServer
        from marimo._server.session_manager import SessionManager
        from marimo._server.tokens import AuthToken
        from marimo._server.workspace import DirectoryWorkspace
        from marimo._session.model import SessionMode

        self._manager = SessionManager(
            workspace=DirectoryWorkspace(str(folder), include_markdown=False),
            mode=SessionMode.EDIT,
            quiet=True,
            include_code=True,
            lsp_server=NoopLspServer(),
            config_manager=get_default_config_manager(current_path=str(folder)),
            cli_args={},
            argv=None,
            auth_token=AuthToken(""),
            redirect_console_to_browser=True,
            ttl_seconds=None,
            watch=False,
        )
        self._opened: list[str] = []
        self._number = 0
        self._session: Session | None = None
        self._listener: Any = None
        self._cells: list[Any] = []

    async def fresh(self, notebook: str) -> Answer:
        """Start a kernel for a notebook and run all of it; milliseconds until the run is complete."""
        began = time.perf_counter()
        session, listener = await self._start(notebook)
        await self._run_everything(session, listener)
        ms = (time.perf_counter() - began) * 1e3
        _expect_no_errors(session)
        self._close_last()
        return {"ms": ms}

    async def one_more(self, notebook: str) -> Answer:
        """Keep another kernel that ran a notebook; its process id."""
        session, listener = await self._start(notebook)
        await self._run_everything(session, listener)
        _expect_no_errors(session)
        return {"pid": session.kernel_pid()}

    async def open(self, notebook: str) -> Answer:
        """Run all of a notebook and stay in it; how many cells it has."""
        self._session, self._listener = await self._start(notebook)
        await self._run_everything(self._session, self._listener)
        _expect_no_errors(self._session)
        self._cells = list(self._session.document.cells)
        return {"cells": len(self._cells)}

    async def rerun(self, cell: int) -> Answer:
        """Run one cell of the open notebook, and what follows from it; milliseconds."""
        from marimo._runtime.commands import ExecuteCellsCommand

        assert self._session is not None
        wanted = self._cells[cell]
        began = time.perf_counter()
        done = self._listener.next_completion()
        self._session.put_control_request(
            ExecuteCellsCommand(cell_ids=[wanted.id], codes=[wanted.code]), from_consumer_id=None
        )
        await done
        return {"ms": (time.perf_counter() - began) * 1e3}

    async def close(self) -> Answer:
        """End every kernel."""
        while self._opened:
            self._close_last()
        return {}

    async def _start(self, notebook: str) -> tuple[Session, Any]:
        from marimo._types.ids import SessionId

        self._number += 1
        session_id = SessionId(f"bench-{self._number}")
        listener = _listener(f"bench-{self._number}")
        session = await self._manager.create_session(
            session_id, listener, {}, notebook, auto_instantiate=False, main=False
        )
        self._opened.append(session_id)
        return session, listener

    async def _run_everything(self, session: Session, listener: Any) -> None:
        from marimo._session.requests import InstantiateNotebookRequest

        done = listener.next_completion()
        session.instantiate(InstantiateNotebookRequest(object_ids=[], values=[], auto_run=True), http_request=None)
        await done

    def _close_last(self) -> None:
        from marimo._types.ids import SessionId

        self._manager.close_session(SessionId(self._opened.pop()))


def _listener(name: str) -> Any:
    from marimo._messaging.types import KernelMessage
    from marimo._session.consumer import SessionConsumer
    from marimo._session.model import ConnectionState
    from marimo._types.ids import ConsumerId

    class Listener(SessionConsumer):
        """Waits for the message that ends a run, and looks at no other."""

        def __init__(self) -> None:
            self._loop = asyncio.get_running_loop()
            self._waiting: asyncio.Future[None] | None = None

        @property
        def consumer_id(self) -> ConsumerId:
            return ConsumerId(name)

        def connection_state(self) -> ConnectionState:
            return ConnectionState.OPEN

        def on_attach(self, session: object, event_bus: object) -> None:
            del session, event_bus

        def on_detach(self) -> None:
            pass

        def next_completion(self) -> asyncio.Future[None]:
            self._waiting = self._loop.create_future()
            return self._waiting

        def notify(self, notification: KernelMessage) -> None:
            if self._waiting is not None and _COMPLETED_RUN in notification and not self._waiting.done():
                self._waiting.set_result(None)

    return Listener()


def _expect_no_errors(session: Session) -> None:
    from marimo._messaging.cell_output import CellChannel

    for cell, said in session.session_view.cell_notifications.items():
        if said.output is not None and said.output.channel == CellChannel.MARIMO_ERROR:
            raise RuntimeError(f"cell {cell}: {said.output.data}")


async def main() -> None:
    """Answer the bench, then leave no kernel behind."""
    # Its own folder lies beside the notebooks it is asked to run.
    marimo = StockMarimo(Path.cwd().parent)
    await converse(
        {"fresh": marimo.fresh, "one_more": marimo.one_more, "open": marimo.open, "rerun": marimo.rerun,
         "close": marimo.close}
    )  # fmt: skip
    await marimo.close()


if __name__ == "__main__":
    asyncio.run(main())
    # Threads of closed sessions may still wait; nothing of theirs is worth waiting for.
    os._exit(0)
