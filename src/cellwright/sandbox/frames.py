"""The wire between the host and a cage's init: a kind, a length, that many bytes.

Both ends bound what they read. Python's standard library only, so that init can use it.
"""

from __future__ import annotations

import json
import struct
from typing import Any, Final, cast

JSON: Final = 1
DATA: Final = 2
MAX_FRAME: Final = 1 << 20
_HEADER = struct.Struct(">BI")
_REQUEST = struct.Struct(">I")
REQUEST_BYTES: Final = _REQUEST.size


class BadFrame(Exception):
    """The other side does not keep to the protocol."""


def pack(kind: int, payload: bytes) -> bytes:
    """One frame as bytes."""
    if len(payload) > MAX_FRAME:
        raise BadFrame(f"frame of {len(payload)} bytes")
    return _HEADER.pack(kind, len(payload)) + payload


def pack_json(message: dict[str, Any]) -> bytes:
    """A JSON object as a frame."""
    return pack(JSON, json.dumps(message, separators=(",", ":")).encode())


def pack_data(request: int, chunk: bytes) -> bytes:
    """A piece of a file as a frame, marked with the request it answers."""
    return pack(DATA, _REQUEST.pack(request) + chunk)


def request_of(payload: bytes) -> int | None:
    """Which request a DATA frame answers."""
    return _REQUEST.unpack_from(payload)[0] if len(payload) >= REQUEST_BYTES else None


class Unpacker:
    """Bytes in, frames out; never holds more than one frame and one read."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Take what was read from the socket."""
        self._buffer += data

    def next(self) -> tuple[int, bytes] | None:
        """The next whole frame, or nothing yet."""
        if len(self._buffer) < _HEADER.size:
            return None
        kind, length = cast("tuple[int, int]", _HEADER.unpack_from(self._buffer))
        if kind not in {JSON, DATA} or length > MAX_FRAME:
            raise BadFrame(f"frame kind {kind} of {length} bytes")
        end = _HEADER.size + length
        if len(self._buffer) < end:
            return None
        payload = bytes(self._buffer[_HEADER.size : end])
        del self._buffer[:end]
        return kind, payload


def read_json(payload: bytes) -> dict[str, Any]:
    """The object in a JSON frame; `BadFrame` for anything else."""
    try:
        message = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise BadFrame("not JSON") from error
    if not isinstance(message, dict):
        raise BadFrame("not an object")
    return cast("dict[str, Any]", message)
