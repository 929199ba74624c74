"""A connection found by blocking work, as a stream; nothing stays open if whoever waits is cancelled meanwhile."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

import anyio.to_thread
from anyio.abc import SocketStream


async def open_stream(find: Callable[[], socket.socket]) -> SocketStream:
    """What `find` connects to. A task cancelled natively leaves its thread behind, which then closes what it found."""
    found: list[socket.socket] = []
    is_left = threading.Event()
    turn = threading.Lock()

    def look() -> socket.socket:
        connection = find()
        with turn:
            if is_left.is_set():
                connection.close()
            found.append(connection)
        return connection

    try:
        connection = await anyio.to_thread.run_sync(look)
        connection.setblocking(False)
        return await SocketStream.from_socket(connection)
    except BaseException:
        with turn:
            is_left.set()
            for connection in found:
                connection.close()
        raise
