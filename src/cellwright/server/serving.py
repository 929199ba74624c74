"""uvicorn inside the daemon: it leaves signals to the process, and says when it has ended."""

from __future__ import annotations

import socket
from contextlib import nullcontext
from typing import Any

import anyio
import uvicorn


class QuietServer(uvicorn.Server):
    """A uvicorn that leaves signals to the process it is in."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ended = anyio.Event()

    def capture_signals(self) -> Any:
        """None."""
        return nullcontext()


async def run_server(server: QuietServer, listener: socket.socket) -> None:
    """Until it is told to exit; whoever cancels waits for `ended`."""
    try:
        with anyio.CancelScope(shield=True):
            await server.serve(sockets=[listener])
    finally:
        server.ended.set()
