"""The agents panel of marimo's editor: a websocket on this machine, between a page and the daemon.

Its page can show no token. So it listens on loopback alone, takes only the editor's own origin and our own host names,
and only browsers of this system user.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from cellwright.errors import CellwrightError, Unavailable, UserError
from cellwright.server.http.addresses import LOOPBACK
from cellwright.server.http.line_stream import MOST_BYTES
from cellwright.server.http.uvicorn_server import EmbeddedServer, run_server, server_config

logger = logging.getLogger(__name__)
USUAL_ORIGINS: Final = ("http://localhost:2718", "http://127.0.0.1:2718")
"""Where `marimo edit` opens, unless it is told another port."""
_PATH: Final = "/message"
_MOST_CLIENTS: Final = 16
_HEAD: Final = 1 << 16
_REFUSED: Final = 1008
_GONE: Final = 1012
_SHUTDOWN_TIMEOUT_SECONDS: Final = 2
_TCP: Final = Path("/proc/net/tcp")
Connect = Callable[[], socket.socket]
"""A connection to the daemon, which was asked to answer ACP. Blocking. Raises `Unavailable`."""


def check_origins(given: Sequence[str]) -> frozenset[str]:
    """The editor's origins; none given: the usual ones. Raises `UserError`."""
    for origin in given:
        parts = urlsplit(origin)
        if parts.scheme not in {"http", "https"} or not parts.hostname or origin != f"{parts.scheme}://{parts.netloc}":
            raise UserError(f"{origin!r} is not an origin.", hint=f"Write it as a browser does: {USUAL_ORIGINS[0]}")
    return frozenset(origin.lower() for origin in given or USUAL_ORIGINS)


def listen_for_panel(port: int) -> socket.socket:
    """A socket on loopback. Raises `UserError` where the port is taken: the panel looks at no other."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen()
    except (OSError, OverflowError) as problem:
        listener.close()
        raise UserError(
            f"Port {port} cannot be had: {problem}.", hint="Another agent listens there; end it, the panel looks there."
        ) from problem
    return listener


async def serve_panel_at(listener: socket.socket, origins: Collection[str], connect: Connect) -> None:
    """Until it is cancelled."""
    port = listener.getsockname()[1]
    app = MarimoPanel(origins=origins, hosts={f"{LOOPBACK}:{port}", f"localhost:{port}"}, connect=connect)
    config = server_config(
        app,
        ws="websockets-sansio",
        ws_max_size=MOST_BYTES,
        ws_max_queue=32,
        proxy_headers=False,
        limit_concurrency=4 * _MOST_CLIENTS,
        timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT_SECONDS,
    )
    server = EmbeddedServer(config)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_server, server, listener)
        try:
            await anyio.sleep_forever()
        finally:
            server.should_exit = True
            with anyio.move_on_after(_SHUTDOWN_TIMEOUT_SECONDS + 1, shield=True):
                await server.ended.wait()


@dataclass(slots=True, kw_only=True)
class MarimoPanel:
    """What answers there."""

    origins: Collection[str]
    hosts: Collection[str]
    connect: Connect
    uid: int = field(default_factory=os.getuid)
    clients: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request: a websocket of the panel, or none of our business."""
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 404, "headers": [(b"content-type", b"text/plain")]})
            return await send({"type": "http.response.body", "body": b"Only marimo's agents panel is answered here.\n"})
        if scope["type"] != "websocket":
            return
        await receive()
        why = await self._why_not(scope)
        if why or self.clients >= _MOST_CLIENTS:
            logger.warning("a connection was refused: %s", why or "there are too many")
            return await send({"type": "websocket.close", "code": _REFUSED, "reason": why})
        self.clients += 1
        try:
            await self._answer(receive, send)
        finally:
            self.clients -= 1

    async def _why_not(self, scope: Scope) -> str:
        """Why this one is not let in; empty: it is."""
        headers = Headers(scope=scope)
        if scope["path"] != _PATH:
            return "not the panel's path"
        if [each.lower() for each in headers.getlist("host")] not in [[host] for host in self.hosts]:
            return "another host name"
        # Every browser says it, and no page can say another than its own.
        if [each.lower() for each in headers.getlist("origin")] not in [[origin] for origin in self.origins]:
            return "another origin"
        uid = await anyio.to_thread.run_sync(_uid_of, scope["client"], scope["server"])
        return "" if uid == self.uid else "another user"

    async def _answer(self, receive: Receive, send: Send) -> None:
        try:
            daemon = await anyio.to_thread.run_sync(self.connect)
            daemon.setblocking(False)
            stream = await SocketStream.from_socket(daemon)
            lines = BufferedByteReceiveStream(stream)
            await _check_head(lines)
        except CellwrightError as problem:
            logger.error("%s %s", problem.message, problem.hint)
            return await send({"type": "websocket.close", "code": _GONE, "reason": problem.message[:100]})
        await send({"type": "websocket.accept"})
        async with stream, anyio.create_task_group() as tasks:

            async def read() -> None:
                await _to_daemon(receive, stream)
                tasks.cancel_scope.cancel()

            tasks.start_soon(read)
            await _to_page(lines, send)
            await send({"type": "websocket.close", "code": _GONE, "reason": "The daemon has ended; runs go on."})
            tasks.cancel_scope.cancel()


async def _check_head(lines: BufferedByteReceiveStream) -> None:
    head = await lines.receive_until(b"\r\n\r\n", _HEAD)
    if head.split(b" ", 2)[1] != b"200":
        raise Unavailable("The daemon does not take this client.", hint="See its log, daemon.log.")


async def _to_daemon(receive: Receive, stream: SocketStream) -> None:
    """What the page says, text or bytes, until it is gone. A text is one message; bytes have ends of lines."""
    while (message := await receive())["type"] == "websocket.receive":
        text = message.get("text")
        data = message.get("bytes") or b"" if text is None else text.encode().rstrip(b"\n") + b"\n"
        if data:
            await stream.send(b"%x\r\n%s\r\n" % (len(data), data))


async def _to_page(lines: BufferedByteReceiveStream, send: Send) -> None:
    """What the daemon says, each line as a text, until it ends."""
    begun = b""
    try:
        while size := int(await lines.receive_until(b"\r\n", 100), 16):
            begun += (await lines.receive_exactly(size + 2))[:-2]
            *whole, begun = begun.split(b"\n")
            for line in whole:
                await send({"type": "websocket.send", "text": line.decode()})
    except (anyio.IncompleteRead, anyio.EndOfStream, anyio.BrokenResourceError, ValueError):
        logger.info("the daemon has ended")


def _uid_of(client: Sequence[object] | None, server: Sequence[object] | None) -> int | None:
    """Whose process is at the other end of a connection on loopback, as the kernel has it. Blocking."""
    if client is None or server is None:
        return None
    ends = [_as_listed(client), _as_listed(server)]
    for line in _TCP.read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1:3] == ends:
            return int(fields[7])
    return None


def _as_listed(address: Sequence[object]) -> str:
    """As /proc/net/tcp writes an address: its four bytes in the machine's own order, and the port."""
    number = int.from_bytes(socket.inet_aton(str(address[0])), byteorder=sys.byteorder)
    return f"{number:08X}:{int(str(address[1])):04X}"
