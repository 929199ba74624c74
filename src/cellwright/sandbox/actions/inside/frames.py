"""The wire as seen from inside: a length, then that many bytes of JSON."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any, cast

_LENGTH = struct.Struct(">I")


def read(connection: socket.socket) -> dict[str, Any] | None:
    """The host's next request; None when it is gone."""
    head = _exactly(connection, _LENGTH.size)
    body = _exactly(connection, _LENGTH.unpack(head)[0]) if head is not None else None
    return None if body is None else cast("dict[str, Any]", json.loads(body))


def write(connection: socket.socket, message: dict[str, Any]) -> None:
    """One answer, whole."""
    body = json.dumps(message, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    connection.sendall(_LENGTH.pack(len(body)) + body)


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        chunk = connection.recv(min(size - len(data), 1 << 20))
        if not chunk:
            return None
        data += chunk
    return bytes(data)
