"""uvicorn inside the daemon: it leaves signals to the process, says when it has ended, and drops who dawdles."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import Any, ClassVar, Final

import anyio
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from cellwright.errors import UserError
from cellwright.framing import peer_uid
from cellwright.server.http.addresses import FIRST_PORT

logger = logging.getLogger(__name__)

HEADER_TIMEOUT_SECONDS: Final = 20.0
"""How long a request's headers may take."""
_END_MARGIN_SECONDS: Final = 2
_MAX_TRIED_PORTS: Final = 100
_LISTEN_BACKLOG: Final = 512


class EmbeddedServer(uvicorn.Server):
    """A uvicorn that leaves signals to the process it is in."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ended = anyio.Event()

    def capture_signals(self) -> Any:
        """None."""
        return nullcontext()

    def refuse_requests(self) -> None:
        """Take no further connection or request from now on; what was asked is answered.

        uvicorn does the same once it sees `should_exit`, up to a tenth of a second later.
        """
        self.should_exit = True
        for listener in self.servers if self.started else []:
            listener.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()


class HeaderTimeoutProtocol(H11Protocol):
    """HTTP with whoever sends a request's headers in time. uvicorn itself would wait for them for good."""

    head_seconds: ClassVar[float] = HEADER_TIMEOUT_SECONDS
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """The first request is expected."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Some of a request: of its headers, or of its body, for which a middleware has its own timeout."""
        before = self.scope
        super().data_received(data)
        # Each request whose headers are there has a scope of its own.
        if self.scope is not before:
            self._stop_waiting()
        elif self._waiting is None and self.cycle.response_complete:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is expected any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        # Without a word: browsers connect ahead of need, and would show what we say as the answer to their request.
        self._waiting = self.loop.call_later(self.head_seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class LocalProtocol(HeaderTimeoutProtocol):
    """The same on a Unix socket, with processes of one user only."""

    uid: ClassVar[int] = os.getuid()

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Not a byte of another user is read: the system says whose process it is."""
        if peer_uid(transport.get_extra_info("socket")) != self.uid:
            logger.warning("a process of another user was turned away")
            self.transport = transport
            transport.abort()
            return
        super().connection_made(transport)


def server_config(app: ASGIApp, tls: tuple[str, str] | None = None, **options: Any) -> uvicorn.Config:
    """What every server of ours has in common: no log of its own, and no word about itself."""
    certificate, key = tls or (None, None)
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        **options,
    )


@asynccontextmanager
async def serving(
    config: uvicorn.Config, listener: socket.socket, *, on_end: Callable[[], None] = lambda: None
) -> AsyncGenerator[None]:
    """Answer whoever connects until the block ends; whoever is being answered then still is, for seconds."""
    server = EmbeddedServer(config)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_server, server, listener)
        try:
            yield
        finally:
            on_end()
            server.should_exit = True
            with anyio.move_on_after((config.timeout_graceful_shutdown or 0) + _END_MARGIN_SECONDS, shield=True):
                await server.ended.wait()
            tasks.cancel_scope.cancel()


async def run_server(server: EmbeddedServer, listener: socket.socket) -> None:
    """Until it is told to exit; whoever cancels waits for `ended`."""
    try:
        with anyio.CancelScope(shield=True):
            await server.serve(sockets=[listener])
    finally:
        server.ended.set()


def listen_at(host: str, port: int | None) -> socket.socket:
    """A socket that listens. Without a port, at the first free one from 8300 on. Raises `UserError`."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            "127.0.0.1" if host == "localhost" else host, 0, type=socket.SOCK_STREAM
        )[0]
    except (socket.gaierror, UnicodeError) as problem:
        raise UserError(f"There is no address {host!r} here.", hint="Name no host, for this machine.") from problem
    ports = [port] if port is not None else [*range(FIRST_PORT, FIRST_PORT + _MAX_TRIED_PORTS), 0]
    last: OSError | None = None
    for each in ports:
        # asyncio turns Nagle's delay off only for sockets that say they are TCP: else each answer takes 40 ms.
        kind = socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        listener = socket.socket(family, kind, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address[0], each))
            listener.listen(_LISTEN_BACKLOG)
        except OSError as problem:
            listener.close()
            last = problem
        else:
            return listener
    why = last.strerror if last is not None else ""
    raise UserError(
        f"Port {ports[-1]} of {host!r} cannot be had: {why}.", hint="Name no port: a free one is found."
    ) from last
