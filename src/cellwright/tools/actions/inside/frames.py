"""The wire as seen from inside: a length, then that many bytes of JSON."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any, cast

_LENGTH = struct.Struct(">I")
_RECEIVE_BYTES = 1 << 18
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


class HostConnection:
    """The connection to the host."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = bytearray()

    def read(self) -> dict[str, Any] | None:
        """The host's next request; None when it is gone."""
        head = _LENGTH.size
        if not self._fill(head):
            return None
        (size,) = _LENGTH.unpack_from(self._buffer)
        if not self._fill(head + size):
            return None
        body = self._buffer[head : head + size]
        del self._buffer[: head + size]
        return cast("dict[str, Any]", json.loads(body))

    def write(self, message: dict[str, Any]) -> None:
        """One answer, whole."""
        body = _encode(message).encode()
        self._connection.sendall(_LENGTH.pack(len(body)) + body)

    def _fill(self, size: int) -> bool:
        while len(self._buffer) < size:
            chunk = self._connection.recv(_RECEIVE_BYTES)
            if not chunk:
                return False
            self._buffer += chunk
        return True
