"""The wire between a door and the gateway: four bytes of length, then that many bytes of JSON.

Both ends bound what they read. Python's standard library only, so that a key can be handed over by a door that has
loaded nothing else.
"""

from __future__ import annotations

import json
import socket
import struct
from typing import Any, Final, cast

VERSION: Final = 2
"""Of the protocol. A gateway and a door of different versions do not speak."""
MAX_FRAME: Final = 64 << 20
"""A request carries its images whole."""
MAX_GREETING: Final = 4 << 10
"""Before the two know each other."""
_LENGTH: Final = struct.Struct(">I")
_CREDENTIALS: Final = struct.Struct("3i")


class BadFrame(Exception):
    """The other side does not keep to the protocol."""


def pack(payload: bytes) -> bytes:
    """One frame as bytes."""
    if len(payload) > MAX_FRAME:
        raise BadFrame(f"a message of {len(payload)} bytes")
    return _LENGTH.pack(len(payload)) + payload


class Unpacker:
    """Bytes in, payloads out; never holds more than one frame and one read."""

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._buffer = bytearray()
        self.limit = limit
        """Longer frames are refused by their length alone."""

    def feed(self, data: bytes) -> list[bytes]:
        """Take what was read; every frame that is whole now."""
        buffer, found, at = self._buffer, list[bytes](), 0
        buffer += data
        while len(buffer) - at >= _LENGTH.size:
            (length,) = cast("tuple[int]", _LENGTH.unpack_from(buffer, at))
            if length > self.limit:
                raise BadFrame(f"a message of {length} bytes")
            end = at + _LENGTH.size + length
            if len(buffer) < end:
                break
            found.append(bytes(buffer[at + _LENGTH.size : end]))
            at = end
        if at:
            del buffer[:at]
        return found


def peer_uid(connection: socket.socket) -> int:
    """Whose process is at the other end, as the system says."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return cast("tuple[int, int, int]", _CREDENTIALS.unpack(credentials))[1]


def pack_plain(message: dict[str, Any]) -> bytes:
    """A plain object as a frame."""
    return pack(json.dumps(message, separators=(",", ":")).encode())


def receive_plain(connection: socket.socket) -> dict[str, Any]:
    """The next object from a blocking socket, small ones only; `EOFError` when the other side is gone."""
    unpacker = Unpacker(MAX_GREETING)
    while data := connection.recv(MAX_GREETING):
        for payload in unpacker.feed(data):
            try:
                message = json.loads(payload)
            except (ValueError, RecursionError) as error:
                raise BadFrame("not JSON") from error
            if not isinstance(message, dict):
                raise BadFrame("not an object")
            return cast("dict[str, Any]", message)
    raise EOFError
