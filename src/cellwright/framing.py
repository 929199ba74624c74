"""Messages over a stream between two processes of ours: four bytes of length, then that many bytes.

Both ends bound what they read. Python's standard library only: a cage's first process reads this way, and a client that
hands over a key has loaded nothing else. What a guest says to its kernel's host is framed by `cellwright_guest.wire`.
"""

from __future__ import annotations

import json
import socket
import struct
from typing import Any, Final, cast

MAX_FRAME: Final = 64 << 20
"""A request to a model carries its images whole."""
MAX_GREETING: Final = 4 << 10
"""Before the two know each other."""
_LENGTH: Final = struct.Struct(">I")
_CREDENTIALS: Final = struct.Struct("3i")


class BadFrame(Exception):
    """The other side does not keep to the protocol."""


def pack(payload: bytes, limit: int = MAX_FRAME) -> bytes:
    """One frame as bytes."""
    if len(payload) > limit:
        raise BadFrame(f"a message of {len(payload)} bytes")
    return _LENGTH.pack(len(payload)) + payload


class FrameUnpacker:
    """Bytes in, payloads out; never holds more than one frame and one read."""

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._buffer = bytearray()
        self.limit = limit
        """Longer frames are refused by their length alone."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left, not even a part of a frame."""
        return not self._buffer

    def put(self, data: bytes) -> None:
        """Take what was read."""
        self._buffer += data

    def take(self) -> bytes | None:
        """The next frame, if it is whole."""
        if len(self._buffer) < _LENGTH.size:
            return None
        (length,) = cast("tuple[int]", _LENGTH.unpack_from(self._buffer))
        if length > self.limit:
            raise BadFrame(f"a message of {length} bytes")
        end = _LENGTH.size + length
        if len(self._buffer) < end:
            return None
        payload = bytes(memoryview(self._buffer)[_LENGTH.size : end])
        del self._buffer[:end]
        return payload

    def feed(self, data: bytes) -> list[bytes]:
        """Take what was read; every frame that is whole now."""
        self.put(data)
        return list(iter(self.take, None))


def pack_json(message: dict[str, Any]) -> bytes:
    """A plain object as a frame."""
    return pack(json.dumps(message, separators=(",", ":")).encode())


def read_json(payload: bytes) -> dict[str, Any]:
    """The object in a frame; `BadFrame` for anything else."""
    try:
        message = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise BadFrame("not JSON") from error
    if not isinstance(message, dict):
        raise BadFrame("not an object")
    return cast("dict[str, Any]", message)


def receive_json(connection: socket.socket) -> dict[str, Any]:
    """The next object from a blocking socket, small ones only; `EOFError` when the other side is gone."""
    unpacker = FrameUnpacker(MAX_GREETING)
    while data := connection.recv(MAX_GREETING):
        for payload in unpacker.feed(data):
            return read_json(payload)
    raise EOFError


def peer_uid(connection: socket.socket) -> int:
    """Whose process is at the other end, as the system says."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return cast("tuple[int, int, int]", _CREDENTIALS.unpack(credentials))[1]
