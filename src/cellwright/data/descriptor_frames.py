"""Frames and descriptors over one Unix socket: a JSON frame, then, if it says so, one byte that brings a descriptor."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Final

import anyio
from anyio.abc import UNIXSocketStream

from cellwright.framing import MAX_FRAME, BadFrame, pack, read_json

_DESCRIPTOR: Final = b"F"
_LENGTH_BYTES: Final = 4


async def send_frame(stream: UNIXSocketStream, message: Mapping[str, Any], descriptor: int = -1) -> None:
    """One message; a descriptor goes along, and stays the caller's to close."""
    plain = dict(message) | ({"descriptors": 1} if descriptor >= 0 else {})
    await stream.send(pack(json.dumps(plain, separators=(",", ":")).encode()))
    if descriptor >= 0:
        await stream.send_fds(_DESCRIPTOR, [descriptor])


async def receive_frame(stream: UNIXSocketStream, limit: int = MAX_FRAME) -> tuple[dict[str, Any], int]:
    """The next message and the descriptor that came with it, or -1. Raises `BadFrame`, `anyio.EndOfStream`."""
    length = int.from_bytes(await _exactly(stream, _LENGTH_BYTES), "big")
    if length > limit:
        raise BadFrame(f"a message of {length} bytes")
    message = read_json(await _exactly(stream, length))
    if message.get("descriptors") != 1:
        return message, -1
    byte, descriptors = await stream.receive_fds(1, 1)
    if byte != _DESCRIPTOR or len(descriptors) != 1:
        for descriptor in descriptors:
            os.close(descriptor)
        raise BadFrame("no descriptor")
    return message, descriptors[0]


async def _exactly(stream: UNIXSocketStream, count: int) -> bytes:
    parts, left = list[bytes](), count
    while left:
        try:
            part = await stream.receive(min(left, 1 << 20))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise anyio.EndOfStream from None
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
